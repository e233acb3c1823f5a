/** An agent whose sends wait for a person, on the rig of a send, and the ways a check goes. */
import type { PolicyEntry } from '../../commands/kernel/directory.ts';
import { PolicyRules } from '../../commands/kernel/policy-document.ts';
import type { Ports } from '../../commands/kernel/ports.ts';
import type { Role } from '../../commands/kernel/scopes.ts';
import { systemAuthor } from '../../commands/kernel/system-author.ts';
import { wantsToSendDraft } from '../../commands/approvals/wants-to-send-draft.ts';
import { commitCheck } from '../../commands/operations/approvals/commit-check.ts';
import { cancelCheck } from '../../commands/operations/approvals/end-check.ts';
import { decideNow } from '../../commands/operations/approvals/decide-now.ts';
import { secondsAfter } from '../../commands/operations/approvals/request-approval.ts';
import type { OperationFact, OperationReply, OperationState } from '../../commands/operations/operation.ts';
import { sendCommit } from '../../commands/drafts/sending/commit-send.ts';
import { releaseDraftOf } from '../../commands/drafts/sending/leave-review.ts';
import { SendRig, type SendRigOptions } from './send-rig.ts';

const ONE_APPROVER = [{ id: 'checked', when: { actions: ['send'] }, then: { decision: 'require' } }];

export class CheckedSendRig extends SendRig {
  constructor(options: SendRigOptions = {}) {
    super({ kind: 'agent', policy: policyOf(ONE_APPROVER), ...options });
    (this.ports.directory.state.roles as Map<string, Role>).set('org_1/usr_approver', 'approver');
  }

  /** Puts other rules in force. */
  setPolicy(rules: readonly unknown[]): void {
    const { policies } = this.ports.directory.state;
    (policies as Map<string, PolicyEntry>).set('org_1', policyOf(rules, 2));
  }

  /** wants_to_send_draft as the caller, in this process or another one. */
  async ask(draftId: string, key: string, ports?: Ports): Promise<OperationReply> {
    return (await this.invoke(wantsToSendDraft, { draft_id: draftId }, key, ports)).output as OperationReply;
  }

  /** What the last of the people who have to approve writes. */
  async grant(key: string): Promise<void> {
    const commit_by = secondsAfter(this.ports.clock.now(), 3_600);
    await this.#decide(key, () => [{ type: 'ApprovalGranted', data: { by: 'quorum', commit_by } }]);
  }

  /** Withdraws the check, and says so to the draft unless the process dies before that. */
  async cancel(key: string, { isCutOff = false } = {}): Promise<void> {
    const state = await this.#decide(key, (now, at) => cancelCheck(now, { reason: null, now: at }));
    if (!isCutOff)
      await releaseDraftOf(this.ports, systemAuthor(this.ports, 'org_1'), this.operationId(key), state);
  }

  async commit(key: string, ports: Ports = this.ports): Promise<OperationReply> {
    const author = systemAuthor(ports, 'org_1');
    const commit = {
      operationId: this.operationId(key),
      author,
      by: 'caller',
      notePosition: () => undefined,
    } as const;
    return await commitCheck(ports, commit, sendCommit);
  }

  /** A draft whose check was granted, under this key. */
  async granted(key: string): Promise<string> {
    const id = await this.startDraft();
    await this.ask(id, key);
    await this.grant(key);
    return id;
  }

  async #decide(
    key: string,
    decide: (state: OperationState, now: Date) => readonly OperationFact[],
  ): Promise<OperationState> {
    const author = systemAuthor(this.ports, 'org_1');
    return (await decideNow(this.ports, author, this.operationId(key), decide)).state;
  }
}

const policyOf = (rules: readonly unknown[], version = 1): PolicyEntry => ({
  id: 'org_1',
  version,
  rules: PolicyRules.parse(rules),
  default: null,
});

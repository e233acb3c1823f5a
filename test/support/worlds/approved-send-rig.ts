/** An agent whose sends wait for a person, on the rig of a send, and the possible courses of an approval. */
import type { PolicyEntry } from '../../../commands/ports/directory.ts';
import type { Ports } from '../../../commands/ports/ports.ts';
import { decideAndAppend, systemAuthor } from '../../../commands/kernel/decide-and-append.ts';
import { wantsToSendDraft } from '../../../commands/sending/send-draft.ts';
import { castVote, decideCancel } from '../../../commands/operations/approval-decisions.ts';
import { runCommit } from '../../../commands/operations/run-commit.ts';
import { operation, type OperationReply } from '../../../commands/operations/operation.ts';
import { sendCommit } from '../../../commands/sending/commit-send.ts';
import { releaseDraftOf } from '../../../commands/drafts/end-review.ts';
import { sampleAuthor } from '../samples/event-author.ts';
import { SendRig, type SendRigOptions } from './send-rig.ts';
import { policyEntry } from '../samples/policy-entry.ts';
import { seatMember } from './people.ts';

const ONE_APPROVER = [{ id: 'needs_approval', when: { actions: ['send'] }, then: { decision: 'require' } }];

const APPROVER = 'usr_approver';

export class ApprovedSendRig extends SendRig {
  constructor(options: SendRigOptions = {}) {
    super({ kind: 'agent', policy: policyOf(ONE_APPROVER), ...options });
    seatMember(this.ports.directory.state, 'org_1', APPROVER, 'approver');
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

  /** The one approver approves the operation, or rejects it and the draft is released. */
  async vote(
    key: string,
    decision: 'approve' | 'reject' = 'approve',
    ports: Ports = this.ports,
  ): Promise<void> {
    const ballot = {
      voterId: APPROVER,
      role: 'approver',
      behindId: 'usr_1',
      decision,
      reason: await ports.personal.seal(APPROVER, 'As I see it.'),
    } as const;
    const actor = { type: 'person', id: APPROVER, token_id: null, session_id: null } as const;
    const author = sampleAuthor('org_1', { actor });
    const operationId = this.operationId(key);
    const { state } = await decideAndAppend(ports, author, operation, {
      id: operationId,
      decide: (operation, now) =>
        castVote(operation, {
          ...ballot,
          contentHash: operation.approval?.requested.content_hash ?? '',
          now,
        }),
    });
    await releaseDraftOf(ports, author, operationId, state);
  }

  /** Withdraws the approval, and releases the draft unless the process dies before that. */
  async cancel(
    key: string,
    { isCutOff = false, ports = this.ports }: { readonly isCutOff?: boolean; readonly ports?: Ports } = {},
  ): Promise<void> {
    const author = systemAuthor(ports, 'org_1');
    const operationId = this.operationId(key);
    const { state } = await decideAndAppend(ports, author, operation, {
      id: operationId,
      decide: (operation, now) => decideCancel(operation, { reason: null, now }),
    });
    if (!isCutOff) await releaseDraftOf(ports, author, operationId, state);
  }

  async commit(key: string, ports: Ports = this.ports): Promise<OperationReply> {
    const author = systemAuthor(ports, 'org_1');
    const commit = {
      operationId: this.operationId(key),
      author,
      by: 'caller',
      notePosition: () => undefined,
    } as const;
    return await runCommit(ports, commit, sendCommit);
  }

  /** A draft whose approval was granted, under this key. */
  async granted(key: string): Promise<string> {
    const id = await this.startDraft();
    await this.ask(id, key);
    await this.vote(key);
    return id;
  }
}

const policyOf = (rules: readonly unknown[], version = 1): PolicyEntry => policyEntry(rules, { version });

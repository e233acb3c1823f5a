/** The calls of people, agents and the gateway itself on an approval, in one process. */
import { commitAtOf } from '../../../commands/operations/approval-state.ts';
import { randomUUID } from 'node:crypto';
import { cancelApproval } from '../../../commands/approvals/cancel-approval.ts';
import { commitApproval, commitDue } from '../../../commands/approvals/commit-approval.ts';
import {
  endOverdue,
  invalidateMissingTargets,
} from '../../../commands/approvals/invalidate-missing-targets.ts';
import { decideApproval } from '../../../commands/approvals/decide-approval.ts';
import { settleReview } from '../../../commands/drafts/end-review.ts';
import { settleSend } from '../../../commands/sending/settle-send.ts';
import { resolveOperation } from '../../../commands/email/resolve-operation.ts';
import { GatewayError } from '../../../commands/values/errors.ts';
import { loadAggregate, systemAuthor } from '../../../commands/kernel/decide-and-append.ts';
import type { Ports } from '../../../commands/ports/ports.ts';
import { operation, type OperationReply } from '../../../commands/operations/operation.ts';
import { settleOperation } from '../../../commands/messages/reconcile-operation.ts';
import {
  type ApprovalWorld,
  type Asked,
  type CallerId,
  ORG,
  type PersonId,
} from '../worlds/approval-world.ts';
import { sampleAuthor } from '../samples/event-author.ts';

export interface Decision {
  readonly decision: 'approve' | 'reject';
  readonly content_hash: string;
  readonly reason?: string;
}

export class ApprovalCalls {
  readonly #world: ApprovalWorld;
  readonly #ports: Ports;

  constructor(world: ApprovalWorld, ports: Ports) {
    this.#world = world;
    this.#ports = ports;
  }

  async vote(by: PersonId, { approvalId: approval_id }: Asked, decision: Decision): Promise<void> {
    await this.#world.invoke(this.#ports, by, [decideApproval, { approval_id, ...decision }]);
  }

  /** `hash`: the manifest the caller means to commit; undefined = the current one. */
  commit(by: CallerId, { approvalId: approval_id }: Asked, hash?: string): Promise<OperationReply> {
    const input = { approval_id, ...(hash === undefined ? {} : { content_hash: hash }) };
    return this.#world.invoke(this.#ports, by, [commitApproval, input]);
  }

  async cancel(by: CallerId, { approvalId: approval_id }: Asked): Promise<void> {
    await this.#world.invoke(this.#ports, by, [cancelApproval, { approval_id }]);
  }

  /** A person settles an unknown outcome. */
  async resolve(by: PersonId, { operationId }: Asked, outcome: 'done' | 'not_done'): Promise<void> {
    const actor = { type: 'person', id: by, token_id: null, session_id: null } as const;
    const author = sampleAuthor(ORG, { requestId: randomUUID(), actor });
    await resolveOperation(this.#ports, author, operationId, { outcome, reason: 'I looked.' });
  }

  /** The work of a process's workers on one operation. */
  async pass({ operationId }: Asked): Promise<void> {
    const ports = this.#ports;
    const open = { operationId, orgId: ORG };
    await endOverdue(ports, open);
    await left(invalidateMissingTargets(ports, open, { asksServer: true }));
    const { state } = await loadAggregate(ports.events, operation, operationId);
    const commitAt = commitAtOf(state.approval);
    if (commitAt !== null && Date.parse(commitAt) <= ports.clock.now().getTime()) {
      const author = systemAuthor(ports, ORG);
      await commitDue(ports, { operationId, author, notePosition: () => undefined });
    }
    if (state.approval?.requested.draft_id == null) {
      await left(settleOperation(ports, open));
      return;
    }
    await left(settleSend(ports, open));
    await settleReview(ports, { ...open, draftId: state.approval.requested.draft_id });
  }
}

/** A worker later retries what cannot be done now. */
async function left(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
  }
}

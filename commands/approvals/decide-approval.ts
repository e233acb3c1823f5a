/** A signed-in person approves or rejects exactly the content that the hash names (`contract.md` 9 and 10). */
import { z } from 'zod';
import { type Context, defineCapability } from '../kernel/capability.ts';
import { decideAndAppend, loadAggregate, systemAuthor } from '../kernel/decide-and-append.ts';
import { Approval } from '../operations/approval-payload.ts';
import { commitAtOf } from '../operations/approval-state.ts';
import { castVote } from '../operations/approval-decisions.ts';
import { operation, type OperationState } from '../operations/operation.ts';
import { releaseDraftOf } from '../drafts/end-review.ts';
import { commitDue } from './commit-approval.ts';
import { ApprovalId, changedOnce, findApproval, type FoundApproval, showApproval } from './find-approval.ts';
import { invalidateMissingTargets } from './invalidate-missing-targets.ts';

const Input = z
  .strictObject({
    approval_id: ApprovalId,
    decision: z.enum(['approve', 'reject']),
    content_hash: z.string().min(1).max(64).describe('The content_hash shown in the preview.'),
    reason: z.string().min(1).max(1_000).optional().describe('A rejection needs one.'),
  })
  .refine(({ decision, reason }) => decision === 'approve' || reason !== undefined, {
    path: ['reason'],
    message: 'Say why you reject it.',
  });
type Input = z.output<typeof Input>;

export const decideApproval = defineCapability<Input, Approval>({
  name: 'decide_approval',
  title: 'Decide approval',
  summary: 'Approve or reject an approval, as a signed-in person.',
  description:
    'A vote counts once per person and hash; one rejection ends the approval. After the last vote it can be committed, or ' +
    'is committed at once where its policy says so; a commit that fails then takes nothing back from the vote.',
  effect: 'write',
  access: { any: ['approvals:decide'] },
  rest: { method: 'post', path: '/approvals/:approval_id/decision' },
  tool: null,
  idempotency: changedOnce,
  input: Input,
  output: Approval,
  handle: async (input, context) => {
    const { ports, author } = context;
    const seen = await findApproval(context, input.approval_id);
    const { operationId } = seen;
    const lost = { operationId, orgId: author.orgId, loaded: seen.loaded };
    // An approval that can no longer be committed accepts no vote.
    const hasEnded = await invalidateMissingTargets(ports, lost, { asksServer: false });
    const found = hasEnded ? await findApproval(context, input.approval_id) : seen;
    const reason =
      input.reason === undefined ? null : await ports.personal.seal(author.actor.id, input.reason);
    const vote = (state: OperationState, now: Date) =>
      castVote(state, {
        ...ballotOf(context, found),
        ...input,
        contentHash: input.content_hash,
        reason,
        now,
      });
    // Errors that the approval itself shows are thrown before the key is claimed.
    vote(found.loaded.state, ports.clock.now());
    await context.claim('req', found.mailboxId);
    const { state, position } = await decideAndAppend(ports, author, operation, {
      id: operationId,
      loaded: found.loaded,
      decide: vote,
    });
    context.notePosition(position);
    await releaseDraftOf(ports, author, operationId, state);
    return await showApproval(context, operationId, await afterCommit(context, operationId, state));
  },
});

const ballotOf = ({ caller }: Context, { behindId }: FoundApproval) => ({
  voterId: caller.principal.id,
  role: caller.role,
  behindId,
});

/** How long an approver waits for the commit after the vote; the commit itself continues. */
const WAIT_MS = 20_000;

/** Runs the commit here when it is due at once. The vote stands whatever the outcome. */
async function afterCommit(
  context: Context,
  operationId: string,
  state: OperationState,
): Promise<OperationState> {
  const { ports, author } = context;
  const commitAt = commitAtOf(state.approval);
  if (commitAt === null || Date.parse(commitAt) > ports.clock.now().getTime()) return state;
  const { correlationId, requestId } = author;
  const gateway = { ...systemAuthor(ports, author.orgId), correlationId, causationId: requestId };
  const notePosition: Context['notePosition'] = (position) => {
    context.notePosition(position);
  };
  const work = commitDue(ports, { operationId, author: gateway, notePosition });
  await atMost(ports, WAIT_MS, work);
  return (await loadAggregate(ports.events, operation, operationId)).state;
}

async function atMost(
  { clock, log }: Context['ports'],
  milliseconds: number,
  work: Promise<unknown>,
): Promise<void> {
  const timer = new AbortController();
  const done = work.catch((error: unknown) => {
    log.error('approval: internal error in the commit after the last vote', { error: String(error) });
  });
  await Promise.race([done, clock.sleep(milliseconds, timer.signal)]);
  timer.abort('done');
}

/** B11: an archive requested, approved by a person and committed, and a raw ImapFlow MOVE, alternating. */
import { moveAlternating, post } from './alternating-moves.ts';
import { type Figure, percentile } from './figures.ts';
import type { DemoFacts } from './processes.ts';

const ROUNDS = 200;
const WARM_UP = 20;

interface Reply {
  readonly approval: { readonly id: string; readonly status: string; readonly content_hash: string };
}

/** Three requests: submit, decide, commit. */
async function approvedArchive(facts: DemoFacts, session: string, id: string): Promise<void> {
  const asked = {
    operation: {
      type: 'message_actions',
      select: { message_ids: [id] },
      actions: [{ type: 'archive' }],
    },
    authorization: { mode: 'request_approval', reason: 'Measured.' },
  };
  const path = `mailboxes/${facts.mailbox_id}/email.act`;
  const { approval } = (await post(facts, path, asked, { key: `ask-${id}` })) as Reply;
  const vote = { decision: 'approve', content_hash: approval.content_hash };
  await post(facts, `approvals/${approval.id}/decision`, vote, { token: session });
  const commit = { key: `commit-${id}` };
  const done = (await post(facts, `approvals/${approval.id}/approval_commit`, {}, commit)) as Reply;
  if (done.approval.status !== 'committed')
    throw new Error(`the archive was not committed: ${JSON.stringify(done)}`);
}

export async function measureApproval(facts: DemoFacts): Promise<readonly Figure[]> {
  const credentials = { email: facts.owner_email, password: facts.owner_password };
  const { session_token } = (await post(facts, 'auth/login', credentials)) as { session_token: string };
  const moves = { word: 'Approved', total: ROUNDS + WARM_UP, folder: 'Archive' };
  const { ours, theirs } = await moveAlternating(facts, moves, (id) =>
    approvedArchive(facts, session_token, id),
  );
  const [warm, anchor] = [ours.slice(WARM_UP), theirs.slice(WARM_UP)];
  return [
    { name: 'B11 archive asked, approved, committed p50', value: percentile(warm, 0.5), unit: 'ms' },
    { name: 'B11 archive asked, approved, committed p99', value: percentile(warm, 0.99), unit: 'ms' },
    { name: 'B11 raw ImapFlow MOVE p50', value: percentile(anchor, 0.5), unit: 'ms' },
    {
      name: 'B11 added at p50',
      value: percentile(warm, 0.5) - percentile(anchor, 0.5),
      unit: 'ms',
      target: { atMost: 15 },
    },
  ];
}

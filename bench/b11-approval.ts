/** B11: an archive requested, approved by a person and committed, beside a raw IMAP MOVE. */
import type { OperationsJob } from './b3-actions.ts';
import { countOf, measureBesideRaw, type Operation } from './beside-raw.ts';
import { type Figure, took } from './figures.ts';
import { withMessages } from './mail-site.ts';
import type { DemoFacts } from './processes.ts';
import { post } from './rest.ts';

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

export async function measureApproval({
  site,
  gatewayPid,
  idle,
  rounds,
}: OperationsJob): Promise<readonly Figure[]> {
  const { facts } = site;
  const credentials = { email: facts.owner_email, password: facts.owner_password };
  const { session_token } = (await post(facts, 'auth/login', credentials)) as { session_token: string };
  return await withMessages(site, { word: 'Approved', count: countOf(rounds) }, ({ ids, uids, raw }) => {
    const operation: Operation = {
      name: 'B11 archive with an approval',
      anchor: 'IMAP MOVE',
      added: { 'back to back': 15, 'one every 300 ms': 15 },
      ours: (index) => took(() => approvedArchive(facts, session_token, ids[index] ?? '')),
      theirs: (index) => took(() => raw.messageMove(String(uids[index]), 'Archive', { uid: true })),
    };
    return measureBesideRaw(gatewayPid, idle, operation, rounds);
  });
}

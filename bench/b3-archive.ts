/** B3: `email.act` archive of one message and a raw ImapFlow MOVE on the same server, alternating. */
import { moveAlternating, post } from './alternating-moves.ts';
import { type Figure, percentile } from './figures.ts';
import type { DemoFacts } from './processes.ts';

const ROUNDS = 300;
const WARM_UP = 20;

async function archive(facts: DemoFacts, id: string): Promise<void> {
  const operation = {
    type: 'message_actions',
    select: { message_ids: [id] },
    actions: [{ type: 'archive' }],
  };
  const answer = await post(
    facts,
    `mailboxes/${facts.mailbox_id}/email.act`,
    { operation },
    { key: `bench-${id}` },
  );
  const { summary } = answer as { summary: { done: number } };
  if (summary.done !== 1) throw new Error(`the archive did not happen: ${JSON.stringify(answer)}`);
}

export async function measureArchive(facts: DemoFacts): Promise<readonly Figure[]> {
  const moves = { word: 'Benchmark', total: ROUNDS + WARM_UP, folder: 'Archive' };
  const { ours, theirs } = await moveAlternating(facts, moves, (id) => archive(facts, id));
  const [warm, anchor] = [ours.slice(WARM_UP), theirs.slice(WARM_UP)];
  return [
    { name: 'B3 email.act archive p50', value: percentile(warm, 0.5), unit: 'ms' },
    { name: 'B3 email.act archive p99', value: percentile(warm, 0.99), unit: 'ms' },
    { name: 'B3 raw ImapFlow MOVE p50', value: percentile(anchor, 0.5), unit: 'ms' },
    {
      name: 'B3 added at p50',
      value: percentile(warm, 0.5) - percentile(anchor, 0.5),
      unit: 'ms',
      target: { atMost: 5 },
    },
  ];
}

/**
 * One message with its text over REST, another one each time, beside the raw IMAP FETCHes of its structure and
 * text.
 */
import type { OperationsJob } from './b3-actions.ts';
import { countOf, measureBesideRaw, type Operation } from './beside-raw.ts';
import { type Figure, took } from './figures.ts';
import { fetchText, withMessages } from './mail-site.ts';
import type { DemoFacts } from './processes.ts';
import { get } from './rest.ts';

async function read(facts: DemoFacts, id: string): Promise<void> {
  const path = `mailboxes/${facts.mailbox_id}/messages/${id}?include_body=text`;
  const { body } = (await get(facts, path)) as { body?: { content: string } };
  if (body?.content.includes('One of many') !== true) throw new Error('the message has no text');
}

export const measureRead = ({ site, gatewayPid, idle, rounds }: OperationsJob): Promise<readonly Figure[]> =>
  withMessages(site, { word: 'Reading', count: countOf(rounds) }, ({ ids, uids, raw }) => {
    const operation: Operation = {
      name: 'Read of one message with text',
      anchor: 'IMAP FETCH',
      added: { 'back to back': 4, 'one every 300 ms': 4 },
      peer: 'read',
      ours: (index) => took(() => read(site.facts, ids[index] ?? '')),
      theirs: (index) => took(() => fetchText(raw, String(uids[index]))),
    };
    return measureBesideRaw(gatewayPid, idle, operation, rounds);
  });

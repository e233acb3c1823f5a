/**
 * One message with its text over REST, another one each time, beside the raw IMAP FETCHes of its structure and
 * text.
 */
import type { ImapFlow } from 'imapflow';
import type { OperationsJob } from './b3-actions.ts';
import { countOf, measureBesideRaw, type Operation } from './beside-raw.ts';
import { type Figure, took } from './figures.ts';
import { withMessages } from './mail-site.ts';
import type { DemoFacts } from './processes.ts';
import { get } from './rest.ts';

async function read(facts: DemoFacts, id: string): Promise<void> {
  const path = `mailboxes/${facts.mailbox_id}/messages/${id}?include_body=text`;
  const { body } = (await get(facts, path)) as { body?: { content: string } };
  if (body?.content.includes('One of many') !== true) throw new Error('the message has no text');
}

/** Which part the text is, only the structure says: two questions. */
async function fetchText(raw: ImapFlow, uid: string): Promise<void> {
  const envelope = { uid: true, flags: true, envelope: true, bodyStructure: true, internalDate: true };
  const message = await raw.fetchOne(uid, envelope, { uid: true });
  const part = (message ? message.bodyStructure?.part : undefined) ?? '1';
  const answer = await raw.fetchOne(uid, { bodyParts: [part] }, { uid: true });
  const text = answer && answer.bodyParts?.get(part);
  if (!text || !text.includes('One of many')) throw new Error('the raw message has no text');
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

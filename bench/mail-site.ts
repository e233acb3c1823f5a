/**
 * Two equal mailboxes on one Dovecot: one for the gateway, and one for a raw client, which the gateway does not
 * know. What the raw client does there costs the gateway nothing.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { ImapFlow } from 'imapflow';
import { seedMailbox } from '../infra/demo/seed-mailbox.ts';
import { addIndexed, withDovecot } from './dovecot-mailbox.ts';
import { type DemoFacts, endChild } from './processes.ts';
import { post } from './rest.ts';

/** Limit until the gateway lists messages that were appended directly on the server. */
const LISTED_WITHIN_MS = 60_000;

/** Where and as whom a client logs in. */
export type MailAccount = DemoFacts['imap'];

export interface MailSite {
  /** With the gateway's mailbox. */
  readonly facts: DemoFacts;
  /** The raw client's own mailbox. */
  readonly raw: MailAccount;
  /** Where both submit mail; it sends its parent `accepted` at each final dot. */
  readonly sink: { readonly child: ChildProcess; readonly port: number };
}

/** Sets the site up for one measurement and removes it. */
export async function onMailSite<T>(facts: DemoFacts, measure: (site: MailSite) => Promise<T>): Promise<T> {
  const { password } = facts.imap;
  return await withDovecot({ password, maxUserConnections: 100 }, async ({ ports }) => {
    const child = fork('bench/b3/submission-sink.ts');
    try {
      const [port] = (await once(child, 'message')) as [number];
      const ours = { host: '127.0.0.1', port: ports.imap, user: 'ours@example.com', password };
      const raw = { ...ours, user: 'raw@example.com' };
      await seedMailbox(raw);
      const mailbox_id = await addIndexed(facts, ours, await seedMailbox(ours), port);
      return await measure({ facts: { ...facts, mailbox_id, imap: ours }, raw, sink: { child, port } });
    } finally {
      await endChild(child);
    }
  });
}

/** Messages made for one operation: as many in each mailbox, with the same content. */
export interface Messages {
  /** Of the gateway. */
  readonly ids: readonly string[];
  /** Of the raw client, which has INBOX open. */
  readonly uids: readonly number[];
  readonly raw: ImapFlow;
}

/** `word` distinguishes the messages from those of other operations. Resolves when the gateway lists its own. */
export async function withMessages<T>(
  { facts, raw }: MailSite,
  { word, count }: { readonly word: string; readonly count: number },
  work: (messages: Messages) => Promise<T>,
): Promise<T> {
  const [ourClient, rawClient] = [await openRaw(facts.imap), await openRaw(raw)];
  try {
    for (const client of [ourClient, rawClient])
      for (let index = 0; index < count; index += 1) await client.append('INBOX', message(word, index));
    await rawClient.mailboxOpen('INBOX');
    const found = await rawClient.search({ subject: word }, { uid: true });
    const uids = Array.isArray(found) ? found : [];
    return await work({ ids: await allIds(facts, word, count), uids, raw: rawClient });
  } finally {
    await Promise.all([ourClient.logout(), rawClient.logout()]);
  }
}

/** A client that is logged in and does nothing unasked. */
export async function openRaw({ host, port, user, password }: MailAccount): Promise<ImapFlow> {
  const raw = new ImapFlow({
    host,
    port,
    secure: false,
    doSTARTTLS: false,
    auth: { user, pass: password },
    logger: false,
    disableAutoIdle: true,
  });
  await raw.connect();
  return raw;
}

/** A message with a subject of its own. */
export const message = (word: string, index: number): string =>
  [
    'From: Bench <bench@example.com>',
    'To: Demo <demo@example.com>',
    `Subject: ${word} ${String(index)}`,
    `Message-ID: <${word.toLowerCase()}-${String(index)}-${String(Date.now())}@example.com>`,
    `Date: ${new Date().toUTCString()}`,
    '',
    'One of many.',
    '',
  ].join('\r\n');

interface Page {
  readonly items: readonly { readonly id: string }[];
  readonly page: { readonly next_cursor: string | null };
}

/** Newest first. */
async function listIds(facts: DemoFacts, word: string): Promise<readonly string[]> {
  const ids: string[] = [];
  const select = { folder: 'inbox', filter: { subject_contains: word }, limit: 200 };
  let cursor: string | null = null;
  do {
    const asked = { view: 'ids', select: { ...select, ...(cursor === null ? {} : { cursor }) } };
    const { items, page } = (await post(facts, `mailboxes/${facts.mailbox_id}/email.query`, asked)) as Page;
    ids.push(...items.map(({ id }) => id));
    cursor = page.next_cursor;
  } while (cursor !== null);
  return ids;
}

async function allIds(facts: DemoFacts, word: string, count: number): Promise<readonly string[]> {
  const until = performance.now() + LISTED_WITHIN_MS;
  for (;;) {
    const ids = await listIds(facts, word);
    if (ids.length >= count) return ids;
    if (performance.now() > until) throw new Error(`only ${String(ids.length)} messages are listed`);
    await sleep(100);
  }
}

/** Which part the text is, only the structure says: two questions. */
export async function fetchText(raw: ImapFlow, uid: string): Promise<void> {
  const envelope = { uid: true, flags: true, envelope: true, bodyStructure: true, internalDate: true };
  const message = await raw.fetchOne(uid, envelope, { uid: true });
  const part = (message ? message.bodyStructure?.part : undefined) ?? '1';
  const answer = await raw.fetchOne(uid, { bodyParts: [part] }, { uid: true });
  const text = answer && answer.bodyParts?.get(part);
  if (!text || !text.includes('One of many')) throw new Error('the raw message has no text');
}

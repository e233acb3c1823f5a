/** NOTIFY and LISTEN between the process that changed a mailbox and the one whose worker watches it. */

import type { Sql } from '../../commands/ports/ports.ts';

/** The channel; its payload is `<mailbox id> <folder number>,<folder number>…`, and ` look` where a poll is requested. */
export const MAILBOX_CHANNEL = 'mailbox_changed';

/** Postgres rejects payloads of 8,000 bytes; with more folders than this, the whole mailbox is polled. */
const MOST_FOLDERS = 500;

/** The payload that tells the mailbox's worker, in any process, of settled own changes in these folders. */
export function encodeNotification(mailboxId: string, folders: readonly number[]): string {
  const named = folders.length > MOST_FOLDERS ? [] : folders;
  return `${mailboxId} ${named.join(',')}`;
}

interface Notification {
  readonly mailboxId: string;
  /** None = all. */
  readonly folders: readonly number[];
  /** The folders are to be polled, whatever was settled in them. */
  readonly isPoll: boolean;
}

/** Reads a payload; null for one that this version does not understand. */
export function decodeNotification(payload: string | undefined): Notification | null {
  const [, mailboxId, folders, look] = /^(mbx_\w+) ([\d,]*)( look)?$/.exec(payload ?? '') ?? [];
  if (mailboxId === undefined || folders === undefined) return null;
  const numbers = folders === '' ? [] : folders.split(',').map(Number);
  return { mailboxId, folders: numbers, isPoll: look !== undefined || numbers.length === 0 };
}

/** Requests a poll of these folders now. Throws `store_unavailable`. */
export async function notifyMailbox(sql: Sql, mailboxId: string, folders: readonly number[]): Promise<void> {
  const payload = `${encodeNotification(mailboxId, folders)} look`;
  await sql.query('select pg_notify($1, $2)', [MAILBOX_CHANNEL, payload]);
}

/** Announces that these mailboxes have no worker any more, as a request to poll all their folders. Throws `store_unavailable`. */
export async function notifyMailboxes(sql: Sql, mailboxIds: readonly string[]): Promise<void> {
  const rings = mailboxIds.map((mailboxId) => encodeNotification(mailboxId, []));
  await sql.query('select pg_notify($1, ring) from unnest($2::text[]) as ring', [MAILBOX_CHANNEL, rings]);
}

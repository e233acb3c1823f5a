/** NOTIFY and LISTEN between the process that changed a mailbox and the one whose worker watches it. */

import type { Sql } from '../../commands/ports/ports.ts';

/** The channel; its payload is `<mailbox id> <folder number>,<folder number>…`. */
export const MAILBOX_CHANNEL = 'mailbox_changed';

/** Postgres rejects payloads of 8,000 bytes; with more folders than this, the whole mailbox is polled. */
const MOST_FOLDERS = 500;

/** The payload that makes the mailbox's worker, in any process, poll these folders now. */
export function encodeNotification(mailboxId: string, folders: readonly number[]): string {
  const named = folders.length > MOST_FOLDERS ? [] : folders;
  return `${mailboxId} ${named.join(',')}`;
}

/** Reads a payload; null for one that this version does not understand. No folders = all. */
export function decodeNotification(
  payload: string | undefined,
): { mailboxId: string; folders: number[] } | null {
  const [, mailboxId, folders] = /^(mbx_\w+) ([\d,]*)$/.exec(payload ?? '') ?? [];
  if (mailboxId === undefined || folders === undefined) return null;
  return { mailboxId, folders: folders === '' ? [] : folders.split(',').map(Number) };
}

/** Requests a poll of these folders now. Throws `store_unavailable`. */
export async function notifyMailbox(sql: Sql, mailboxId: string, folders: readonly number[]): Promise<void> {
  await sql.query('select pg_notify($1, $2)', [MAILBOX_CHANNEL, encodeNotification(mailboxId, folders)]);
}

/** Announces that these mailboxes have no worker any more, as a request to poll all their folders. Throws `store_unavailable`. */
export async function notifyMailboxes(sql: Sql, mailboxIds: readonly string[]): Promise<void> {
  const rings = mailboxIds.map((mailboxId) => encodeNotification(mailboxId, []));
  await sql.query('select pg_notify($1, ring) from unnest($2::text[]) as ring', [MAILBOX_CHANNEL, rings]);
}

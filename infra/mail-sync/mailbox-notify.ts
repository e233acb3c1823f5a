/** NOTIFY and LISTEN between whoever changed a mailbox and the process whose worker looks after it. */

import type { Sql } from '../../commands/ports/ports.ts';

/** The channel; its payload is `<mailbox id> <folder number>,<folder number>…`. */
export const MAILBOX_CHANNEL = 'mailbox_changed';

/** Postgres refuses payloads of 8,000 bytes; a mailbox whose every folder changed is looked at whole. */
const MOST_FOLDERS = 500;

/** The payload that asks the mailbox's worker, in whichever process, to look at these folders now. */
export function encodeNotification(mailboxId: string, folders: readonly number[]): string {
  const named = folders.length > MOST_FOLDERS ? [] : folders;
  return `${mailboxId} ${named.join(',')}`;
}

/** What a ring says; null for one this version does not understand. No folders = all. */
export function decodeNotification(
  payload: string | undefined,
): { mailboxId: string; folders: number[] } | null {
  const [, mailboxId, folders] = /^(mbx_\w+) ([\d,]*)$/.exec(payload ?? '') ?? [];
  if (mailboxId === undefined || folders === undefined) return null;
  return { mailboxId, folders: folders === '' ? [] : folders.split(',').map(Number) };
}

/** Asks for a look at these folders now. Throws `store_unavailable`. */
export async function notifyMailbox(sql: Sql, mailboxId: string, folders: readonly number[]): Promise<void> {
  await sql.query('select pg_notify($1, $2)', [MAILBOX_CHANNEL, encodeNotification(mailboxId, folders)]);
}

/** Tells that nobody works on these mailboxes any more, in the words of a look at all their folders. Throws `store_unavailable`. */
export async function notifyMailboxes(sql: Sql, mailboxIds: readonly string[]): Promise<void> {
  const rings = mailboxIds.map((mailboxId) => encodeNotification(mailboxId, []));
  await sql.query('select pg_notify($1, ring) from unnest($2::text[]) as ring', [MAILBOX_CHANNEL, rings]);
}

/** The Sent copy: proof that a message was sent. The gateway files it once where the mail server does not. */
import { GatewayError } from '../values/errors.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import { folderOfRole } from '../kernel/folders.ts';
import type { MailSession } from '../ports/mail-port.ts';
import type { FolderRef, MessageRef } from '../mail/message.ts';
import type { PersonalData } from '../ports/ports.ts';
import { openText } from '../kernel/sealed-json.ts';
import { type DraftState, rfcMessageIdOf } from '../drafts/draft.ts';

/** The folder of a role, or null where the mailbox has none. */
function folderIfAny(mailbox: MailboxEntry, role: 'sent' | 'all_mail'): FolderRef | null {
  try {
    return folderOfRole(mailbox, role);
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'folder_role_missing') return null;
    throw error;
  }
}

/**
 * The Message-IDs that a copy may have: the frozen one, then the one the server gave. None for an erased
 * mailbox.
 */
export async function messageIdsOf(
  personal: Pick<PersonalData, 'open'>,
  state: DraftState,
): Promise<readonly string[]> {
  const held = [state.send?.frozen.rfc_message_id ?? null, rfcMessageIdOf(state)];
  const opened = await Promise.all(held.map((each) => openText(personal, each)));
  return [...new Set(opened.filter((id) => id !== null))];
}

/**
 * A message with one of these Message-IDs in Sent, else in All Mail. A draft is no proof: some servers list
 * drafts there too. Throws when the mail server is unavailable.
 */
export async function findSentCopy(
  mail: MailSession,
  mailbox: MailboxEntry,
  messageIds: readonly string[],
): Promise<MessageRef | null> {
  for (const role of ['sent', 'all_mail'] as const) {
    const folder = folderIfAny(mailbox, role);
    const found = folder && (await findIn(mail, folder, messageIds));
    if (found) return found;
  }
  return null;
}

async function findIn(
  mail: MailSession,
  folder: FolderRef,
  messageIds: readonly string[],
): Promise<MessageRef | null> {
  for (const messageId of messageIds) {
    const uids = await mail.findByMessageId(folder, messageId, 1);
    if (uids.length === 0) continue;
    const { uidValidity } = await mail.folderStatus(folder);
    const { flagsByUid } = await mail.look(folder, uidValidity, uids);
    const uid = uids.find((each) => flagsByUid.get(each)?.includes('\\Draft') === false);
    if (uid !== undefined) return { folder, uidValidity, uid };
  }
  return null;
}

/** Who files Sent copies, as far as known: Gmail does; for other servers the last send shows it. */
export type CopyHabit = 'server' | 'gateway' | null;

export const habitOf = (mailbox: MailboxEntry, lastFiledBy: CopyHabit): CopyHabit =>
  mailbox.capabilities.includes('X-GM-EXT-1') ? 'server' : lastFiledBy;

/** A server that is known to file copies may be slow with one. */
const KNOWN_HABIT_FACTOR = 12;

/**
 * How long the server's own copy is awaited. The wait applies also where the gateway filed the last one: the
 * server may have been too slow, and without a wait its own copy would never be found.
 */
export const waitsForCopyUntil = (sentAt: Date, habit: CopyHabit, ownCopyWithinMs: number): Date =>
  new Date(sentAt.getTime() + (habit === 'server' ? KNOWN_HABIT_FACTOR : 1) * ownCopyWithinMs);

/** The Sent copy: proof that a message was sent. The gateway files it once where the mail server does not. */
import { GatewayError } from '../values/errors.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import { folderOfRole } from '../kernel/folders.ts';
import type { MailSession } from '../ports/mail-port.ts';
import type { FolderRef, MessageRef } from '../mail/message.ts';
import type { PersonalData, Ports } from '../ports/ports.ts';
import { openText } from '../kernel/sealed-json.ts';
import { draft, type DraftFact, type DraftState, rfcMessageIdOf, type Send } from '../drafts/draft.ts';
import { decideAndAppend, loadAggregate, type Loaded, systemAuthor } from '../kernel/decide-and-append.ts';
import { type HeldLease, holdLease, LeaseLost } from '../kernel/hold-lease.ts';
import { datedMessage } from './message-bytes.ts';

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

const habitOf = (mailbox: MailboxEntry, lastFiledBy: CopyHabit): CopyHabit =>
  mailbox.capabilities.includes('X-GM-EXT-1') ? 'server' : lastFiledBy;

/** A server that is known to file copies may be slow with one. */
const KNOWN_HABIT_FACTOR = 12;

/**
 * How long the server's own copy is awaited. The wait applies also where the gateway filed the last one: the
 * server may have been too slow, and without a wait its own copy would never be found.
 */
const waitsForCopyUntil = (sentAt: Date, habit: CopyHabit, ownCopyWithinMs: number): Date =>
  new Date(sentAt.getTime() + (habit === 'server' ? KNOWN_HABIT_FACTOR : 1) * ownCopyWithinMs);

/** Until its time is over, only a server that is known to file copies is asked. */
function nextOf({ clock, server }: Ports, habit: CopyHabit, sentAt: Date): 'wait' | 'look' | 'file' {
  if (clock.now() >= waitsForCopyUntil(sentAt, habit, server.sendTimes.ownCopyWithinMs)) return 'file';
  return habit === 'server' ? 'look' : 'wait';
}

export interface UnfiledCopy {
  readonly operationId: string;
  readonly orgId: string | null;
  readonly draftId: string;
  /** Who filed the last Sent copy of this mailbox. */
  readonly lastFiledBy: CopyHabit;
}

interface Copy {
  readonly filedBy: 'gateway' | 'server';
  readonly place: MessageRef | null;
  /** Settles its arrival, and with it releases the lease. */
  readonly settle?: () => Promise<void>;
}

interface SentMessage {
  readonly send: Send;
  readonly messageIds: readonly string[];
  readonly sentAt: Date;
}

/**
 * Files the copy of a sent message. Searches first, so that a copy filed before a crash is found. Returns true when nothing is left to file;
 * false while the server's own copy is awaited, or another process holds the lease. Throws a `GatewayError`
 * when the mail server or a store is unavailable, and `folder_role_missing` where the mailbox has no Sent
 * folder.
 */
export async function fileSentCopy(ports: Ports, unfiled: UnfiledCopy): Promise<boolean> {
  const { operationId, draftId } = unfiled;
  const lease = await holdLease(ports.leases, operationId);
  if (lease === null) return false;
  try {
    const loaded = await loadAggregate(ports.events, draft, draftId);
    const { state } = loaded;
    const { send, mailboxId } = state;
    const mailbox = mailboxId === null ? undefined : ports.directory.state.mailboxes.get(mailboxId);
    if (send?.frozen.operation_id !== operationId || state.status !== 'sent' || send.copyFiled) return true;
    if (!mailbox || send.sentAt === null) return true;
    const messageIds = await messageIdsOf(ports.personal, state);
    if (messageIds.length === 0) return true;
    const message = { send, messageIds, sentAt: new Date(send.sentAt) };
    const now = nextOf(ports, habitOf(mailbox, unfiled.lastFiledBy), message.sentAt);
    if (now === 'wait') return false;
    const copy = await ports.mail.withMailbox(mailbox.id, 'bulk', (mail) =>
      findOrFile({ ports, mail, mailbox, lease }, { operationId, now }, message),
    );
    if (copy === null) return false;
    await record(ports, { ...unfiled, loaded }, mailbox, copy);
    await lease.release(copy.settle);
    return true;
  } finally {
    await lease.release();
  }
}

interface Desk {
  readonly ports: Ports;
  readonly mail: MailSession;
  readonly mailbox: MailboxEntry;
  readonly lease: HeldLease;
}

async function findOrFile(
  desk: Desk,
  { operationId, now }: { readonly operationId: string; readonly now: 'look' | 'file' },
  message: SentMessage,
): Promise<Copy | null> {
  const found = await findSentCopy(desk.mail, desk.mailbox, message.messageIds);
  if (found) return { filedBy: 'server', place: found };
  return now === 'look' ? null : await file(desk, operationId, message);
}

/** The arrival is announced before the append, so that the copy is not reported as new mail. */
async function file(
  { ports, mail, mailbox, lease }: Desk,
  operationId: string,
  { send, messageIds, sentAt }: SentMessage,
): Promise<Copy> {
  const folder = folderOfRole(mailbox, 'sent');
  const date = new Date(send.started?.date ?? sentAt);
  const raw = await bytesOf(datedMessage(date, ports.content.open(send.frozen.mime_id)));
  const { uidValidity, uidNext } = await mail.folderStatus(folder);
  const arrival = {
    kind: 'arrives',
    folder: folder.number,
    uidValidity,
    fromUid: uidNext,
    uid: null,
    messageId: messageIds[0] ?? null,
    previousId: null,
  } as const;
  const held = { leases: ports.leases, name: operationId };
  const echo = await ports.changeAttribution.expectUnder(held, { mailboxId: mailbox.id, operationId }, [
    arrival,
  ]);
  if (echo === null) throw new LeaseLost(operationId);
  mail.guardWrites(() => {
    lease.assertHeld();
  });
  const place = await mail.append(folder, raw, ['\\Seen'], sentAt);
  const settle = () => echo.settle([{ ...arrival, ...place }]);
  return { filedBy: 'gateway', place: place && { folder, ...place }, settle };
}

/** Reads everything into memory: an IMAP literal states its length and is handed over in one piece. */
async function bytesOf(content: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of content) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function record(
  ports: Ports,
  { operationId, orgId, draftId, loaded }: UnfiledCopy & { readonly loaded: Loaded<DraftState> },
  mailbox: MailboxEntry,
  { filedBy, place }: Copy,
): Promise<void> {
  const sentMessageId =
    place &&
    ports.locators.message({
      mailboxNumber: mailbox.number,
      folderNumber: place.folder.number,
      uidValidity: place.uidValidity,
      uid: place.uid,
    });
  await decideAndAppend(ports, systemAuthor(ports, orgId), draft, {
    id: draftId,
    loaded,
    decide: ({ send }): readonly DraftFact[] =>
      send === null || send.copyFiled
        ? []
        : [
            {
              type: 'SentCopyFiled',
              data: { operation_id: operationId, filed_by: filedBy, sent_message_id: sentMessageId },
            },
          ],
  });
}

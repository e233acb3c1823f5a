/**
 * The copy of a draft in the mailbox's Drafts folder (`contract.md` 7): one way and best effort. A copy is
 * noted before it is made, so that a later pass finds it after a crash. A message that was not noted is never
 * removed.
 */
import { loadAggregate } from '../kernel/decide-and-append.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import { effectiveRoles, folderOfRole } from '../kernel/folders.ts';
import type { HeldLease } from '../kernel/hold-lease.ts';
import type { MailSession } from '../ports/mail-port.ts';
import type { FolderRef } from '../mail/message.ts';
import type { Ports } from '../ports/ports.ts';
import type { ComposedDraft } from './compose-draft.ts';
import { messageOf, newMessageId } from './compose-draft.ts';
import { draft, type DraftState } from './draft.ts';

/** A message that the gateway put into a Drafts folder, or is about to. */
export interface DraftCopy {
  readonly draftId: string;
  /** The Message-ID of the copy itself, with its brackets. */
  readonly messageId: string;
  readonly version: number;
  readonly folderNumber: number;
  readonly uidValidity: number;
  /** Messages that were there before have a lower UID. */
  readonly fromUid: number;
  /** Null until the append is known to be done. */
  readonly uid: number | null;
}

export interface DraftCopies {
  of(draftId: string): Promise<readonly DraftCopy[]>;
  note(mailboxId: string, copy: DraftCopy): Promise<void>;
  place(copy: DraftCopy, uid: number): Promise<void>;
  forget(copy: DraftCopy): Promise<void>;
}

/** A copy is held in memory, so larger attachments are left out of it. */
const MAX_COPIED_BYTES = 1024 * 1024;
const NOTE = 'kept by the gateway; edits here are ignored';

interface Desk {
  readonly ports: Ports;
  readonly copies: DraftCopies;
  readonly mail: MailSession;
  readonly mailbox: MailboxEntry;
  readonly draftId: string;
}

/** States in which a person may still read the draft. */
const isShown = ({ status }: DraftState): boolean => status !== 'sent' && status !== 'discarded';
/** States in which the draft can change. */
const isCopied = ({ status }: DraftState): boolean =>
  status === 'open' || status === 'in_review' || status === 'send_failed';

/**
 * Brings the Drafts folder up to date with the draft. Does nothing where the mailbox has no Drafts folder or
 * its server no UIDPLUS. Throws what the mail server and the stores throw; the next pass continues where this
 * one ended.
 */
export async function keepDraftCopy(
  ports: Ports,
  copies: DraftCopies,
  draftId: string,
  lease: HeldLease,
): Promise<void> {
  const { state } = await loadAggregate(ports.events, draft, draftId);
  const mailbox = state.mailboxId === null ? undefined : ports.directory.state.mailboxes.get(state.mailboxId);
  if (!mailbox || effectiveRoles(mailbox).drafts === undefined) return;
  await ports.mail.withMailbox(mailbox.id, 'bulk', async (mail) => {
    if (!mail.capabilities.uidPlus) return;
    // A process that took over an expired lease may have forgotten what was noted here, so no message may
    // appear after that.
    mail.guardWrites(() => {
      lease.assertHeld();
    });
    const desk: Desk = { ports, copies, mail, mailbox, draftId };
    const known = await findCutOff(desk, await copies.of(draftId));
    const version = state.current?.version;
    if (isCopied(state) && !known.some((copy) => copy.version === version)) await addCopy(desk, state);
    const outdated = known.filter((copy) => !isShown(state) || (isCopied(state) && copy.version !== version));
    await removeCopies(desk, outdated);
  });
}

/**
 * Resolves appends with an unknown outcome: either the copy is there under its Message-ID, or it was never
 * made.
 */
async function findCutOff(desk: Desk, noted: readonly DraftCopy[]): Promise<readonly DraftCopy[]> {
  const placed: DraftCopy[] = [];
  for (const copy of noted) {
    if (copy.uid !== null) {
      placed.push(copy);
      continue;
    }
    const uid = await findCopy(desk, copy);
    if (uid === null) await desk.copies.forget(copy);
    else placed.push(await placeCopy(desk, copy, uid));
  }
  return placed;
}

async function findCopy({ mail, mailbox }: Desk, copy: DraftCopy): Promise<number | null> {
  const folder = folderOf(mailbox, copy);
  if (!folder || (await mail.folderStatus(folder)).uidValidity !== copy.uidValidity) return null;
  const [uid] = await mail.findByMessageId(folder, copy.messageId, copy.fromUid);
  return uid ?? null;
}

async function placeCopy({ copies }: Desk, copy: DraftCopy, uid: number): Promise<DraftCopy> {
  await copies.place(copy, uid);
  return { ...copy, uid };
}

async function addCopy(desk: Desk, state: DraftState): Promise<void> {
  const { ports, copies, mail, mailbox, draftId } = desk;
  const messageId = newMessageId(ports, mailbox);
  const now = ports.clock.now();
  const raw = await rawCopy(ports, await messageOf(ports, mailbox, state, messageId), draftId, now);
  const folder = folderOfRole(mailbox, 'drafts');
  const { uidValidity, uidNext } = await mail.folderStatus(folder);
  const version = state.current?.version ?? 0;
  const copy: DraftCopy = {
    draftId,
    messageId,
    version,
    folderNumber: folder.number,
    uidValidity,
    fromUid: uidNext,
    uid: null,
  };
  const arrival = {
    kind: 'arrives',
    folder: folder.number,
    uidValidity,
    fromUid: uidNext,
    uid: null,
    messageId,
    previousId: null,
  } as const;
  await copies.note(mailbox.id, copy);
  const echo = await ports.changeAttribution.expect({ mailboxId: mailbox.id, operationId: null }, [arrival]);
  const place = await mail.append(folder, raw, ['\\Draft', '\\Seen'], now);
  const uid = place?.uid ?? (await findCopy(desk, copy));
  await echo.settle([{ ...arrival, uid }]);
  if (uid !== null) await copies.place(copy, uid);
}

async function rawCopy(
  { composer }: Ports,
  { message, attachments }: ComposedDraft,
  draftId: string,
  date: Date,
): Promise<Uint8Array> {
  const isSmall = attachments.reduce((bytes, { size }) => bytes + size, 0) <= MAX_COPIED_BYTES;
  const note = isSmall ? NOTE : `${NOTE}; attachments are left out`;
  const shown = {
    ...message,
    date,
    attachments: isSmall ? message.attachments : [],
    headers: [...message.headers, { name: 'X-Mailbox-Gateway-Draft', value: `${draftId}; ${note}` }],
  };
  const pieces: Uint8Array[] = [];
  for await (const piece of composer.compose(shown)) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function removeCopies(desk: Desk, outdated: readonly DraftCopy[]): Promise<void> {
  const { ports, copies, mail, mailbox } = desk;
  for (const copy of outdated) {
    const folder = folderOf(mailbox, copy);
    if (copy.uid === null) continue;
    if (folder) {
      const { uidValidity, uid } = copy;
      const leave = { kind: 'leaves', folder: folder.number, uidValidity, uid, moved: false } as const;
      const echo = await ports.changeAttribution.expect({ mailboxId: mailbox.id, operationId: null }, [
        leave,
      ]);
      const outcome = (await mail.expungeMessages(folder, uidValidity, [uid])).get(uid);
      const isGone =
        outcome?.outcome === 'done' || (outcome?.outcome === 'failed' && outcome.reason === 'missing');
      await echo.settle(outcome?.outcome === 'failed' ? [] : [leave]);
      if (!isGone) continue;
    }
    await copies.forget(copy);
  }
}

const folderOf = ({ folders }: MailboxEntry, { folderNumber }: DraftCopy): FolderRef | undefined =>
  folders.find(({ number, availability }) => number === folderNumber && availability !== 'missing');

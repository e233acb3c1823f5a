/**
 * Fixes the exact message of one send: its bytes without Date, its Message-ID, its recipients (`contract.md`
 * 7). The append that freezes the draft, or begins an attempt, locks the draft.
 */
import { createHash } from 'node:crypto';
import { invalidField } from '../values/errors.ts';
import { appendDecided, type Author, loadAggregate, retryAppend } from '../kernel/decide-and-append.ts';
import type { HeldLease } from '../kernel/hold-lease.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import type { ExpectedRevision } from '../ports/event-store.ts';
import type { ComposedAttachment } from '../ports/message-composer.ts';
import type { Ports } from '../ports/ports.ts';
import type { SmtpEnvelope } from '../ports/submission-port.ts';
import { type ComposedDraft, type DraftPorts, messageOf, newMessageId } from '../drafts/compose-draft.ts';
import { draft, type DraftFact, type DraftState } from '../drafts/draft.ts';
import { MAX_MESSAGE_BYTES, recipientsOf } from '../drafts/draft-envelope.ts';
import { needsSmtpUtf8, wireAddress } from '../drafts/mail-address.ts';
import { startAttempt } from './decide-send.ts';
import type { Attempt } from './run-attempt.ts';

export type FrozenData = Extract<DraftFact, { type: 'DraftFrozen' }>['data'];

/**
 * A frozen message that no send keeps by then is erased; the process that froze it begins its send within
 * minutes.
 */
const UNUSED_FOR_MS = 24 * 3_600_000;

interface Freeze {
  readonly draftId: string;
  readonly operationId: string;
  readonly mailbox: MailboxEntry;
  readonly state: DraftState;
  /** The message, where it is prepared already. */
  readonly message?: Promise<PreparedMessage>;
}

export interface PreparedMessage {
  readonly messageId: string;
  readonly composed: ComposedDraft;
}

/** Reads what the message is made of, under a new Message-ID; nothing is written. A failure is reported where it is awaited. */
export function prepareMessage(
  ports: DraftPorts,
  { mailbox, state }: Pick<Freeze, 'mailbox' | 'state'>,
): Promise<PreparedMessage> {
  const messageId = newMessageId(ports, mailbox);
  const prepared = messageOf(ports, mailbox, state, messageId).then((composed) => ({ messageId, composed }));
  prepared.catch(() => undefined);
  return prepared;
}

/**
 * Writes the message into the content store and returns the data of its `DraftFrozen` event. Nothing is
 * appended; a message that `beginSend` does not keep within a day is erased. Throws `payload_too_large`,
 * `invalid_request` without a recipient, `message_stale` when a received attachment is gone, and what the
 * mail server and the stores throw.
 */
export const freezeDraft = async (ports: DraftPorts, freeze: Freeze): Promise<FrozenData> =>
  (await freezeMessage(ports, freeze)).frozen;

/** Like `freezeDraft`, and also returns what the message was made of, for the manifest of an approval. */
export async function freezeMessage(ports: DraftPorts, freeze: Freeze): Promise<FrozenMessage> {
  const { draftId, operationId, mailbox, state } = freeze;
  const { messageId, composed } = await (freeze.message ?? prepareMessage(ports, freeze));
  const { envelope, message, from } = composed;
  const { attachments, read } = measured(message.attachments);
  const smtp = smtpEnvelope(
    from.email,
    recipientsOf(envelope).map(({ email }) => email),
  );
  const expiresAt = new Date(ports.clock.now().getTime() + UNUSED_FOR_MS);
  const facts = { kind: 'mime', filename: null, contentType: 'message/rfc822', expiresAt } as const;
  const owner = { mailboxId: mailbox.id, draftId };
  const mime = await ports.content.put(
    { id: ports.ids.newUuid(), owner, maxBytes: MAX_MESSAGE_BYTES, ...facts },
    ports.composer.compose({ ...message, attachments }),
  );
  const frozen = {
    operation_id: operationId,
    version: state.current?.version ?? 0,
    content_hash: state.current?.content_hash ?? '',
    rfc_message_id: await ports.personal.seal(mailbox.id, messageId),
    mime_id: mime.id,
    mime_sha256: mime.sha256,
    mime_size: mime.size,
    smtp_envelope: await ports.personal.seal(mailbox.id, JSON.stringify(smtp)),
    needs_smtputf8: [smtp.from, ...smtp.to, ...envelope.reply_to.map(({ email }) => email)].some(
      needsSmtpUtf8,
    ),
    recipient_count: smtp.to.length,
    frozen_at: ports.clock.now().toISOString(),
  };
  return { frozen, smtp, composed, read };
}

const NO_RECIPIENT = 'A message needs at least one recipient; add one to the draft first.';

/** Addresses in their wire form, each recipient once. */
function smtpEnvelope(from: string, recipients: readonly string[]): SmtpEnvelope {
  const to = new Set(recipients.flatMap((email) => wireAddress(email) ?? []));
  if (to.size === 0) throw invalidField('to', NO_RECIPIENT, 'too_small');
  return { from: wireAddress(from) ?? from, to: [...to] };
}

/** Size in bytes and SHA-256 in hex of what was read for an attachment. */
interface ReadBytes {
  readonly size: number;
  readonly sha256: string;
}

/** A frozen message with what it was made of. */
export interface FrozenMessage {
  readonly frozen: FrozenData;
  readonly smtp: SmtpEnvelope;
  readonly composed: ComposedDraft;
  /** One entry per attachment of the message, in order, received ones included. */
  readonly read: readonly ReadBytes[];
}

/** Measures attachments while the message is composed; `read` is complete after that. */
function measured(attachments: readonly ComposedAttachment[]): {
  readonly attachments: readonly ComposedAttachment[];
  readonly read: readonly ReadBytes[];
} {
  const read: ReadBytes[] = attachments.map(() => ({ size: 0, sha256: '' }));
  return {
    read,
    attachments: attachments.map((attachment, index) => ({
      ...attachment,
      bytes: () =>
        hashed(attachment.bytes(), (found) => {
          read[index] = found;
        }),
    })),
  };
}

async function* hashed(
  bytes: AsyncIterable<Uint8Array>,
  report: (found: ReadBytes) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  const hash = createHash('sha256');
  let size = 0;
  for await (const piece of bytes) {
    hash.update(piece);
    size += piece.length;
    yield piece;
  }
  report({ size, sha256: hash.digest('hex') });
}

/** A draft as it was loaded. */
export interface DraftAtRevision {
  readonly id: string;
  readonly mailboxId: string;
  readonly state: DraftState;
  readonly revision: ExpectedRevision;
}

/** A draft under the lease of the operation that sends it. */
interface HeldDraft {
  readonly loaded: DraftAtRevision;
  readonly lease: HeldLease;
}

/**
 * Freezes the draft and begins an attempt. Returns null, with nothing written, when the draft changed since it
 * was loaded or the message was erased with it; the caller then erases the message. Throws `LeaseLost`.
 */
export const beginSend = (
  ports: Ports,
  author: Author,
  held: HeldDraft,
  frozen: FrozenData,
): Promise<Attempt | null> =>
  freezeWith(ports, author, held, { frozen, then: () => startNow(ports, { frozen, attempts: 0 }, null) });

/** Freezes the draft and holds the message back until `commitAt`. Returns null as `beginSend` does. */
export async function scheduleSend(
  ports: Ports,
  author: Author,
  held: HeldDraft,
  { frozen, commitAt }: { readonly frozen: FrozenData; readonly commitAt: string },
): Promise<DraftState | null> {
  const data = { operation_id: frozen.operation_id, commit_at: commitAt };
  const begun = await freezeWith(ports, author, held, {
    frozen,
    then: () => ({ type: 'SendScheduled', data }),
  });
  return begun?.state ?? null;
}

/** Freezes the draft for an approval. Returns null as `beginSend` does. */
export const freezeForApproval = async (
  ports: Ports,
  author: Author,
  held: HeldDraft,
  frozen: FrozenData,
): Promise<DraftState | null> => (await freezeWith(ports, author, held, { frozen }))?.state ?? null;

/**
 * Begins an attempt with the frozen bytes; `commit` numbers the commit of its approval, if it has one.
 * Returns null, with nothing written, when the draft changed. Throws `LeaseLost`.
 */
export const beginAgain = (
  ports: Ports,
  author: Author,
  held: HeldDraft,
  commit: number | null,
): Promise<Attempt | null> =>
  append(ports, author, held, ({ send }) => (send === null ? [] : [startNow(ports, send, commit)]));

const startNow = (
  { leases, clock }: Ports,
  send: Parameters<typeof startAttempt>[0],
  commit: number | null,
): DraftFact => startAttempt(send, { runId: leases.runId, now: clock.now(), commit });

/** The frozen message is kept before an event names it. */
async function freezeWith(
  ports: Ports,
  author: Author,
  held: HeldDraft,
  { frozen, then }: { readonly frozen: FrozenData; readonly then?: () => DraftFact },
): Promise<Attempt | null> {
  held.lease.assertHeld();
  const kept = await ports.content.keep([frozen.mime_id]);
  if (!kept.has(frozen.mime_id)) return null;
  return await append(ports, author, held, () => [
    { type: 'DraftFrozen', data: frozen },
    ...(then ? [then()] : []),
  ]);
}

/** Appends, again where only the stream moved on. Returns null when the draft's version or status changed. */
async function append(
  ports: Ports,
  author: Author,
  { loaded, lease }: HeldDraft,
  factsOf: (state: DraftState) => readonly DraftFact[],
): Promise<Attempt | null> {
  const { id, mailboxId, state: before } = loaded;
  const written = await retryAppend(async (attempt) => {
    lease.assertHeld();
    const { state, revision } = attempt === 1 ? loaded : await loadAggregate(ports.events, draft, id);
    const isSame = state.status === before.status && state.current?.version === before.current?.version;
    const facts = isSame ? factsOf(state) : [];
    if (facts.length === 0) return 'changed';
    const occurredAt = ports.clock.now();
    return await appendDecided(ports, author, draft, { id, state, revision, facts, occurredAt });
  });
  if (written === 'changed') return null;
  const { state, appended } = written;
  if (state.send === null) throw new Error('an attempt without a frozen message');
  return { draftId: id, mailboxId, lease, state, send: state.send, revision: appended.revision };
}

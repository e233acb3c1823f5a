/**
 * A send that people decide: the draft is frozen first, then the operation's first append requests the
 * approval.
 */
import { createHash } from 'node:crypto';
import type { Context } from '../kernel/capability.ts';
import { loadAggregate } from '../kernel/decide-and-append.ts';
import { type HeldLease, LeaseLost } from '../kernel/hold-lease.ts';
import { keyInProgress } from '../kernel/idempotency.ts';
import { canonicalJson } from '../values/canonical-json.ts';
import { GatewayError } from '../values/errors.ts';
import type { Address } from '../mail/message.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import type { ApprovalTerms } from '../operations/approval-events.ts';
import type { SendManifest } from '../operations/manifest.ts';
import { approvalIdOf, type OperationReply } from '../operations/operation.ts';
import { requestApproval } from '../operations/request-approval.ts';
import type { PolicyDecision } from '../policy/decide-policy.ts';
import type { ComposedDraft } from '../drafts/compose-draft.ts';
import { isFrozenFor } from '../drafts/decide-draft.ts';
import { draft } from '../drafts/draft.ts';
import type { DraftBody } from '../drafts/draft-body.ts';
import { draftPayload } from '../drafts/draft-payload.ts';
import { wireAddress } from '../drafts/mail-address.ts';
import {
  type DraftAtRevision,
  freezeForApproval,
  freezeMessage,
  type FrozenMessage,
  type PreparedMessage,
} from './freeze-draft.ts';
import { replayFirst, replaySend } from './send-reply.ts';
import { warningsAtRequest } from './send-warnings.ts';
import { changedMeanwhile, type SendRequest } from './submit-send.ts';

/** A send that nothing forbids and that needs an approval. */
export interface AskedSend {
  readonly request: SendRequest;
  readonly operationId: string;
  readonly loaded: DraftAtRevision;
  readonly mailbox: MailboxEntry;
  readonly policy: PolicyDecision;
  readonly terms: ApprovalTerms;
  readonly lease: HeldLease;
  readonly message: Promise<PreparedMessage>;
}

/**
 * Freezes the message and requests its approval. After a crash between the two appends, a repeat of the
 * request freezes it again; without a repeat the draft is released. Throws `version_conflict`, `draft_locked`
 * and `approval_pending` when the draft changed meanwhile, and what freezing throws.
 */
export async function requestSend(context: Context, asked: AskedSend): Promise<OperationReply> {
  try {
    return await freezeAndAsk(context, asked);
  } catch (error) {
    // The lease ran out, so another process may have resumed the send.
    if (error instanceof LeaseLost) throw keyInProgress(1);
    throw error;
  }
}

async function freezeAndAsk(context: Context, asked: AskedSend): Promise<OperationReply> {
  const { ports, author } = context;
  const { operationId, loaded, mailbox, lease } = asked;
  const { id: draftId, state: before } = loaded;
  const message = await freezeMessage(ports, { ...asked, draftId, state: before });
  const frozen = { ...message.frozen, approval_id: approvalIdOf(operationId) };
  const of = { mailboxId: mailbox.id, draftId };
  const manifest = buildSendManifest(ports.ids.newNonce(), of, message);
  // Everything that can be refused runs before the draft is frozen.
  const warnings = await warningsAtRequest(ports, mailbox, manifest, message);
  const state = await freezeForApproval(ports, author, asked, frozen);
  if (state === null) {
    await ports.content.erase([frozen.mime_id]);
    // The request that came first may be this one, sent twice.
    const earlier = await replaySend(context, operationId);
    if (earlier !== null) return earlier;
    throw await refusalOfChanged(context, draftId);
  }
  if (isFrozenFor(before, operationId)) await ports.content.erase([before.send?.frozen.mime_id ?? '']);
  lease.assertHeld();
  const reply = await requestApproval(context, {
    operationId,
    submitted: submittedOf(asked),
    policy: asked.policy,
    terms: asked.terms,
    manifest,
    warnings,
    action: 'send_draft',
    cardinality: null,
    supersedes: state.supersededApproval,
  });
  if (reply === null) return await replayFirst(context, operationId);
  return { ...reply, draft: await draftPayload(ports, draftId, state) };
}

const submittedOf = ({ request: { capability, mode, reason }, loaded: { mailboxId } }: AskedSend) => ({
  mailboxId,
  capability,
  mode,
  reason,
  targets: [],
});

/** Nothing was written for this request, so its key stays free. */
async function refusalOfChanged({ ports }: Context, draftId: string): Promise<GatewayError> {
  const { state } = await loadAggregate(ports.events, draft, draftId);
  return state.status === 'in_review'
    ? new GatewayError('approval_pending', 'Another request for the approval of this draft came first.')
    : changedMeanwhile(state.status);
}

/** Everything of the frozen message that a person approves. `nonce`: 128 random bits in hex (`Ids.newNonce`). */
export function buildSendManifest(
  nonce: string,
  { mailboxId, draftId }: { readonly mailboxId: string; readonly draftId: string },
  { frozen, smtp, composed, read }: FrozenMessage,
): SendManifest {
  return {
    kind: 'send_draft',
    nonce,
    operation_id: frozen.operation_id,
    mailbox_id: mailboxId,
    draft_id: draftId,
    draft_version: frozen.version,
    envelope: { from: smtp.from, to: [...smtp.to] },
    headers: headersOf(composed),
    body_sha256: bodyHash(composed.message),
    attachments: composed.attachments.map(({ filename, content_type, sniffed_type }, index) => ({
      filename: filename?.toWellFormed() ?? null,
      content_type,
      ...(sniffed_type == null ? {} : { sniffed_type }),
      size: read[index]?.size ?? 0,
      sha256: read[index]?.sha256 ?? '',
    })),
    mime_sha256: frozen.mime_sha256,
    mime_size: frozen.mime_size,
  };
}

function headersOf({ message, envelope }: ComposedDraft): SendManifest['headers'] {
  return {
    from: plainAddress(message.from),
    to: message.to.map(plainAddress),
    cc: message.cc.map(plainAddress),
    // Bcc is not in the message; only the envelope holds it.
    bcc: envelope.bcc.map(({ name, email }) => plainAddress({ name, email: wireAddress(email) ?? email })),
    reply_to: message.replyTo.map(plainAddress),
    subject: message.subject.toWellFormed(),
    message_id: message.messageId,
    in_reply_to: message.inReplyTo?.toWellFormed() ?? null,
    references: message.references.map((reference) => reference.toWellFormed()),
    other: message.headers.map(({ name, value }) => ({ name, value: value.toWellFormed() })),
  };
}

const plainAddress = ({ name, email }: Address): { name: string | null; email: string } => ({
  name: name?.toWellFormed() ?? null,
  email: email.toWellFormed(),
});

/** SHA-256 of both parts of a body, in hex, as in `SendManifest.body_sha256`. */
export const bodyHash = ({ html, text }: Pick<DraftBody, 'html' | 'text'>): string =>
  createHash('sha256').update(canonicalJson({ html, text })).digest('hex');

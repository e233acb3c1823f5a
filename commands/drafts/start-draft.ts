/** Starts drafts. start_draft: a new message, or a forward of one; reply_to_thread: a reply to a message. */
import { Draft, draftETag, type DraftKind, type SkippedRecipient } from '../operations/draft-shape.ts';
import { type Context, defineCapability } from '../kernel/capability.ts';
import { decideAndAppend } from '../kernel/decide-and-append.ts';
import type { Scope } from '../values/scopes.ts';
import { sealJson } from '../kernel/sealed-json.ts';
import { startDraft as decideStart } from './decide-draft.ts';
import { type Admit, admittedAs, loadDraft, mailboxFor } from './load-draft.ts';
import { draft } from './draft.ts';
import { nameAttachments, type NamedAttachments } from './draft-attachments.ts';
import { type AttachmentInput, ReplyInput, StartDraftInput } from './draft-input.ts';
import { draftPayload } from './draft-payload.ts';
import { EMPTY_BODY, renderBody, withAppendix } from './draft-body.ts';
import {
  prefixed,
  quotedHistory,
  readForward,
  readSource,
  replyRecipients,
  type SourceMessage,
  threadingOf,
} from './source-message.ts';
import {
  checkHeaders,
  checkRecipients,
  contentHashOf,
  fieldsOf,
  storeVersion,
  type VersionParts,
} from './write-version.ts';
import { GatewayError } from '../values/errors.ts';
import { addressOf, sendable } from './mail-address.ts';

/** Received attachments are read with the caller's rights. */
export const scopesForAttachments = (inputs: readonly AttachmentInput[] | undefined): readonly Scope[] =>
  inputs?.some((input) => 'id' in input && input.id.startsWith('att_')) ? ['attachments:read'] : [];

export const scopesToStart = ({
  forward_of,
  attachments,
}: Pick<StartDraftInput, 'forward_of' | 'attachments'>): readonly Scope[] => [
  'drafts:write',
  ...(forward_of === undefined
    ? scopesForAttachments(attachments)
    : (['messages:body', 'attachments:read'] as const)),
];

/** Starts a draft. Throws `not_found`, `insufficient_scope`, `invalid_request`, `payload_too_large`, `message_stale`. */
export async function startDraft(context: Context, input: StartDraftInput, admit: Admit): Promise<Draft> {
  const { mailbox, access } = mailboxFor(context, input.mailbox_id, ['drafts:write']);
  checkHeaders(context, input.headers);
  const forward =
    input.forward_of === undefined ? null : await readForward(context, mailbox, access, input.forward_of);
  const source = forward?.source ?? null;
  const subject = input.subject ?? subjectOf(source);
  const fields = fieldsOf(mailbox, { ...input, subject });
  checkRecipients(fields);
  const own = (await renderBody(context.ports.markup, input)) ?? EMPTY_BODY;
  const on = { mailbox, access, draftId: null, present: [] };
  const named = [...(input.attachments ?? []), ...(forward?.attachments ?? [])];
  const attachments: NamedAttachments = await nameAttachments(context, on, named);
  return await writeStart(context, mailbox.id, admit, {
    kind: source ? 'forward' : 'new',
    source,
    threading: { inReplyTo: null, references: source ? threadingOf(source).references : [] },
    parts: { fields, body: forward ? withAppendix(own, forward.below) : own, attachments },
  });
}

const subjectOf = (forwarded: SourceMessage | null): string =>
  forwarded ? prefixed('Fwd', forwarded.message.subject) : '';

interface Start {
  readonly kind: DraftKind;
  readonly source: SourceMessage | null;
  readonly threading: { readonly inReplyTo: string | null; readonly references: readonly string[] };
  readonly parts: VersionParts;
}

/**
 * Takes the id, stores what the first version names and appends it. The hash given to `admit` is salted with
 * the mailbox, that of the draft with its id, which is chosen only then.
 */
async function writeStart(
  context: Context,
  mailboxId: string,
  admit: Admit,
  { kind, source, threading, parts }: Start,
): Promise<Draft> {
  const { ports, author, writer } = context;
  const isReply = kind === 'reply' || kind === 'reply_all';
  const action = isReply ? 'draft_reply' : 'draft_create';
  const contentHash = contentHashOf(ports.ids, mailboxId, parts);
  const draftId = await admit({ mailboxId, action, contentHash });
  const first = await storeVersion(context, { mailboxId, draftId }, parts);
  const { inReplyTo, references } = threading;
  const started = {
    mailbox_id: mailboxId,
    kind,
    source_message_id: source?.id ?? null,
    threading:
      inReplyTo === null && references.length === 0
        ? null
        : await sealJson(ports.personal, mailboxId, { in_reply_to: inReplyTo, references }),
  };
  const { state, position } = await decideAndAppend(writer, author, draft, {
    id: draftId,
    decide: (before) => decideStart(before, started, first),
  });
  context.notePosition(position);
  return await draftPayload(ports, draftId, state);
}

/** The draft of a key that was used before; null when it was never made. */
export async function startedBefore(context: Context, draftId: string): Promise<Draft | null> {
  const stored = await context.ports.events.readStream(`draft-${draftId}`);
  if (stored.length === 0) return null;
  return await draftPayload(context.ports, draftId, (await loadDraft(context, draftId, [])).state);
}

/** A start of a draft: a repeated key is answered with the draft that the first request started. */
const startedOnce = {
  kind: 'claim',
  required: true,
  replay: (id: string, _: unknown, context: Context) => startedBefore(context, id),
} as const;

export const startDraftCapability = defineCapability<StartDraftInput, Draft>({
  name: 'start_draft',
  title: 'Start a draft',
  summary: 'Starts a draft: a new message, or a forward of one.',
  description:
    'Start a draft in a mailbox; nothing is sent. Give the body as one of text, html and markdown. forward_of takes over ' +
    'the text and attachments of a message. To answer a message use reply_to_thread. The answer is the draft with its id ' +
    'and version; change it with patch_draft, send it with send_draft or wants_to_send_draft. Recipients are 100 at most.',
  effect: 'write',
  access: { any: ['drafts:write'], mailbox: ({ mailbox_id }) => mailbox_id, needs: scopesToStart },
  rest: {
    method: 'post',
    path: '/mailboxes/:mailbox_id/start_draft',
    status: 201,
    location: ({ id }) => `/drafts/${id}`,
  },
  tool: {
    surface: 'granular',
    hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  },
  idempotency: startedOnce,
  input: StartDraftInput,
  output: Draft,
  etag: draftETag,
  handle: (input, context) => startDraft(context, input, admittedAs(context, 'drf')),
});

export const scopesToReply = ({ attachments }: Pick<ReplyInput, 'attachments'>): readonly Scope[] => [
  'drafts:write',
  ...scopesForAttachments(attachments),
];

/**
 * Starts a reply. Addresses it cannot go to are listed in `skipped_recipients`. The message's text is quoted
 * for a caller who may read bodies. Throws `not_found`, `insufficient_scope`, `invalid_request`,
 * `payload_too_large`, `message_stale`.
 */
export async function replyToThread(context: Context, input: ReplyInput, admit: Admit): Promise<Draft> {
  const { mailbox, access } = mailboxFor(context, input.mailbox_id, ['drafts:write']);
  const source = await readSource(context, mailbox, access, input.message_id);
  const all = input.reply_all ?? false;
  const { to, cc, skipped } = replyRecipients(source, mailbox.email, all);
  const added = sendable((input.to_add ?? []).map(addressOf), to);
  const isAdded = new Set(added.map(({ email }) => email.toLowerCase()));
  const fields = {
    from: null,
    to: [...to, ...added],
    cc: cc.filter(({ email }) => !isAdded.has(email.toLowerCase())),
    bcc: [],
    reply_to: [],
    subject: prefixed('Re', source.message.subject),
    headers: {},
    ...(skipped.length > 0 ? { skipped_recipients: [...skipped] } : {}),
  };
  if (to.length + cc.length + added.length === 0) throw noRecipient(skipped);
  checkRecipients(fields);
  const on = { mailbox, access, draftId: null, present: [] };
  const attachments = await nameAttachments(context, on, input.attachments ?? []);
  const own = (await renderBody(context.ports.markup, input)) ?? EMPTY_BODY;
  const history = quotedHistory(source);
  return await writeStart(context, mailbox.id, admit, {
    kind: all ? 'reply_all' : 'reply',
    source,
    threading: threadingOf(source),
    parts: { fields, body: history ? withAppendix(own, history) : own, attachments },
  });
}

const noRecipient = (skipped: readonly SkippedRecipient[]): GatewayError =>
  new GatewayError(
    'invalid_request',
    'The message has no address that a reply can go to; add recipients with to_add.',
    { details: { skipped_recipients: skipped } },
  );

export const replyToThreadCapability = defineCapability<ReplyInput, Draft>({
  name: 'reply_to_thread',
  title: 'Reply to a thread',
  summary: 'Starts an answer to a message.',
  description:
    'Start an answer to a message, to its sender or with reply_all to everyone; nothing is sent. Recipients, subject, ' +
    'threading and the quoted text come from the message; to_add adds recipients. Write only your own words, as one of ' +
    'text, html and markdown. The answer is the draft; read what it says with get_draft and include_content.',
  effect: 'write',
  access: { any: ['drafts:write'], mailbox: ({ mailbox_id }) => mailbox_id, needs: scopesToReply },
  rest: {
    method: 'post',
    path: '/mailboxes/:mailbox_id/reply_to_thread',
    status: 201,
    location: ({ id }) => `/drafts/${id}`,
  },
  tool: {
    surface: 'granular',
    hints: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  },
  idempotency: startedOnce,
  input: ReplyInput,
  output: Draft,
  etag: draftETag,
  handle: (input, context) => replyToThread(context, input, admittedAs(context, 'drf')),
});

/** start_draft: a new message, or a forward of one. */
import { Draft, draftETag, type DraftKind } from '../operations/draft-shape.ts';
import { type Context, defineCapability } from '../kernel/capability.ts';
import { decideAndAppend } from '../kernel/decide-and-append.ts';
import type { Scope } from '../values/scopes.ts';
import { sealJson } from '../kernel/sealed-json.ts';
import { startDraft as decideStart } from './decide-draft.ts';
import { type Admit, admittedAs, loadDraft, mailboxFor } from './load-draft.ts';
import { draft } from './draft.ts';
import { nameAttachments, type NamedAttachments } from './draft-attachments.ts';
import { type AttachmentInput, StartDraftInput } from './draft-input.ts';
import { draftPayload } from './draft-payload.ts';
import { EMPTY_BODY, renderBody, withAppendix } from './render-body.ts';
import { readForward } from './read-forward.ts';
import { prefixed, type SourceMessage, threadingOf } from './source-message.ts';
import {
  checkHeaders,
  checkRecipients,
  contentHashOf,
  fieldsOf,
  storeVersion,
  type VersionParts,
} from './write-version.ts';

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

export interface Start {
  readonly kind: DraftKind;
  readonly source: SourceMessage | null;
  readonly threading: { readonly inReplyTo: string | null; readonly references: readonly string[] };
  readonly parts: VersionParts;
}

/**
 * Takes the id, stores what the first version names and appends it. The hash given to `admit` is salted with
 * the mailbox, that of the draft with its id, which is chosen only then.
 */
export async function writeStart(
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
  idempotency: {
    kind: 'claim',
    required: true,
    replay: (targetId, _, context) => startedBefore(context, targetId),
  },
  input: StartDraftInput,
  output: Draft,
  etag: draftETag,
  handle: (input, context) => startDraft(context, input, admittedAs(context, 'drf')),
});

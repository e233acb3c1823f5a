/** edit_draft replaces the content of a draft, patch_draft changes parts of it. */
import { Draft, draftETag } from '../operations/draft-shape.ts';
import { type Context, defineCapability } from '../kernel/capability.ts';
import { decideAndAppend, streamOf } from '../kernel/decide-and-append.ts';
import { GatewayError } from '../values/errors.ts';
import { assertEditable, assertVersion, editDraft as decideEdit } from './decide-draft.ts';
import { type Admit, admittedAs, expectedOf, loadDraft, type LoadedDraft } from './load-draft.ts';
import { draft } from './draft.ts';
import { type DraftBody, EMPTY_BODY, loadBody, renderBody } from './draft-body.ts';
import { checkList, nameAttachments, type NamedAttachments } from './draft-attachments.ts';
import { attachmentsOf, type DraftEnvelope, openEnvelope } from './draft-envelope.ts';
import { type BodyInput, EditDraftInput, PatchDraftInput } from './draft-input.ts';
import { draftPayload } from './draft-payload.ts';
import { endReviewOf } from './end-review.ts';
import { type AddressInput, addressOf } from './mail-address.ts';
import {
  checkHeaders,
  checkRecipients,
  contentHashOf,
  type EnvelopeFields,
  fieldsOf,
  senderOf,
  storeVersion,
  type VersionParts,
} from './write-version.ts';
import { catalogueOf, type PastFact, readEvent } from '../values/event.ts';
import { DraftDiscarded, DraftEdited } from './draft-events.ts';

/**
 * Replaces recipients, subject, body and attachments. Throws `not_found`, `insufficient_scope`, `draft_locked`,
 * `version_conflict`, `invalid_request`, `payload_too_large`, `message_stale`.
 */
export const editDraft = (context: Context, input: EditDraftInput, admit: Admit): Promise<Draft> =>
  writeEdit(context, input, admit, async ({ loaded, present }) => {
    const { mailbox, access, id: draftId } = loaded;
    const on = { mailbox, access, draftId, present: attachmentsOf(present.version, present.envelope) };
    const attachments = await nameAttachments(context, on, input.attachments);
    return {
      fields: fieldsOf(mailbox, input),
      body: (await renderBody(context.ports.markup, input)) ?? EMPTY_BODY,
      attachments,
    };
  });

/** Changes the named fields: absent = keep, null = clear. Throws like `editDraft`. */
export const patchDraft = (context: Context, input: PatchDraftInput, admit: Admit): Promise<Draft> =>
  writeEdit(context, input, admit, async ({ loaded, present }) => ({
    fields: patchedFields(loaded, present.envelope, input),
    body: await patchedBody(context, present.version.content_id, input),
    attachments: await patchedAttachments(context, loaded, present, input.attachments),
  }));

interface Present {
  readonly version: NonNullable<LoadedDraft['state']['current']>;
  readonly envelope: DraftEnvelope;
}

interface Editing {
  readonly loaded: LoadedDraft;
  readonly present: Present;
}

/**
 * Refuses what the loaded state rules out before the key is claimed. The append refuses what happened since.
 */
async function writeEdit(
  context: Context,
  input: {
    readonly draft_id: string;
    readonly expected_version?: number | undefined;
    readonly headers?: Readonly<Record<string, string>> | null | undefined;
  },
  admit: Admit,
  change: (editing: Editing) => Promise<VersionParts>,
): Promise<Draft> {
  const { ports, author, writer } = context;
  const loaded = await loadDraft(context, input.draft_id, ['drafts:write']);
  const { id, state, mailbox } = loaded;
  checkHeaders(context, input.headers);
  const expected = expectedOf(context, input.expected_version);
  assertEditable(state);
  const version = state.current;
  const envelope = version && (await openEnvelope(ports.personal, version));
  if (version === null || envelope === null) throw contentErased();
  const parts = await change({ loaded, present: { version, envelope } });
  checkRecipients(parts.fields);
  const contentHash = contentHashOf(ports.ids, id, parts);
  if (version.content_hash !== contentHash) assertVersion(state, expected);
  const claimId = await admit({ mailboxId: mailbox.id, action: 'draft_edit', contentHash });
  const next = await storeVersion(context, { mailboxId: mailbox.id, draftId: id }, parts);
  let before = state;
  const { state: after, position } = await decideAndAppend(writer, author, draft, {
    id,
    decide: (now) => {
      before = now;
      // The fields that were not named come from this version, so the change is based on it, whatever the
      // caller expected.
      return decideEdit(now, next, expected ?? { version: version.version }, claimId);
    },
  });
  await endReviewOf(ports, author, { before, after });
  context.notePosition(position);
  return await draftPayload(ports, id, after);
}

const contentErased = (): GatewayError =>
  new GatewayError('conflict', 'The content of this draft was erased; start a new one.');

const addressesOr = (
  before: DraftEnvelope['to'],
  input: readonly AddressInput[] | null | undefined,
): DraftEnvelope['to'] => (input === undefined ? before : (input ?? []).map(addressOf));

function patchedFields(
  { mailbox }: LoadedDraft,
  before: DraftEnvelope,
  input: PatchDraftInput,
): EnvelopeFields {
  return {
    from: input.from === undefined ? before.from : senderOf(mailbox, input.from),
    to: addressesOr(before.to, input.to),
    cc: addressesOr(before.cc, input.cc),
    bcc: addressesOr(before.bcc, input.bcc),
    reply_to: addressesOr(before.reply_to, input.reply_to),
    subject: input.subject === undefined ? before.subject : (input.subject ?? ''),
    headers: input.headers === undefined ? before.headers : (input.headers ?? {}),
    ...(before.skipped_recipients ? { skipped_recipients: before.skipped_recipients } : {}),
  };
}

async function patchedBody({ ports }: Context, contentId: string, input: BodyInput): Promise<DraftBody> {
  const rendered = await renderBody(ports.markup, input);
  if (rendered !== null) return rendered;
  if (input.text === null) return EMPTY_BODY;
  const before = await loadBody(ports.content, contentId);
  if (before === null) throw contentErased();
  return input.html === null || input.markdown === null ? { ...before, html: null, markdown: null } : before;
}

async function patchedAttachments(
  context: Context,
  { id: draftId, mailbox, access }: LoadedDraft,
  { version, envelope }: Present,
  input: PatchDraftInput['attachments'],
): Promise<NamedAttachments> {
  const present = attachmentsOf(version, envelope);
  const { add = [], remove = present.map(({ id }) => id) } = input === null ? {} : { remove: [], ...input };
  const kept = present.filter(({ id }) => !remove.includes(id));
  const added = await nameAttachments(context, { mailbox, access, draftId, present: [] }, add);
  return { ...added, attachments: checkList([...kept, ...added.attachments]) };
}

const CHANGES = catalogueOf([DraftEdited, DraftDiscarded]);
type Change = typeof DraftEdited | typeof DraftDiscarded;

/**
 * Returns the draft as it is now; null when the claim with this id is not settled and has changed nothing, so
 * the change is still to be made. A request that was interrupted before it settled its claim left the id in
 * its event. Throws `not_found`.
 */
export async function changedBefore(
  context: Context,
  draftId: string,
  { id: claimId, settled }: { readonly id: string; readonly settled: boolean },
): Promise<Draft | null> {
  const { id, state } = await loadDraft(context, draftId, []);
  if (!settled && !(await holdsChange(context, id, claimId))) return null;
  return await draftPayload(context.ports, id, state);
}

async function holdsChange({ ports }: Context, draftId: string, claimId: string): Promise<boolean> {
  const stored = await ports.events.readStream(streamOf(draft, draftId));
  return stored.some((event) => {
    const fact = readEvent(CHANGES, event) as PastFact<Change> | null;
    return fact?.data.claim_id === claimId;
  });
}

/** A change of a draft: a repeated key is answered with the draft as it is now. */
export const changedOnce = {
  kind: 'claim',
  replay: (id: string, { draft_id }: { readonly draft_id: string }, context: Context, settled: boolean) =>
    changedBefore(context, draft_id, { id, settled }),
} as const;

const hints = { readOnly: false, destructive: false, idempotent: true, openWorld: false };

export const editDraftCapability = defineCapability<EditDraftInput, Draft>({
  name: 'edit_draft',
  title: 'Edit a draft',
  summary: 'Replaces recipients, subject, body and attachments of a draft.',
  description:
    'Replace everything a draft says; what is not named is gone, quoted text included. To change single fields use ' +
    'patch_draft. With expected_version it is refused if the draft changed meanwhile. A draft under review becomes open again.',
  effect: 'write',
  access: { any: ['drafts:write'] },
  rest: { method: 'post', path: '/drafts/:draft_id/edit_draft' },
  tool: { surface: 'granular', hints: { ...hints, destructive: true } },
  idempotency: changedOnce,
  input: EditDraftInput,
  output: Draft,
  etag: draftETag,
  ifMatch: true,
  handle: (input, context) => editDraft(context, input, admittedAs(context, 'req')),
});

export const patchDraftCapability = defineCapability<PatchDraftInput, Draft>({
  name: 'patch_draft',
  title: 'Patch a draft',
  summary: 'Changes single fields of a draft.',
  description:
    'Change only the fields you name; null clears one. A body given as text, html or markdown replaces the whole body. ' +
    'attachments takes {"add": […], "remove": [ids]}. With expected_version it is refused if the draft changed meanwhile.',
  effect: 'write',
  access: { any: ['drafts:write'] },
  rest: { method: 'post', path: '/drafts/:draft_id/patch_draft' },
  tool: { surface: 'granular', hints },
  idempotency: changedOnce,
  input: PatchDraftInput,
  output: Draft,
  etag: draftETag,
  ifMatch: true,
  handle: (input, context) => patchDraft(context, input, admittedAs(context, 'req')),
});

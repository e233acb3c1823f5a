/** Reads drafts: one, its content, and the list. */
import { z } from 'zod';
import { Draft, DRAFT_STATUSES, DraftContent, draftETag } from '../../commands/operations/draft-shape.ts';
import { type Context, defineCapability } from '../../commands/kernel/capability.ts';
import { GatewayError, notFound } from '../../commands/values/errors.ts';
import { draft, type DraftState } from '../../commands/drafts/draft.ts';
import { loadBody } from '../../commands/drafts/draft-body.ts';
import { attachmentsOf, openEnvelope } from '../../commands/drafts/draft-envelope.ts';
import { DraftId } from '../../commands/drafts/draft-input.ts';
import { attachmentPayload, draftPayload } from '../../commands/drafts/draft-payload.ts';
import { assertScopes, liesWithin, loadDraft } from '../../commands/drafts/load-draft.ts';
import { listDraftStates } from '../../projections/drafts.ts';
import { AsOfField, loadAsOf, momentAsOf } from '../paging/as-of.ts';
import { collectionOf, pageFields, pageOfRows } from '../paging/page.ts';

export const DraftStatus = z.enum(DRAFT_STATUSES);

const OneInput = z.strictObject({ draft_id: DraftId, as_of: AsOfField });
type OneInput = z.output<typeof OneInput>;

/** The draft now or at an earlier moment. Throws `not_found`, also for a moment before it; `insufficient_scope`. */
async function stateOf(context: Context, { draft_id, as_of }: OneInput): Promise<DraftState> {
  const { ports } = context;
  const moment = momentAsOf(ports.clock, as_of);
  const { state } = await loadDraft(context, draft_id, ['drafts:read']);
  const then = moment === null ? state : await loadAsOf(ports.events, draft, draft_id, moment);
  if (then === null) throw notFound('draft');
  return then;
}

/** A draft contains private text, for a reply or a forward also received text, so its read is recorded. */
async function contentOf(
  context: Context,
  draftId: string,
  { current, mailboxId, sourceMessageId }: DraftState,
): Promise<DraftContent> {
  if (current === null || mailboxId === null) throw notFound('draft');
  const { ports } = context;
  const messageIds = sourceMessageId === null ? [] : [sourceMessageId];
  await context.recordRead({ mailboxId, messageIds, what: 'draft', draftIds: [draftId] });
  const envelope = await openEnvelope(ports.personal, current);
  const body = await loadBody(ports.content, current.content_id);
  return {
    text: body?.text ?? null,
    html: body?.html ?? null,
    markdown: body?.markdown ?? null,
    attachments: attachmentsOf(current, envelope).map(attachmentPayload),
  };
}

const DraftPage = collectionOf(Draft);
type DraftPage = z.output<typeof DraftPage>;

const listFields = {
  status: DraftStatus.optional(),
  mailbox_id: z.string().min(1).max(64).optional().describe('Only drafts of this mailbox.'),
  ...pageFields,
};
const ListInput = z.strictObject(listFields);
type ListInput = z.output<typeof ListInput>;

/** Mailboxes whose drafts the caller may read. Throws `not_found`, `insufficient_scope` for a named one. */
function readableMailboxes({ caller }: Context, mailboxId: string | undefined): readonly string[] {
  if (mailboxId === undefined) {
    return [...caller.mailboxes].flatMap(([id, { scopes }]) => (scopes.has('drafts:read') ? [id] : []));
  }
  const access = caller.mailboxes.get(mailboxId);
  if (!access) throw notFound('mailbox');
  assertScopes(access, ['drafts:read']);
  return [mailboxId];
}

function isWithinReach({ caller, ports }: Context, state: DraftState): boolean {
  const mailbox = ports.directory.state.mailboxes.get(state.mailboxId ?? '');
  const access = caller.mailboxes.get(state.mailboxId ?? '');
  return (
    mailbox !== undefined && access !== undefined && liesWithin(ports.locators, { mailbox, access }, state)
  );
}

async function listPage(context: Context, input: ListInput): Promise<DraftPage> {
  const { ports } = context;
  const { status = null, mailbox_id, limit, cursor } = input;
  const mailboxIds = readableMailboxes(context, mailbox_id);
  const binding = { route: 'drafts', query: { status, mailbox_id } };
  return await pageOfRows(
    context,
    binding,
    { limit, cursor },
    {
      query: (before, most) => listDraftStates(ports.sql, { mailboxIds, status, before, limit: most }),
      isShown: ({ state }) => isWithinReach(context, state),
      describe: ({ id, state }) => draftPayload(ports, id, state),
    },
  );
}

export const listDrafts = defineCapability<ListInput, DraftPage>({
  name: 'list_drafts',
  title: 'List drafts',
  summary: 'Drafts of every mailbox the caller may read drafts of, the newest first.',
  description: 'Drafts the newest first, sent and discarded ones too; narrowed by status and mailbox_id.',
  effect: 'read',
  access: { any: ['drafts:read'] },
  rest: { method: 'get', path: '/drafts' },
  tool: null,
  idempotency: { kind: 'none' },
  input: ListInput,
  output: DraftPage,
  handle: (input, context) => listPage(context, input),
});

export const readDraft = defineCapability<OneInput, Draft>({
  name: 'read_draft',
  title: 'Read a draft',
  summary: 'One draft: recipients, subject, attachments and status.',
  description: 'One draft without its body; as_of shows it as it was.',
  effect: 'read',
  access: { any: ['drafts:read'] },
  rest: { method: 'get', path: '/drafts/:draft_id' },
  tool: null,
  idempotency: { kind: 'none' },
  input: OneInput,
  output: Draft,
  etag: draftETag,
  handle: async (input, context) => {
    const state = await stateOf(context, input);
    return await draftPayload(context.ports, input.draft_id, state);
  },
});

export const readDraftContent = defineCapability<OneInput, DraftContent>({
  name: 'read_draft_content',
  title: 'Read what a draft says',
  summary: 'The body of a draft as it will be sent, and its attachments.',
  description:
    'text and html are the parts as they will be sent; markdown is what was written, when it was Markdown.',
  effect: 'read',
  access: { any: ['drafts:read'] },
  rest: { method: 'get', path: '/drafts/:draft_id/content' },
  tool: null,
  idempotency: { kind: 'none' },
  input: OneInput,
  output: DraftContent,
  handle: async (input, context) => contentOf(context, input.draft_id, await stateOf(context, input)),
});

const ToolInput = z.strictObject({
  draft_id: DraftId.optional().describe('Without it the drafts are listed.'),
  include_content: z.boolean().optional().describe('With draft_id: its body and attachments as well.'),
  ...listFields,
});
type ToolInput = z.output<typeof ToolInput>;

/** One flat object, as tools require: the fields of a draft, or those of a page. */
const ToolOutput = Draft.partial().extend({ content: DraftContent.optional(), ...DraftPage.partial().shape });
type ToolOutput = z.output<typeof ToolOutput>;

export const DraftItem = Draft.extend({ content: DraftContent.optional() });

interface DraftsWanted extends ListInput {
  readonly mailbox_id: string;
  readonly draft_id: string | undefined;
  readonly include_content: boolean | undefined;
}

/** Drafts of one mailbox as a collection: a page, or the named one. Throws `not_found`, `invalid_request`. */
export async function readDrafts(
  context: Context,
  wanted: DraftsWanted,
): Promise<z.output<typeof DraftPage>> {
  const { mailbox_id, ...rest } = wanted;
  const isOne = wanted.draft_id !== undefined;
  const found = await oneOrMany(isOne ? rest : wanted, context);
  if (found.items !== undefined && found.page !== undefined) return { items: found.items, page: found.page };
  if (found.mailbox_id !== mailbox_id) throw notFound('draft');
  const as_of = context.ports.clock.now().toISOString();
  return { items: [DraftItem.parse(found)], page: { next_cursor: null, limit: 1, as_of } };
}

async function oneOrMany(input: ToolInput, context: Context): Promise<ToolOutput> {
  const { draft_id, include_content: withContent = false, ...list } = input;
  if (draft_id === undefined) {
    if (withContent) throw misplaced('include_content', 'Content is read of one draft: name draft_id.');
    return await listPage(context, list);
  }
  const [extra] = Object.keys(list).filter((field) => list[field as keyof typeof list] !== undefined);
  if (extra !== undefined) throw misplaced(extra, 'This narrows the list; leave it out with draft_id.');
  const loaded = await loadDraft(context, draft_id, ['drafts:read']);
  const shown = await draftPayload(context.ports, loaded.id, loaded.state);
  return withContent ? { ...shown, content: await contentOf(context, loaded.id, loaded.state) } : shown;
}

const misplaced = (path: string, message: string): GatewayError =>
  new GatewayError('invalid_request', message, { details: { issues: [{ path, code: 'custom', message }] } });

export const getDraft = defineCapability<ToolInput, ToolOutput>({
  name: 'get_draft',
  title: 'Get drafts',
  summary: 'One draft, or the list of drafts.',
  description:
    'With draft_id: one draft, and with include_content what it says. Without: drafts the newest first, narrowed by ' +
    'status and mailbox_id, a page at a time. version is what expected_version of patch_draft and send_draft means.',
  effect: 'read',
  access: { any: ['drafts:read'] },
  rest: null,
  tool: {
    surface: 'granular',
    hints: { readOnly: true, destructive: false, idempotent: true, openWorld: true },
  },
  idempotency: { kind: 'none' },
  input: ToolInput,
  output: ToolOutput,
  handle: oneOrMany,
});

/** discard_draft and DELETE: discards a draft unsent, and erases its stored content. */
import { z } from 'zod';
import { Draft, draftETag } from '../operations/draft-shape.ts';
import { type CapabilityDefinition, type Context, defineCapability } from '../kernel/capability.ts';
import { decideAndAppend, systemAuthor } from '../kernel/decide-and-append.ts';
import { discardDraft as decideDiscard } from './decide-draft.ts';
import { type Admit, admittedAs, expectedOf, loadDraft } from './load-draft.ts';
import { changedOnce } from './edit-draft.ts';
import { draft, type DraftState } from './draft.ts';
import { DiscardDraftInput, DraftId } from './draft-input.ts';
import { draftPayload } from './draft-payload.ts';
import { endReviewOf } from './end-review.ts';
import { assertNotHeld, type Loss } from '../kernel/legal-holds.ts';
import { untilRightsKnown } from '../kernel/rights-known.ts';
import { GatewayError } from '../values/errors.ts';
import type { Ports } from '../ports/ports.ts';

/**
 * Throws `not_found`, `insufficient_scope`, `draft_locked`, `version_conflict`, `legal_hold`. A discarded draft
 * stays discarded.
 */
export async function discardDraft(context: Context, input: DiscardDraftInput, admit: Admit): Promise<Draft> {
  const { ports, author, writer } = context;
  await untilRightsKnown(ports.directory);
  const { id, state, mailbox } = await loadDraft(context, input.draft_id, ['drafts:discard']);
  const expected = expectedOf(context, input.expected_version);
  const decide = (now: DraftState, claimId?: string): ReturnType<typeof decideDiscard> => {
    const facts = decideDiscard(now, 'caller', expected, claimId);
    if (facts.length > 0) assertNotHeld(ports.directory, lossOf(id, now), context.caller);
    return facts;
  };
  decide(state);
  const contentHash = state.current?.content_hash ?? '';
  const claimId = await admit({ mailboxId: mailbox.id, action: 'draft_discard', contentHash });
  let before = state;
  const { state: after, position } = await decideAndAppend(writer, author, draft, {
    id,
    decide: (now) => {
      before = now;
      return decide(now, claimId);
    },
  });
  await endReviewOf(ports, author, { before, after });
  context.notePosition(position);
  // After a crash here, a background pass erases it. A hold placed since then keeps the content.
  await ports.content.eraseDraft(id);
  return await draftPayload(ports, id, after);
}

const lossOf = (draftId: string, { mailboxId, createdBy }: DraftState): Loss => ({
  kind: 'draft',
  draftId,
  mailboxId,
  startedBy: createdBy,
});

const common: Pick<
  CapabilityDefinition<DiscardDraftInput, Draft>,
  'effect' | 'errors' | 'access' | 'idempotency' | 'output' | 'etag' | 'ifMatch' | 'handle'
> = {
  effect: 'write',
  errors: ['legal_hold'],
  access: { any: ['drafts:discard'] },
  idempotency: changedOnce,
  output: Draft,
  etag: draftETag,
  ifMatch: true,
  handle: (input, context) => discardDraft(context, input, admittedAs(context, 'req')),
};

export const discardDraftCapability = defineCapability<DiscardDraftInput, Draft>({
  ...common,
  name: 'discard_draft',
  title: 'Discard a draft',
  summary: 'Throws a draft away unsent.',
  description:
    'Throw a draft away unsent; its content is erased and cannot be brought back. Refused while it is being sent; a send ' +
    'that waits for its next attempt ends with it.',
  rest: { method: 'post', path: '/drafts/:draft_id/discard_draft' },
  tool: {
    surface: 'granular',
    hints: { readOnly: false, destructive: true, idempotent: true, openWorld: false },
  },
  input: DiscardDraftInput,
});

/** A DELETE has no body: the version it is based on is in `If-Match`. */
export const deleteDraftCapability = defineCapability<DiscardDraftInput, Draft>({
  ...common,
  name: 'delete_draft',
  title: 'Delete a draft',
  summary: 'Throws a draft away unsent, as discard_draft does.',
  description: 'The same as discard_draft, without an answer.',
  rest: { method: 'delete', path: '/drafts/:draft_id', status: 204 },
  tool: null,
  input: z.strictObject({ draft_id: DraftId }),
});

interface OrphanedDraft {
  readonly draftId: string;
  readonly orgId: string | null;
}

/**
 * Discards a draft whose mailbox was removed (`contract.md` 4). A draft that is being sent is left to its
 * send. Returns false while a legal hold keeps it.
 */
export async function discardOrphan(ports: Ports, { draftId, orgId }: OrphanedDraft): Promise<boolean> {
  try {
    await decideAndAppend(ports, systemAuthor(ports, orgId), draft, {
      id: draftId,
      decide: (state) => {
        assertNotHeld(ports.directory, lossOf(draftId, state));
        return decideDiscard(state, 'mailbox_removed', null);
      },
    });
    return true;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    if (error.code === 'legal_hold') return false;
    if (error.code !== 'draft_locked') throw error;
    return true;
  }
}

/** The decisions about a draft (`contract.md` 10). Pure. */
import type { DraftStatus } from '../operations/draft-shape.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import type { DraftFact, DraftState } from './draft.ts';
import type { DraftVersion, Release } from './draft-events.ts';

/** A version without its number. */
export type NextVersion = Omit<DraftVersion, 'version'>;

type StartedData = Extract<DraftFact, { readonly type: 'DraftStarted' }>['data'];

/**
 * Returns nothing when the draft was started before: only one request takes the id, and it resumes where it
 * was interrupted.
 */
export const startDraft = (
  state: DraftState,
  started: Omit<StartedData, 'draft'>,
  first: NextVersion,
): readonly DraftFact[] =>
  state.mailboxId === null
    ? [{ type: 'DraftStarted', data: { ...started, draft: { version: 1, ...first } } }]
    : [];

const EDITABLE: ReadonlySet<DraftStatus> = new Set(['open', 'in_review', 'send_failed']);

/** Throws `draft_locked` while the draft is being sent, and once it is sent or discarded. */
export function assertEditable({ status }: DraftState): void {
  if (!EDITABLE.has(status)) throw locked(status);
}

const locked = (status: DraftStatus): GatewayError =>
  new GatewayError('draft_locked', `The draft is ${status.replace('_', ' ')}; it can no longer be changed.`, {
    details: { status },
  });

/** The draft that a change is based on. */
export interface Expected {
  readonly version: number;
  /** Absent = any revision with this version. */
  readonly revision?: number;
}

/**
 * Throws `version_conflict` when the draft is not the one that the caller or the change is based on; null
 * matches every draft.
 */
export function assertVersion({ current, revision }: DraftState, expected: Expected | null): void {
  if (expected === null) return;
  const isSame = expected.version === current?.version;
  if (isSame && (expected.revision === undefined || expected.revision === revision)) return;
  const message = isSame
    ? 'The draft says the same as before, but its status changed since that ETag; read it again.'
    : 'The draft changed since that version; read it again.';
  throw new GatewayError('version_conflict', message, {
    details: { version: current?.version ?? null, revision },
  });
}

/** A change that is already in the draft makes no new version: the same request may come twice. */
export function editDraft(
  state: DraftState,
  next: NextVersion,
  expected: Expected | null,
  claimId?: string,
): readonly DraftFact[] {
  if (state.current === null) throw notFound('draft');
  assertEditable(state);
  if (state.current.content_hash === next.content_hash) return [];
  assertVersion(state, expected);
  const version = { version: state.current.version + 1, ...next };
  return [{ type: 'DraftEdited', data: { draft: version, ...claimedAs(claimId) } }];
}

/**
 * Throws `draft_locked` unless the draft is certainly unsent, as it is while it waits for an attempt. Returns
 * nothing when it is already discarded.
 */
export function discardDraft(
  state: DraftState,
  reason: 'caller' | 'mailbox_removed',
  expected: Expected | null,
  claimId?: string,
): readonly DraftFact[] {
  if (state.current === null) throw notFound('draft');
  if (state.status === 'discarded') return [];
  if (!waitsForAttempt(state)) assertEditable(state);
  assertVersion(state, expected);
  return [{ type: 'DraftDiscarded', data: { reason, ...claimedAs(claimId) } }];
}

/** True while the message is neither sent nor being sent: held back, or put off to a later attempt. */
const waitsForAttempt = ({ status, send }: DraftState): boolean =>
  status === 'sending' && (send?.retryAt ?? send?.commitAt ?? null) !== null;

/**
 * Releases the draft from the operation it is frozen for. Returns nothing when it is not frozen for it, or is
 * being sent.
 */
export const releaseDraft = (state: DraftState, operationId: string, why: Release): readonly DraftFact[] =>
  isFrozenFor(state, operationId)
    ? [{ type: 'DraftReleased', data: { operation_id: operationId, why } }]
    : [];

/** True while the draft is frozen for this operation and waits for its approval. */
export const isFrozenFor = ({ status, send }: DraftState, operationId: string): boolean =>
  status === 'in_review' && send?.frozen.operation_id === operationId;

const claimedAs = (claimId: string | undefined): { readonly claim_id?: string } =>
  claimId === undefined ? {} : { claim_id: claimId };

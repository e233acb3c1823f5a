/** What may happen to a draft (`contract.md` 10). Pure. */
import type { DraftStatus } from '../operations/draft-shape.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import type { DraftFact, DraftState } from './draft.ts';
import type { DraftVersion, Release } from './draft-events.ts';

/** A version before it has its number. */
export type NextVersion = Omit<DraftVersion, 'version'>;

type StartedData = Extract<DraftFact, { readonly type: 'DraftStarted' }>['data'];

/** Nothing when it was started before: the id is taken by one request only, which then goes on where it was cut off. */
export const startDraft = (
  state: DraftState,
  started: Omit<StartedData, 'draft'>,
  first: NextVersion,
): readonly DraftFact[] =>
  state.mailboxId === null
    ? [{ type: 'DraftStarted', data: { ...started, draft: { version: 1, ...first } } }]
    : [];

const EDITABLE: ReadonlySet<DraftStatus> = new Set(['open', 'in_review', 'send_failed']);

/** Throws `draft_locked` while it is sent and once it is sent or discarded. */
export function assertEditable({ status }: DraftState): void {
  if (!EDITABLE.has(status)) throw locked(status);
}

const locked = (status: DraftStatus): GatewayError =>
  new GatewayError('draft_locked', `The draft is ${status.replace('_', ' ')}; it can no longer be changed.`, {
    details: { status },
  });

/** The draft a change rests on. */
export interface Expected {
  readonly version: number;
  /** Absent = whatever happened to it, as long as it says the same. */
  readonly revision?: number;
}

/** Throws `version_conflict` when the caller, or the change itself, rests on another draft; null fits every one. */
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

/** A change that is there already is no new version: the same request may come twice. */
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

/** Throws `draft_locked` unless it is surely unsent; one that waits for an attempt is. Nothing when it is discarded. */
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

/** True while it is neither out nor on its way: held back, or put off to a later attempt. */
const waitsForAttempt = ({ status, send }: DraftState): boolean =>
  status === 'sending' && (send?.retryAt ?? send?.commitAt ?? null) !== null;

/** Lets the draft go from the operation it is frozen for; nothing when it is not, or is being sent. */
export const releaseDraft = (state: DraftState, operationId: string, why: Release): readonly DraftFact[] =>
  isFrozenFor(state, operationId)
    ? [{ type: 'DraftReleased', data: { operation_id: operationId, why } }]
    : [];

/** True while the draft waits, frozen, for what becomes of this operation's approval. */
export const isFrozenFor = ({ status, send }: DraftState, operationId: string): boolean =>
  status === 'in_review' && send?.frozen.operation_id === operationId;

const claimedAs = (claimId: string | undefined): { readonly claim_id?: string } =>
  claimId === undefined ? {} : { claim_id: claimId };

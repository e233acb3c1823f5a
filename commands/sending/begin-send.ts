/** Freezes a draft for one operation and writes the intent to send it: one append, which locks the draft. */
import { appendDecided, type Author, loadAggregate } from '../kernel/decide-and-append.ts';
import type { HeldLease } from '../kernel/hold-lease.ts';
import type { Ports } from '../ports/ports.ts';
import { type ExpectedRevision } from '../ports/event-store.ts';
import { draft, type DraftFact, type DraftState, type Send } from '../drafts/draft.ts';
import { startAttempt } from './decide-send.ts';
import type { Attempt } from './run-attempt.ts';

/** A draft as it was loaded. An append succeeds only at this revision. */
export interface DraftAtRevision {
  readonly id: string;
  readonly mailboxId: string;
  readonly state: DraftState;
  readonly revision: ExpectedRevision;
}

export type FrozenData = Extract<DraftFact, { type: 'DraftFrozen' }>['data'];

/**
 * Freezes the draft and begins an attempt. The frozen message is kept before an event names it. Returns null,
 * with nothing written, when the draft changed since it was loaded or the message was erased with it; the
 * caller then erases the message.
 */
export async function beginSend(
  ports: Ports,
  author: Author,
  loaded: DraftAtRevision,
  { frozen, lease }: { readonly frozen: FrozenData; readonly lease: HeldLease },
): Promise<Attempt | null> {
  const started = startAttempt({ frozen, attempts: 0 }, { ...nowOf(ports), commit: null });
  const begun = await freezeWith(ports, author, loaded, { frozen, then: [started] });
  return begun && { draftId: loaded.id, mailboxId: loaded.mailboxId, lease, ...begun };
}

/** Freezes the draft and holds the message back until `commitAt`. Returns null as `beginSend` does. */
export async function scheduleSend(
  ports: Ports,
  author: Author,
  loaded: DraftAtRevision,
  { frozen, commitAt }: { readonly frozen: FrozenData; readonly commitAt: string },
): Promise<DraftState | null> {
  const data = { operation_id: frozen.operation_id, commit_at: commitAt };
  const begun = await freezeWith(ports, author, loaded, {
    frozen,
    then: [{ type: 'SendScheduled', data }],
  });
  return begun?.state ?? null;
}

/** Freezes the draft for an approval. Returns null as `beginSend` does. */
export const freezeForApproval = async (
  ports: Ports,
  author: Author,
  loaded: DraftAtRevision,
  frozen: FrozenData,
): Promise<DraftState | null> =>
  (await freezeWith(ports, author, loaded, { frozen, then: [] }))?.state ?? null;

/**
 * Begins an attempt with the frozen bytes; `commit` numbers the commit of its approval, if it has one.
 * Returns null, with nothing written, when the draft changed.
 */
export async function beginAgain(
  ports: Ports,
  author: Author,
  loaded: DraftAtRevision,
  { lease, commit }: { readonly lease: HeldLease; readonly commit: number | null },
): Promise<Attempt | null> {
  const { send } = loaded.state;
  if (send === null) return null;
  const begun = await append(ports, author, loaded, [startAttempt(send, { ...nowOf(ports), commit })]);
  return begun && { draftId: loaded.id, mailboxId: loaded.mailboxId, lease, ...begun };
}

/** How often an append is tried: events that leave the version and the status unchanged do not prevent it. */
const MOST_TRIES = 5;

/**
 * Runs `append`, again where only the stream moved on. Returns null when the draft's version or status
 * changed.
 */
export async function asLoaded<Appended>(
  { events }: Pick<Ports, 'events'>,
  { loaded: first, lease }: { readonly loaded: DraftAtRevision; readonly lease: HeldLease },
  append: (loaded: DraftAtRevision) => Promise<Appended | null>,
): Promise<Appended | null> {
  let loaded = first;
  for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
    lease.assertHeld();
    const appended = await append(loaded);
    if (appended !== null) return appended;
    const { state, revision } = await loadAggregate(events, draft, loaded.id);
    if (state.status !== first.state.status || state.current?.version !== first.state.current?.version)
      return null;
    loaded = { ...loaded, state, revision };
  }
  return null;
}

const nowOf = ({ leases, clock }: Ports): { readonly runId: string; readonly now: Date } => ({
  runId: leases.runId,
  now: clock.now(),
});

interface Begun {
  readonly state: DraftState;
  readonly send: Send;
  readonly revision: bigint;
}

async function freezeWith(
  ports: Ports,
  author: Author,
  loaded: DraftAtRevision,
  { frozen, then }: { readonly frozen: FrozenData; readonly then: readonly DraftFact[] },
): Promise<Begun | null> {
  const kept = await ports.content.keep([frozen.mime_id]);
  if (!kept.has(frozen.mime_id)) return null;
  return await append(ports, author, loaded, [{ type: 'DraftFrozen', data: frozen }, ...then]);
}

async function append(
  ports: Ports,
  author: Author,
  { id, state, revision }: DraftAtRevision,
  facts: readonly DraftFact[],
): Promise<Begun | null> {
  const decided = { id, state, revision, facts, occurredAt: ports.clock.now() };
  const written = await appendDecided(ports, author, draft, decided);
  if (written === null) return null;
  if (written.state.send === null) throw new Error('an attempt without a frozen message');
  return { state: written.state, send: written.state.send, revision: written.appended.revision };
}

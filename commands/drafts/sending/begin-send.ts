/** Freezes a draft for one operation and writes the intent to send it: one append, which locks the draft. */
import { appendFacts, type Author, foldFacts, streamOf } from '../../kernel/decide-and-append.ts';
import type { HeldLease } from '../../kernel/hold-lease.ts';
import { type ExpectedRevision, type Ports, WrongExpectedRevision } from '../../kernel/ports.ts';
import { draft, type DraftFact, type DraftState } from '../draft.ts';
import { startAttempt } from './decide-send.ts';
import type { Attempt } from './run-attempt.ts';

/** A draft exactly as it was loaded: what is appended to it fits only there. */
export interface DraftAtRevision {
  readonly id: string;
  readonly mailboxId: string;
  readonly state: DraftState;
  readonly revision: ExpectedRevision;
}

type FrozenData = Extract<DraftFact, { type: 'DraftFrozen' }>['data'];

/**
 * Freezes and begins, the frozen message kept before an event names it. Null when the draft changed since it was loaded,
 * or that message was erased with it: nothing was written then, and the caller erases what it froze.
 */
export async function beginSend(
  ports: Ports,
  author: Author,
  loaded: DraftAtRevision,
  { frozen, lease }: { readonly frozen: FrozenData; readonly lease: HeldLease },
): Promise<Attempt | null> {
  const kept = await ports.content.keep([frozen.mime_id]);
  if (!kept.has(frozen.mime_id)) return null;
  const started = startAttempt({ frozen, attempts: 0 }, ports.leases.runId, ports.clock.now());
  return await append(ports, author, loaded, {
    lease,
    facts: [{ type: 'DraftFrozen', data: frozen }, started],
  });
}

/** Begins another attempt with the same bytes. Null when the draft changed: nothing was written then. */
export async function beginAgain(
  ports: Ports,
  author: Author,
  loaded: DraftAtRevision,
  lease: HeldLease,
): Promise<Attempt | null> {
  const { send } = loaded.state;
  if (send === null) return null;
  const started = startAttempt(send, ports.leases.runId, ports.clock.now());
  return await append(ports, author, loaded, { lease, facts: [started] });
}

async function append(
  ports: Ports,
  author: Author,
  { id, mailboxId, state, revision }: DraftAtRevision,
  { lease, facts }: { readonly lease: HeldLease; readonly facts: readonly DraftFact[] },
): Promise<Attempt | null> {
  try {
    const appended = await appendFacts(ports, author, {
      stream: streamOf(draft, id),
      expected: revision,
      catalogue: draft.catalogue,
      facts,
    });
    const { send } = foldFacts(draft, state, facts, { author, at: ports.clock.now() });
    if (send === null) throw new Error('an attempt without a frozen message');
    return { draftId: id, mailboxId, send, revision: appended.revision, lease };
  } catch (error) {
    if (error instanceof WrongExpectedRevision) return null;
    throw error;
  }
}

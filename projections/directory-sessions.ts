/** How the events of sessions change the directory. A person's sessions are one entity, so that old ones are removed when a new one starts. */
import type { PersonSessionsEntry, SessionEntry } from '../commands/ports/directory.ts';
import type { AnyEvent } from '../commands/event-catalogue.ts';
import { openText } from '../commands/kernel/sealed-json.ts';
import type { PastFact } from '../commands/values/event.ts';
import type { Position } from '../commands/values/position.ts';
import type { Sealed } from '../commands/values/sealed.ts';
import type { DirectoryEvent } from './directory-entities.ts';
import type { Open } from './projection.ts';

type SessionFact = Extract<PastFact<AnyEvent>, { readonly type: `Session${string}` }>;

interface SessionEvent extends DirectoryEvent {
  readonly fact: SessionFact;
}

export const isSessionFact = (fact: Pick<PastFact<AnyEvent>, 'type' | 'data'>): fact is SessionFact =>
  fact.type === 'SessionStarted' || fact.type === 'SessionSteppedUp' || fact.type === 'SessionEnded';

export const isSessionEvent = (event: DirectoryEvent): event is SessionEvent => isSessionFact(event.fact);

const REMEMBERED_MS = 24 * 60 * 60_000;

/** The person's sessions after an event of one of them. */
export async function changeSessions(
  sessionId: string,
  { fact, position }: Pick<SessionEvent, 'fact' | 'position'>,
  lookUp: (kind: 'sessions', personId: string) => PersonSessionsEntry | undefined,
  open: Open,
): Promise<PersonSessionsEntry> {
  const at = Date.parse(fact.meta.occurred_at);
  const known = (lookUp('sessions', fact.data.user_id)?.sessions ?? []).filter(
    ({ endedAt, expiresAt }) => Date.parse(endedAt ?? expiresAt) + REMEMBERED_MS > at,
  );
  const id = fact.data.user_id;
  if (fact.type === 'SessionStarted')
    return { id, sessions: [...known, await startedBy(sessionId, fact, position, open)] };
  const change = fact.type === 'SessionEnded' ? endOf(fact) : { steppedUpUntil: fact.data.until };
  return {
    id,
    sessions: known.map((session) => (session.id === sessionId ? { ...session, ...change } : session)),
  };
}

const endOf = ({
  data: { next_id },
  meta,
}: Extract<SessionFact, { readonly type: 'SessionEnded' }>): Partial<SessionEntry> => ({
  endedAt: meta.occurred_at,
  ...(next_id !== undefined && { nextId: next_id }),
});

const startedBy = async (
  id: string,
  { data, meta }: Extract<SessionFact, { readonly type: 'SessionStarted' }>,
  position: Position,
  open: Open,
): Promise<SessionEntry> => ({
  id,
  orgId: meta.org_id ?? '',
  userId: data.user_id,
  secretHash: await openText({ open }, data.secret_hash),
  startedAt: meta.occurred_at,
  position: String(position),
  expiresAt: data.expires_at,
  steppedUpUntil: data.stepped_up_until,
  endedAt: null,
  client: (meta.actor.client ?? null) as Sealed | null,
});

/** A person's sessions in the directory: one entity for all of them, so that old ones are forgotten when a new one starts. */
import type { AnyEvent } from '../commands/event-catalogue.ts';
import type { PersonSessionsEntry, SessionEntry } from '../commands/ports/directory.ts';
import type { PastFact } from '../commands/values/event.ts';
import type { Sealed } from '../commands/values/sealed.ts';
import { openText } from '../commands/kernel/sealed-json.ts';
import type { Open } from './projection.ts';

type SessionFact = Extract<
  PastFact<AnyEvent>,
  { readonly type: 'SessionStarted' | 'SessionSteppedUp' | 'SessionEnded' }
>;

export const isSessionFact = (fact: PastFact<AnyEvent>): fact is SessionFact =>
  fact.type === 'SessionStarted' || fact.type === 'SessionSteppedUp' || fact.type === 'SessionEnded';

/** What is over stays known for a day: a request that still comes with it is told why it is refused. */
const REMEMBERED_MS = 24 * 60 * 60_000;

/** The person's sessions after an event of one of them. */
export async function changeSessions(
  sessionId: string,
  fact: SessionFact,
  lookUp: (kind: 'sessions', personId: string) => PersonSessionsEntry | undefined,
  open: Open,
): Promise<PersonSessionsEntry> {
  const at = Date.parse(fact.meta.occurred_at);
  const known = (lookUp('sessions', fact.data.user_id)?.sessions ?? []).filter(
    ({ endedAt, expiresAt }) => Date.parse(endedAt ?? expiresAt) + REMEMBERED_MS > at,
  );
  const sessions =
    fact.type === 'SessionStarted'
      ? [...known, await startedBy(sessionId, fact, open)]
      : known.map((session) => (session.id === sessionId ? changed(session, fact) : session));
  return { id: fact.data.user_id, sessions };
}

const startedBy = async (
  id: string,
  { data, meta }: Extract<SessionFact, { readonly type: 'SessionStarted' }>,
  open: Open,
): Promise<SessionEntry> => ({
  id,
  orgId: meta.org_id ?? '',
  userId: data.user_id,
  secretHash: await openText({ open }, data.secret_hash),
  startedAt: meta.occurred_at,
  expiresAt: data.expires_at,
  steppedUpUntil: data.stepped_up_until,
  endedAt: null,
  client: (meta.actor.client ?? null) as Sealed | null,
});

function changed(
  session: SessionEntry,
  fact: Exclude<SessionFact, { readonly type: 'SessionStarted' }>,
): SessionEntry {
  return fact.type === 'SessionEnded'
    ? { ...session, endedAt: fact.meta.occurred_at }
    : { ...session, steppedUpUntil: fact.data.until };
}

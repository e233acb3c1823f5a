/** Ends sessions of one person; resolves when no process serves them any more. */
import { type Author, decideAndAppend } from '../kernel/decide-and-append.ts';
import type { SessionEntry } from '../ports/directory.ts';
import type { Ports } from '../ports/ports.ts';
import type { Position } from '../values/position.ts';
import { type EndReason, endSession, session } from './session.ts';

/** The position of the last event; null when none was left to end. Throws `store_unavailable`. */
export async function endSessions(
  ports: Pick<Ports, 'events' | 'ids' | 'clock' | 'directory'>,
  author: Author,
  sessions: readonly Pick<SessionEntry, 'id'>[],
  reason: EndReason,
): Promise<Position | null> {
  let last: Position | null = null;
  for (const { id } of sessions) {
    const { position } = await decideAndAppend(ports, author, session, {
      id,
      decide: (state) => endSession(state, reason),
    });
    last = position ?? last;
  }
  if (last !== null) await ports.directory.waitFor(last);
  return last;
}

/** Those that were not ended yet; one that ran out may be among them. */
export const openSessionsOf = ({ state }: Ports['directory'], userId: string): readonly SessionEntry[] =>
  (state.personSessions.get(userId)?.sessions ?? []).filter(({ endedAt }) => endedAt === null);

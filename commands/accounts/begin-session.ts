/** A new session with its bearer, for a sign-in and for a change of organisation. */
import { z } from 'zod';
import { type Author, decideAndAppend } from '../kernel/decide-and-append.ts';
import type { Ports } from '../ports/ports.ts';
import type { Position } from '../values/position.ts';
import type { Sealed } from '../values/sealed.ts';
import type { Member } from './credentials.ts';
import { describeSession, Session, session, type SessionFacts, type SessionState } from './session.ts';

export const SignedIn = z.object({
  session_token: z.string().describe('The bearer of the session (`mgs_…`); shown once.'),
  session: Session,
  expires_at: z.string(),
});
export type SignedIn = z.output<typeof SignedIn>;

interface Begun {
  readonly position: Position | null;
  /** The answer; null when the person has left the organisation meanwhile. */
  readonly describe: () => SignedIn | null;
}

/** Resolves when the directory contains the session. `start` decides on its stream. */
export async function beginSession(
  ports: Pick<Ports, 'events' | 'ids' | 'clock' | 'directory' | 'personal' | 'tokens'>,
  author: Author,
  { id, userId, orgId }: Member & { readonly id: string },
  start: (state: SessionState, secretHash: Sealed, now: Date) => SessionFacts,
): Promise<Begun> {
  const { token, hash } = ports.tokens.newSessionToken(orgId);
  const secretHash = await ports.personal.seal(userId, hash);
  const { position } = await decideAndAppend(ports, author, session, {
    id,
    decide: (state, now) => start(state, secretHash, now),
  });
  if (position !== null) await ports.directory.waitFor(position);
  return {
    position,
    describe: () => {
      const { state } = ports.directory;
      const entry = state.sessions.get(id);
      const described = entry && describeSession(state, entry, ports.clock.now());
      return described
        ? { session_token: token, session: described, expires_at: described.expires_at }
        : null;
    },
  };
}

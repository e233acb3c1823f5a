/** POST /auth/login: a person signs in. Every failure has the same answer and the same delay (`contract.md` 18). */
import { z } from 'zod';
import { recordRefusal } from '../kernel/record-refusal.ts';
import { decideAndAppend, loadAggregate } from '../kernel/decide-and-append.ts';
import { definePublicRoute, type PublicContext } from '../kernel/public-route.ts';
import type { VerifiedPassword } from '../ports/sign-in-port.ts';
import { emailKey, emailReservation } from './account.ts';
import { endSessions, openSessionsOf } from './end-sessions.ts';
import { GivenEmail, GivenPassword, invalidCredentials } from './credentials.ts';
import { type Member, memberOf, personAuthor } from './anonymous-author.ts';
import { session, startSession } from './session.ts';
import { describeSession, Session } from './session-payload.ts';

const Input = z.strictObject({ email: GivenEmail, password: GivenPassword });
type Input = z.output<typeof Input>;

const SignedIn = z.object({
  session_token: z.string().describe('The bearer of the session (`mgs_…`); shown once.'),
  session: Session,
  expires_at: z.string(),
});
type SignedIn = z.output<typeof SignedIn>;

/** One more ends the oldest: a person has a few browsers, a script that signs in all day has hundreds. */
const MOST_SESSIONS = 100;

export const signIn = definePublicRoute<Input, SignedIn>({
  name: 'sign_in',
  title: 'Sign in',
  summary: 'Starts a session with e-mail address and password.',
  description:
    'Starts a session of at most 12 hours, 30 minutes without use. For its first 15 minutes the password counts as just ' +
    'given. A wrong address and a wrong password are refused alike; after some failures the next try has to wait.',
  rest: { method: 'post', path: '/auth/login', status: 200 },
  input: Input,
  output: SignedIn,
  handle: async ({ email, password }, context) => {
    const { ports, source } = context;
    const account = emailKey(ports, email);
    const entrant = await ports.attempts.attempt({ account, source }, async () => {
      const { state } = await loadAggregate(ports.events, emailReservation, account);
      const verified = await ports.secrets.verifyPassword(state.ownerId, password);
      const person = memberOf(ports.directory.state, state.ownerId ?? 'nobody');
      if (verified !== null && person !== null) return { person, verified };
      noteFailure(context, person);
      return null;
    });
    if (entrant === null) throw invalidCredentials();
    return await begin(context, entrant);
  },
});

interface Entrant {
  readonly person: Member;
  readonly verified: VerifiedPassword;
}

async function begin(context: PublicContext, { person, verified }: Entrant): Promise<SignedIn> {
  const { ports } = context;
  const { userId, orgId } = person;
  const sessionId = ports.ids.newId('ses');
  const { token, hash } = ports.tokens.newSessionToken(orgId);
  const author = await personAuthor(context, { userId, orgId }, sessionId);
  const now = ports.clock.now();
  const secretHash = await ports.personal.seal(userId, hash);
  const { position } = await decideAndAppend(ports, author, session, {
    id: sessionId,
    decide: (state) => startSession(state, { userId, secretHash, now }),
  });
  context.notePosition(position);
  if (position !== null) await ports.directory.waitFor(position);
  // A password set meanwhile ended the sessions of that moment, and this one may not have been among them.
  if (!(await verified.isCurrent())) {
    await endSessions(ports, author, [{ id: sessionId }], 'password_changed');
    throw invalidCredentials();
  }
  const { state } = ports.directory;
  const open = openSessionsOf(ports.directory, userId);
  await endSessions(ports, author, open.slice(0, -MOST_SESSIONS), 'too_many');
  const entry = state.sessions.get(sessionId);
  const described = entry && describeSession(state, entry, ports.clock.now());
  // The person was removed from the organisation meanwhile.
  if (!described) throw invalidCredentials();
  return { session_token: token, session: described, expires_at: described.expires_at };
}

/** A failure on a known account is an event, of an unknown one a count (`contract.md` 12); neither is seen in the answer. */
function noteFailure(context: PublicContext, person: Member | null): void {
  const { ports, source } = context;
  const { code } = invalidCredentials();
  context.afterAnswer(() => {
    if (person === null) {
      ports.accessLog.countRefusal(code, source);
      return;
    }
    void recordRefusal(ports, personAuthor(context, person), {
      capability: 'sign_in',
      code,
      mailboxId: null,
    });
  });
}

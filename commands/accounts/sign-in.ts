/** A person signs in (POST /auth/login), or steps up. Every failure has the same answer and the same delay (`contract.md` 18). */
import { z } from 'zod';
import { recordRefusal } from '../kernel/access-events.ts';
import { decideAndAppend, loadAggregate } from '../kernel/decide-and-append.ts';
import { definePublicRoute, type PublicContext } from '../kernel/public-route.ts';
import type { VerifiedPassword } from '../ports/sign-in-port.ts';
import { emailKey, emailReservation } from './account.ts';
import {
  describeSession,
  endSessions,
  openSessionsOf,
  session,
  Session,
  startSession,
  stepUp,
} from './session.ts';
import {
  confirmPassword,
  GivenEmail,
  GivenPassword,
  invalidCredentials,
  type Member,
  memberOf,
  personAuthor,
} from './credentials.ts';
import { answerWhenKnown, defineCapability } from '../kernel/capability.ts';
import { requireSession } from '../kernel/live-caller.ts';

const Input = z.strictObject({ email: GivenEmail, password: GivenPassword });
type Input = z.output<typeof Input>;

const SignedIn = z.object({
  session_token: z.string().describe('The bearer of the session (`mgs_…`); shown once.'),
  session: Session,
  expires_at: z.string(),
});
type SignedIn = z.output<typeof SignedIn>;

/** One more session ends the oldest: a person has a few browsers, a script that signs in all day would have hundreds. */
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
  // A password that was set meanwhile ended the sessions of that moment, perhaps without this one.
  if (!(await verified.isCurrent())) {
    await endSessions(ports, author, [{ id: sessionId }], 'password_changed');
    throw invalidCredentials();
  }
  const { state } = ports.directory;
  const open = openSessionsOf(ports.directory, userId);
  await endSessions(ports, author, open.slice(0, -MOST_SESSIONS), 'too_many');
  const entry = state.sessions.get(sessionId);
  const described = entry && describeSession(state, entry, ports.clock.now());
  // The person has left the organisation meanwhile.
  if (!described) throw invalidCredentials();
  return { session_token: token, session: described, expires_at: described.expires_at };
}

/** A failure on a known account is an event, on an unknown one a count (`contract.md` 12); the response is the same. */
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

const StepUpInput = z.strictObject({ password: GivenPassword });
const SteppedUp = z.object({ stepped_up_until: z.string() });
type SteppedUp = z.output<typeof SteppedUp>;

/** POST /auth/step-up: enters the password again, for requests that require a fresh one (`contract.md` 18). */
export const stepUpSession = defineCapability<z.output<typeof StepUpInput>, SteppedUp>({
  name: 'step_up',
  title: 'Confirm the password',
  summary: 'Enters the password again, for calls that need a fresh one.',
  description:
    'For 15 minutes this session may decide approvals, set the policy, issue tokens and change credentials, as far as your ' +
    'role goes. Signing in counts as the first time.',
  effect: 'write',
  access: 'session',
  whileDeleted: true,
  rest: { method: 'post', path: '/auth/step-up' },
  tool: null,
  idempotency: { kind: 'none' },
  input: StepUpInput,
  output: SteppedUp,
  handle: async ({ password }, context) => {
    const { caller, ports, writer, author } = context;
    const { id } = requireSession(caller);
    await confirmPassword(context, password);
    const now = ports.clock.now();
    const { state, position } = await decideAndAppend(writer, author, session, {
      id,
      decide: (current) => stepUp(current, now),
    });
    await answerWhenKnown(context, position);
    return { stepped_up_until: state.steppedUpUntil };
  },
});

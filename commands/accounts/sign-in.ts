/** A person signs in (POST /auth/login), or steps up. Every failure has the same answer and the same delay (`contract.md` 18). */
import { z } from 'zod';
import { recordRefusal } from '../kernel/access-events.ts';
import { type Author, decideAndAppend, loadAggregate } from '../kernel/decide-and-append.ts';
import { definePublicRoute, type PublicContext } from '../kernel/public-route.ts';
import type { VerifiedPassword } from '../ports/sign-in-port.ts';
import { emailKey, emailReservation } from './account.ts';
import { beginSession, SignedIn } from './begin-session.ts';
import { requestNotice } from './security-notice.ts';
import { endSessions, openSessionsOf, session, startSession, stepUp } from './session.ts';
import {
  arrivalOf,
  confirmPassword,
  GivenEmail,
  GivenPassword,
  invalidCredentials,
  type Member,
  personAuthor,
} from './credentials.ts';
import { answerWhenKnown, defineCapability } from '../kernel/capability.ts';
import { requireSession } from '../kernel/live-caller.ts';

const Input = z.strictObject({ email: GivenEmail, password: GivenPassword });
type Input = z.output<typeof Input>;

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
    const entrant = await ports.attempts.attempt({ account, source }, () =>
      findEntrant(context, account, password),
    );
    if (entrant === null) throw invalidCredentials();
    return await begin(context, entrant);
  },
});

interface Entrant {
  readonly person: Member;
  readonly verified: VerifiedPassword;
}

/**
 * The owner of the address, or the newest account that claims it. Where anybody may sign up, both passwords are always tried, so
 * that the time does not show which of the two there is.
 */
async function findEntrant(
  context: PublicContext,
  account: string,
  password: string,
): Promise<Entrant | null> {
  const { secrets, server, directory, events } = context.ports;
  const { state } = await loadAggregate(events, emailReservation, account);
  const { ownerId } = state;
  const claimantId = state.claimantId === ownerId ? null : state.claimantId;
  const tried = server.signUp === 'open' ? [ownerId, claimantId] : [ownerId];
  let entrant: Entrant | null = null;
  for (const userId of tried) {
    const verified = await secrets.verifyPassword(userId, password);
    const person = arrivalOf(directory.state, userId ?? 'nobody');
    if (verified !== null && person !== null) entrant ??= { person, verified };
  }
  if (entrant === null) noteFailure(context, arrivalOf(directory.state, ownerId ?? 'nobody'));
  return entrant;
}

async function begin(context: PublicContext, { person, verified }: Entrant): Promise<SignedIn> {
  const { ports } = context;
  const { userId, orgId } = person;
  const id = ports.ids.newId('ses');
  const author = await personAuthor(context, { userId, orgId }, id);
  const { position, describe } = await beginSession(
    ports,
    author,
    { id, userId, orgId },
    (state, secretHash, now) => startSession(state, { userId, secretHash, now }),
  );
  context.notePosition(position);
  // A password that was set meanwhile ended the sessions of that moment, perhaps without this one.
  if (!(await verified.isCurrent())) {
    await endSessions(ports, author, [{ id }], 'password_changed');
    throw invalidCredentials();
  }
  const open = openSessionsOf(ports.directory, userId);
  await endSessions(ports, author, open.slice(0, -MOST_SESSIONS), 'too_many');
  const signedIn = describe();
  // The person has left the organisation meanwhile.
  if (signedIn === null) throw invalidCredentials();
  context.afterAnswer(() => {
    void tellOfNewDevice(context, author, { userId, sessionId: id });
  });
  return signedIn;
}

/** After the answer: how long it takes must not show whether the device is known. A mail that cannot be requested is left out. */
async function tellOfNewDevice(
  { ports, device }: PublicContext,
  author: Author,
  { userId, sessionId }: { readonly userId: string; readonly sessionId: string },
): Promise<void> {
  try {
    if (!(await ports.devices.note(userId, device))) return;
    await requestNotice(ports, author, userId, { kind: 'new_sign_in', subject_session_id: sessionId });
  } catch (error) {
    ports.log.warn('sign in: no mail about a new device', { user_id: userId, error: String(error) });
  }
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

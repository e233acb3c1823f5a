/** A session of a signed-in person, with its own bearer, which is never stored. */
import { z } from 'zod';
import { type Aggregate, type Author, decideAndAppend } from '../kernel/decide-and-append.ts';
import { catalogueOf, defineEvent, type Fact, type PastFact } from '../values/event.ts';
import { instant, sealedVerifier, verifierInClear } from '../values/event-fields.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import type { Sealed } from '../values/sealed.ts';
import { STEP_UP_MS } from '../kernel/live-caller.ts';
import { restorerOf, roleIn } from '../kernel/membership.ts';
import type { DirectoryState, SessionEntry } from '../ports/directory.ts';
import type { Ports } from '../ports/ports.ts';
import { laterOf, type Position } from '../values/position.ts';
import { ROLES } from '../values/scopes.ts';

/** Lifetime in use (`contract.md` 2). */
const SESSION_MS = 12 * 60 * 60_000;
/** Lifetime without use (`contract.md` 2). */
export const SESSION_IDLE_MS = 30 * 60_000;

const SessionStarted = defineEvent({
  type: 'SessionStarted',
  summary: 'A person signed in.',
  data: z.object({
    user_id: z.string(),
    /** SHA-256 of the bearer. */
    secret_hash: sealedVerifier,
    expires_at: instant,
    stepped_up_until: instant,
  }),
  upcasters: [verifierInClear],
  webhook: null,
});

const SessionSteppedUp = defineEvent({
  type: 'SessionSteppedUp',
  summary: 'A person confirmed the password within a session.',
  data: z.object({ user_id: z.string(), until: instant }),
  webhook: null,
});

const END_REASONS = [
  'logout',
  'revoked',
  'password_changed',
  'too_many',
  'switched',
  'member_removed',
  'organisation_deleted',
  'account_erased',
] as const;
export type EndReason = (typeof END_REASONS)[number];

const SessionEnded = defineEvent({
  type: 'SessionEnded',
  summary: 'A session was ended before it expired; requests with it are refused.',
  data: z.object({
    user_id: z.string(),
    reason: z.enum(END_REASONS),
    /** The session that replaces a `switched` one. */
    next_id: z.string().optional(),
  }),
  webhook: null,
});

export const sessionEvents = [SessionStarted, SessionSteppedUp, SessionEnded] as const;
type SessionEvent = (typeof sessionEvents)[number];
export type SessionFacts = readonly Fact<SessionEvent>[];

export interface SessionState {
  readonly userId: string | null;
  readonly expiresAt: string;
  readonly steppedUpUntil: string;
  readonly isEnded: boolean;
  /** The session that replaced it. */
  readonly nextId: string | null;
}

export const session: Aggregate<SessionState, SessionEvent> = {
  category: 'session',
  catalogue: catalogueOf(sessionEvents),
  initial: { userId: null, expiresAt: '', steppedUpUntil: '', isEnded: false, nextId: null },
  evolve: (state, fact: PastFact<SessionEvent>) => {
    switch (fact.type) {
      case 'SessionStarted':
        return {
          userId: fact.data.user_id,
          expiresAt: fact.data.expires_at,
          steppedUpUntil: fact.data.stepped_up_until,
          isEnded: false,
          nextId: null,
        };
      case 'SessionSteppedUp':
        return { ...state, steppedUpUntil: fact.data.until };
      case 'SessionEnded':
        return { ...state, isEnded: true, nextId: fact.data.next_id ?? null };
    }
  },
};

/** Starts a session at `now`, when the password was just given. Refuses an id that was used before. */
export function startSession(
  state: SessionState,
  { userId, secretHash, now }: { readonly userId: string; readonly secretHash: Sealed; readonly now: Date },
): SessionFacts {
  const ends = { expiresAt: after(now, SESSION_MS), steppedUpUntil: after(now, STEP_UP_MS) };
  return start(state, { userId, secretHash, ends });
}

type Ends = Pick<SessionState, 'expiresAt' | 'steppedUpUntil'>;

/** Starts the session that replaces another one, with the times of that. Refuses when it was ended before it started. */
export function continueSession(
  state: SessionState,
  next: { readonly userId: string; readonly secretHash: Sealed; readonly ends: Ends },
): SessionFacts {
  if (state.isEnded) throw over();
  return start(state, next);
}

function start(
  state: SessionState,
  { userId, secretHash, ends }: { readonly userId: string; readonly secretHash: Sealed; readonly ends: Ends },
): SessionFacts {
  if (state.userId !== null) throw new GatewayError('conflict', 'This session was started already.');
  const data = {
    user_id: userId,
    secret_hash: secretHash,
    expires_at: ends.expiresAt,
    stepped_up_until: ends.steppedUpUntil,
  };
  return [{ type: 'SessionStarted', data }];
}

/** The password was given again and counts as fresh for a time. Throws `token_revoked` or `token_expired` for an ended session. */
export function stepUp(state: SessionState, now: Date): SessionFacts {
  return [
    { type: 'SessionSteppedUp', data: { user_id: liveUser(state, now), until: after(now, STEP_UP_MS) } },
  ];
}

/** Ends a session because another one replaces it. Throws as `stepUp` does. */
export function switchSession(state: SessionState, nextId: string, now: Date): SessionFacts {
  const data = { user_id: liveUser(state, now), reason: 'switched', next_id: nextId } as const;
  return [{ type: 'SessionEnded', data }];
}

function liveUser({ userId, isEnded, expiresAt }: SessionState, now: Date): string {
  if (userId === null || isEnded) throw over();
  if (Date.parse(expiresAt) <= now.getTime()) {
    throw new GatewayError('token_expired', 'This session has expired; sign in again.');
  }
  return userId;
}

const over = (): GatewayError => new GatewayError('token_revoked', 'This session is over; sign in again.');

/** Adds nothing for an ended session. */
export function endSession(state: SessionState, reason: EndReason): SessionFacts {
  if (state.userId === null) throw notFound('session');
  return state.isEnded ? [] : [{ type: 'SessionEnded', data: { user_id: state.userId, reason } }];
}

/** Ends the session that replaced another one; when it has not started, it never will. */
const endNext = (state: SessionState, userId: string, reason: EndReason): SessionFacts =>
  state.isEnded ? [] : [{ type: 'SessionEnded', data: { user_id: userId, reason } }];

const after = (now: Date, milliseconds: number): string =>
  new Date(now.getTime() + milliseconds).toISOString();

/**
 * Ends sessions of one person, with those that replaced them; resolves when no process serves them any more, with the position
 * of the last event, or null when all had ended. Throws `store_unavailable`.
 */
export async function endSessions(
  ports: Pick<Ports, 'events' | 'ids' | 'clock' | 'directory'>,
  author: Author,
  sessions: readonly Pick<SessionEntry, 'id'>[],
  reason: EndReason,
): Promise<Position | null> {
  let last: Position | null = null;
  for (const { id } of sessions) {
    last = laterOf(last, await endWithNext(ports, author, id, reason));
  }
  if (last !== null) await ports.directory.waitFor(last);
  return last;
}

/** More often nobody switches within the life of a session. */
const MOST_SWITCHES = 1_000;

async function endWithNext(
  ports: Pick<Ports, 'events' | 'ids' | 'clock'>,
  author: Author,
  id: string,
  reason: EndReason,
): Promise<Position | null> {
  const first = await decideAndAppend(ports, author, session, {
    id,
    decide: (state) => endSession(state, reason),
  });
  const userId = first.state.userId ?? '';
  let { nextId } = first.state;
  let last = first.position;
  for (let n = 0; nextId !== null && n < MOST_SWITCHES; n += 1) {
    const { state, position } = await decideAndAppend(ports, author, session, {
      id: nextId,
      decide: (current) => endNext(current, userId, reason),
    });
    nextId = state.nextId;
    last = laterOf(last, position);
  }
  return last;
}

/**
 * The sessions to end when all of a person's have to: the open ones, and those that were replaced by one that this process has
 * not seen begin.
 */
export const endableSessionsOf = ({ state }: Ports['directory'], userId: string): readonly SessionEntry[] =>
  (state.personSessions.get(userId)?.sessions ?? []).filter(
    ({ endedAt, nextId }) => endedAt === null || (nextId !== undefined && !state.sessions.has(nextId)),
  );

/** The sessions that were not ended; some of them may have expired. */
export const openSessionsOf = ({ state }: Ports['directory'], userId: string): readonly SessionEntry[] =>
  (state.personSessions.get(userId)?.sessions ?? []).filter(({ endedAt }) => endedAt === null);

/** A session as its person sees it; the bearer is returned once, at sign-in. */
export const Session = z.object({
  id: z.string(),
  user: z.object({ id: z.string(), name: z.string(), email: z.string() }),
  org: z.object({ id: z.string(), name: z.string() }),
  role: z.enum(ROLES),
  started_at: z.string(),
  expires_at: z.string().describe('At the latest; half an hour without use ends it sooner.'),
  stepped_up_until: z
    .string()
    .nullable()
    .describe('Null = the password has to be given again (POST /auth/step-up).'),
});
export type Session = z.output<typeof Session>;

/** Null for a person who has left the organisation. */
export function describeSession(state: DirectoryState, entry: SessionEntry, now: Date): Session | null {
  const user = state.people.get(entry.userId);
  const org = state.organisations.get(entry.orgId);
  const role =
    roleIn(state, entry.orgId, entry.userId) ?? restorerOf(state, entry.orgId, entry.userId)?.role ?? null;
  if (!user || !org || !role) return null;
  const isFresh = entry.steppedUpUntil !== null && Date.parse(entry.steppedUpUntil) > now.getTime();
  return {
    id: entry.id,
    user: { id: user.id, name: user.name, email: user.email },
    org: { id: org.id, name: org.name },
    role,
    started_at: entry.startedAt,
    expires_at: entry.expiresAt,
    stepped_up_until: isFresh ? entry.steppedUpUntil : null,
  };
}

/**
 * A mail of the gateway itself: requested, attempted, ended. Events hold ids only: texts and links are made when the mail is
 * sent, from what is true then.
 */
import { z } from 'zod';
import { type Aggregate, type Author, decideAndAppend, type Writer } from '../kernel/decide-and-append.ts';
import { catalogueOf, defineEvent, type Fact, type PastFact } from '../values/event.ts';
import { instant, sealedText } from '../values/event-fields.ts';
import { notFound } from '../values/errors.ts';
import type { Position } from '../values/position.ts';

export const SYSTEM_MAIL_KINDS = [
  'verify_email',
  'password_reset',
  'password_changed',
  'new_sign_in',
  'invite',
  'member_removed',
  'agents_handed_over',
  'organisation_deleted',
  'account_erased',
  'approvals_waiting',
  'application_connected',
] as const;
export type SystemMailKind = (typeof SYSTEM_MAIL_KINDS)[number];

const SystemMailRequested = defineEvent({
  type: 'SystemMailRequested',
  summary: 'The gateway is to send a mail to a person.',
  data: z.object({
    kind: z.enum(SYSTEM_MAIL_KINDS),
    /** The account it goes to; null when only the address is known. */
    user_id: z.string().nullable(),
    /** The address, sealed under the id of this mail, where no account holds it. */
    to: sealedText.nullable(),
    /** What it is about. */
    invite_id: z.string().optional(),
    subject_session_id: z.string().optional(),
    approval_ids: z.array(z.string()).optional(),
    /** Of `approval_ids`, those that are told again because their time ends soon. */
    reminded_ids: z.array(z.string()).optional(),
    agent_ids: z.array(z.string()).optional(),
    oauth_grant_id: z.string().optional(),
  }),
  webhook: null,
});

const SystemMailAttempted = defineEvent({
  type: 'SystemMailAttempted',
  summary: 'The gateway tried to send a mail to a person.',
  data: z.object({
    outcome: z.enum(['sent', 'failed']),
    /** The mail server's reply code, or a word of this gateway; null when sent. */
    code: z.string().nullable(),
    /** When it is tried again; null = never. */
    next_at: instant.nullable(),
  }),
  webhook: null,
});

const SystemMailSkipped = defineEvent({
  type: 'SystemMailSkipped',
  summary: 'A mail to a person was not sent, because what it would have said no longer holds.',
  data: z.object({ reason: z.enum(['no_account', 'no_longer_true', 'not_wanted']) }),
  webhook: null,
});

export const systemMailEvents = [SystemMailRequested, SystemMailAttempted, SystemMailSkipped] as const;
type SystemMailEvent = (typeof systemMailEvents)[number];
export type SystemMailRequest = z.output<typeof SystemMailRequested.data>;

export interface SystemMailState {
  readonly request: SystemMailRequest | null;
  /** The organisation it is about, if any. */
  readonly orgId: string | null;
  readonly requestedAt: string | null;
  readonly attempts: number;
  /** When it is tried next; null once it has ended. */
  readonly dueAt: string | null;
}

export const systemMail: Aggregate<SystemMailState, SystemMailEvent> = {
  category: 'systemMail',
  catalogue: catalogueOf(systemMailEvents),
  initial: { request: null, orgId: null, requestedAt: null, attempts: 0, dueAt: null },
  evolve: (state, fact: PastFact<SystemMailEvent>) => {
    switch (fact.type) {
      case 'SystemMailRequested':
        return requested(state, fact);
      case 'SystemMailAttempted':
        return { ...state, attempts: state.attempts + 1, dueAt: fact.data.next_at };
      case 'SystemMailSkipped':
        return { ...state, dueAt: null };
    }
  },
};

const requested = (
  state: SystemMailState,
  { data, meta }: Extract<PastFact<SystemMailEvent>, { readonly type: 'SystemMailRequested' }>,
): SystemMailState => ({
  ...state,
  request: data,
  orgId: meta.org_id,
  requestedAt: meta.occurred_at,
  dueAt: meta.occurred_at,
});

export type SkipReason = z.output<typeof SystemMailSkipped.data>['reason'];

/** Pauses after the first, second, … failed attempt; after the last one there is one more attempt. */
export const MAIL_RETRIES_MS = [1, 5, 30, 120, 480].map((minutes) => minutes * 60_000);

/** Why an attempt failed. */
export interface MailFailure {
  /** The mail server's reply code, or a word of this gateway. */
  readonly code: string;
  /** The address or the mail is refused: another attempt would fail too. */
  readonly isFinal: boolean;
}

const startMail = (
  { request: earlier }: SystemMailState,
  request: SystemMailRequest,
): readonly Fact<SystemMailEvent>[] =>
  earlier === null ? [{ type: 'SystemMailRequested', data: request }] : [];

/** Null = it was sent. Adds nothing to a mail that has ended. */
export function noteAttempt(
  state: SystemMailState,
  failure: MailFailure | null,
  now: Date,
): readonly Fact<SystemMailEvent>[] {
  assertRequested(state);
  if (state.dueAt === null) return [];
  if (failure === null)
    return [{ type: 'SystemMailAttempted', data: { outcome: 'sent', code: null, next_at: null } }];
  const pauseMs = failure.isFinal ? undefined : MAIL_RETRIES_MS[state.attempts];
  const next_at = pauseMs === undefined ? null : new Date(now.getTime() + pauseMs).toISOString();
  return [{ type: 'SystemMailAttempted', data: { outcome: 'failed', code: failure.code, next_at } }];
}

/** Adds nothing to a mail that has ended. */
export function skipMail(state: SystemMailState, reason: SkipReason): readonly Fact<SystemMailEvent>[] {
  assertRequested(state);
  return state.dueAt === null ? [] : [{ type: 'SystemMailSkipped', data: { reason } }];
}

function assertRequested({ request }: SystemMailState): void {
  if (request === null) throw notFound('mail');
}

/**
 * Asks for a mail; it is sent in the background. `id` is a UUID: the same one again is the same mail, so a repeated command
 * sends one. Resolves with the position of the request. Throws `store_unavailable`.
 */
export async function requestMail(
  writer: Writer,
  author: Author,
  id: string,
  request: SystemMailRequest,
): Promise<Position | null> {
  const { position } = await decideAndAppend(writer, author, systemMail, {
    id,
    decide: (state) => startMail(state, request),
  });
  return position;
}

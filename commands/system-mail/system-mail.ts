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
  readonly attempts: number;
  readonly isEnded: boolean;
}

export const systemMail: Aggregate<SystemMailState, SystemMailEvent> = {
  category: 'systemMail',
  catalogue: catalogueOf(systemMailEvents),
  initial: { request: null, attempts: 0, isEnded: false },
  evolve: (state, fact: PastFact<SystemMailEvent>) => {
    switch (fact.type) {
      case 'SystemMailRequested':
        return { ...state, request: fact.data };
      case 'SystemMailAttempted':
        return { ...state, attempts: state.attempts + 1, isEnded: fact.data.next_at === null };
      case 'SystemMailSkipped':
        return { ...state, isEnded: true };
    }
  },
};

/** How one attempt ended. */
type Attempt = z.output<typeof SystemMailAttempted.data>;
type SkipReason = z.output<typeof SystemMailSkipped.data>['reason'];

const startMail = (
  { request: earlier }: SystemMailState,
  request: SystemMailRequest,
): readonly Fact<SystemMailEvent>[] =>
  earlier === null ? [{ type: 'SystemMailRequested', data: request }] : [];

/** Adds nothing to a mail that has ended. */
export function noteAttempt(state: SystemMailState, attempt: Attempt): readonly Fact<SystemMailEvent>[] {
  if (state.request === null) throw notFound('mail');
  return state.isEnded ? [] : [{ type: 'SystemMailAttempted', data: attempt }];
}

/** Adds nothing to a mail that has ended. */
export function skipMail(state: SystemMailState, reason: SkipReason): readonly Fact<SystemMailEvent>[] {
  if (state.request === null) throw notFound('mail');
  return state.isEnded ? [] : [{ type: 'SystemMailSkipped', data: { reason } }];
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

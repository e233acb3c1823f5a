/** A person's account. Name and address are sealed: erasing the person's key erases the person, but not the trail. */
import { z } from 'zod';
import { NOTIFICATION_LEVELS, type NotificationLevel } from '../ports/directory.ts';
import type { Aggregate } from '../kernel/decide-and-append.ts';
import { catalogueOf, defineEvent, type Fact, type PastFact } from '../values/event.ts';
import { sealedText } from '../values/event-fields.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import type { Ports } from '../ports/ports.ts';
import type { Sealed } from '../values/sealed.ts';

const AccountRegistered = defineEvent({
  type: 'AccountRegistered',
  summary: 'An account was created for a person.',
  /** `is_verified`: the address is known to be the person's; absent = true. */
  data: z.object({ email: sealedText, name: sealedText, is_verified: z.boolean().default(true) }),
  webhook: null,
});

const EmailVerified = defineEvent({
  type: 'EmailVerified',
  summary: 'The person showed that the e-mail address of the account is theirs.',
  data: z.object({}),
  webhook: null,
});

const AccountRenamed = defineEvent({
  type: 'AccountRenamed',
  summary: 'A person changed the name of the account.',
  data: z.object({ name: sealedText }),
  webhook: null,
});

const NotificationsSet = defineEvent({
  type: 'NotificationsSet',
  summary: 'It was set which mails about waiting approvals a person gets.',
  data: z.object({ level: z.enum(NOTIFICATION_LEVELS), by: z.enum(['person', 'unsubscribe']) }),
  webhook: null,
});

const AccountErasureStarted = defineEvent({
  type: 'AccountErasureStarted',
  summary: 'A person asked that the account be erased; it ends its memberships first.',
  data: z.object({
    /** The organisations whose trail has lines of the person, or gets some; null in version 1. */
    org_ids: z.array(z.string()).nullable(),
  }),
  upcasters: [() => ({ org_ids: null })],
  webhook: null,
});

const AccountErasureStopped = defineEvent({
  type: 'AccountErasureStopped',
  summary: 'An account was not erased, because its person is the last owner of an organisation.',
  data: z.object({ org_ids: z.array(z.string()) }),
  webhook: null,
});

const AccountErased = defineEvent({
  type: 'AccountErased',
  summary: 'An account was erased; its sealed texts can no longer be read.',
  data: z.object({}),
  webhook: null,
});

const EmailReserved = defineEvent({
  type: 'EmailReserved',
  summary: 'An e-mail address was reserved for one account; the stream is named by an HMAC of the address.',
  data: z.object({ owner_id: z.string() }),
  webhook: null,
});

const EmailClaimed = defineEvent({
  type: 'EmailClaimed',
  summary:
    'An account that has not verified its e-mail address was created with it; the address is not reserved.',
  data: z.object({ user_id: z.string() }),
  webhook: null,
});

const EmailReleased = defineEvent({
  type: 'EmailReleased',
  summary: 'An e-mail address is free again, because its account was erased.',
  data: z.object({ owner_id: z.string() }),
  webhook: null,
});

export const emailEvents = [EmailReserved, EmailClaimed, EmailReleased] as const;
type EmailEvent = (typeof emailEvents)[number];

const PasswordSet = defineEvent({
  type: 'PasswordSet',
  summary: 'A person got a new password. Its hash is stored in the vault, never in an event.',
  data: z.object({ by: z.enum(['setup', 'link', 'change']) }),
  webhook: null,
});

export const accountEvents = [
  AccountRegistered,
  EmailVerified,
  AccountRenamed,
  NotificationsSet,
  PasswordSet,
  AccountErasureStarted,
  AccountErasureStopped,
  AccountErased,
] as const;
type AccountEvent = (typeof accountEvents)[number];
type Facts = readonly Fact<AccountEvent>[];

export interface AccountState {
  readonly status: 'none' | 'live' | 'being_erased' | 'erased';
  readonly isVerified: boolean;
  readonly notifications: NotificationLevel;
  /** While it is being erased: the organisations that are told; null where that was not noted. */
  readonly toldOrgIds: readonly string[] | null;
}

export const account: Aggregate<AccountState, AccountEvent> = {
  category: 'account',
  catalogue: catalogueOf(accountEvents),
  initial: { status: 'none', isVerified: false, notifications: 'each', toldOrgIds: null },
  evolve: (state, fact: PastFact<AccountEvent>) => {
    switch (fact.type) {
      case 'AccountRegistered':
        return { ...state, status: 'live', isVerified: fact.data.is_verified };
      case 'EmailVerified':
        return { ...state, isVerified: true };
      case 'NotificationsSet':
        return { ...state, notifications: fact.data.level };
      case 'AccountErasureStarted':
        return { ...state, status: 'being_erased', toldOrgIds: fact.data.org_ids };
      case 'AccountErasureStopped':
        return { ...state, status: 'live' };
      case 'AccountErased':
        return { ...state, status: 'erased' };
      default:
        return state;
    }
  },
};

/** Refuses when the account exists already. */
export function registerAccount(
  state: AccountState,
  command: { readonly email: Sealed; readonly name: Sealed; readonly isVerified: boolean },
): Facts {
  if (state.status !== 'none') throw new GatewayError('conflict', 'This account exists already.');
  const { email, name, isVerified } = command;
  return [{ type: 'AccountRegistered', data: { email, name, is_verified: isVerified } }];
}

/** Throws `not_found` for an account that was not registered or is erased. */
export function setPassword(state: AccountState, by: 'setup' | 'link' | 'change'): Facts {
  assertExists(state);
  return [{ type: 'PasswordSet', data: { by } }];
}

/** Adds nothing for a verified address. */
export function verifyEmail(state: AccountState): Facts {
  assertExists(state);
  return state.isVerified ? [] : [{ type: 'EmailVerified', data: {} }];
}

/** The name is sealed anew each time, so it is written even when it is the same. */
export function renameAccount(state: AccountState, name: Sealed): Facts {
  assertExists(state);
  return [{ type: 'AccountRenamed', data: { name } }];
}

/** Adds nothing when it is set so already. */
export function setNotifications(
  state: AccountState,
  level: NotificationLevel,
  by: 'person' | 'unsubscribe',
): Facts {
  assertExists(state);
  return state.notifications === level ? [] : [{ type: 'NotificationsSet', data: { level, by } }];
}

/** `orgIds`: the organisations whose trail has lines of the person. Adds nothing when it was started. */
export function startErasure(state: AccountState, orgIds: readonly string[]): Facts {
  assertExists(state);
  return state.status === 'being_erased'
    ? []
    : [{ type: 'AccountErasureStarted', data: { org_ids: [...orgIds] } }];
}

/** Adds nothing unless it was started and has not ended. */
export function stopErasure(state: AccountState, orgIds: readonly string[]): Facts {
  if (state.status !== 'being_erased') return [];
  return [{ type: 'AccountErasureStopped', data: { org_ids: [...orgIds] } }];
}

/** Adds nothing unless it was started and has not ended. */
export const finishErasure = (state: AccountState): Facts =>
  state.status === 'being_erased' ? [{ type: 'AccountErased', data: {} }] : [];

function assertExists({ status }: AccountState): void {
  if (status === 'none' || status === 'erased') throw notFound('account');
}

/** The name of the reservation of an address, in every spelling of it. */
export const emailKey = ({ ids }: Pick<Ports, 'ids'>, email: string): string =>
  ids.reservationName(email.trim().toLowerCase());

/** An address belongs to one account; others that were created with it and not verified may claim it. */
interface EmailReservation {
  readonly ownerId: string | null;
  /** The newest account that claims it. */
  readonly claimantId: string | null;
  /** Accounts that were erased: they never own it again. */
  readonly formerIds: readonly string[];
}

export const emailReservation: Aggregate<EmailReservation, EmailEvent> = {
  category: 'uniqueEmail',
  catalogue: catalogueOf(emailEvents),
  initial: { ownerId: null, claimantId: null, formerIds: [] },
  evolve: (state, fact: PastFact<EmailEvent>) => {
    switch (fact.type) {
      case 'EmailReserved':
        return { ...state, ownerId: fact.data.owner_id };
      case 'EmailClaimed':
        return { ...state, claimantId: fact.data.user_id };
      case 'EmailReleased':
        return {
          ownerId: state.ownerId === fact.data.owner_id ? null : state.ownerId,
          claimantId: state.claimantId === fact.data.owner_id ? null : state.claimantId,
          formerIds: [...state.formerIds, fact.data.owner_id],
        };
    }
  },
};

/** The same owner may resume; any other is refused, and so is one whose account was erased. */
export function reserveEmail(state: EmailReservation, ownerId: string): readonly Fact<EmailEvent>[] {
  if (state.ownerId === ownerId) return [];
  if (state.ownerId !== null || state.formerIds.includes(ownerId))
    throw new GatewayError('conflict', 'This e-mail address has an account already.');
  return [{ type: 'EmailReserved', data: { owner_id: ownerId } }];
}

/** Adds nothing for the newest claimant. */
export const claimEmail = (state: EmailReservation, userId: string): readonly Fact<EmailEvent>[] =>
  state.claimantId === userId ? [] : [{ type: 'EmailClaimed', data: { user_id: userId } }];

/** Adds nothing when it was released. */
export const releaseEmail = (state: EmailReservation, ownerId: string): readonly Fact<EmailEvent>[] =>
  state.formerIds.includes(ownerId) ? [] : [{ type: 'EmailReleased', data: { owner_id: ownerId } }];

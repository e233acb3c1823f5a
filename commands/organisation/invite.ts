/** An invite to an organisation. Its address is sealed under the invite's own key, which is erased when the invite has ended. */
import { z } from 'zod';
import type { Aggregate } from '../kernel/decide-and-append.ts';
import { catalogueOf, defineEvent, type Fact, type PastFact } from '../values/event.ts';
import { folderRole, instant, mailboxScopeList, sealedText } from '../values/event-fields.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import { ROLES } from '../values/scopes.ts';

const InviteCreated = defineEvent({
  type: 'InviteCreated',
  summary: 'A person was invited to the organisation by mail.',
  data: z.object({
    email: sealedText,
    /** The name of the reservation of the address. */
    email_key: z.string(),
    role: z.enum(ROLES),
    mailbox_grants: z.array(
      z.object({
        mailbox_id: z.string(),
        scopes: mailboxScopeList,
        folder_roles: z.array(folderRole).nullable(),
      }),
    ),
    expires_at: instant,
  }),
  webhook: null,
});

const InviteResent = defineEvent({
  type: 'InviteResent',
  summary: 'An invite was sent again; links sent before are invalid.',
  data: z.object({ expires_at: instant }),
  webhook: null,
});

const InviteAccepted = defineEvent({
  type: 'InviteAccepted',
  summary: 'An invite was accepted by a person.',
  /** `name`: of the account that is made with it, sealed for that person; null for a person with an account. */
  data: z.object({ user_id: z.string(), name: sealedText.nullable() }),
  webhook: null,
});

const InviteSettled = defineEvent({
  type: 'InviteSettled',
  summary: 'The membership and the grants of an accepted invite exist.',
  data: z.object({}),
  webhook: null,
});

export const INVITE_ENDS = [
  'withdrawn',
  'expired',
  'member_removed',
  'inviter_lost_rights',
  'organisation_deleted',
  'address_taken',
] as const;
export type InviteEnd = (typeof INVITE_ENDS)[number];

const InviteEnded = defineEvent({
  type: 'InviteEnded',
  summary: 'An invite ended without a new member.',
  data: z.object({ reason: z.enum(INVITE_ENDS) }),
  webhook: null,
});

export const inviteEvents = [
  InviteCreated,
  InviteResent,
  InviteAccepted,
  InviteSettled,
  InviteEnded,
] as const;
type InviteEvent = (typeof inviteEvents)[number];
type InviteTerms = z.output<typeof InviteCreated.data>;
type AcceptedBy = z.output<typeof InviteAccepted.data>;

export interface InviteState {
  readonly terms: InviteTerms | null;
  readonly orgId: string;
  readonly createdBy: string;
  readonly expiresAt: string;
  readonly status: 'waiting' | 'accepted' | 'settled' | 'ended';
  readonly accepted: AcceptedBy | null;
}

export const invite: Aggregate<InviteState, InviteEvent> = {
  category: 'invite',
  catalogue: catalogueOf(inviteEvents),
  initial: { terms: null, orgId: '', createdBy: '', expiresAt: '', status: 'waiting', accepted: null },
  evolve: (state, fact: PastFact<InviteEvent>) => {
    switch (fact.type) {
      case 'InviteCreated':
        return {
          ...state,
          terms: fact.data,
          orgId: fact.meta.org_id ?? '',
          createdBy: fact.meta.actor.id,
          expiresAt: fact.data.expires_at,
        };
      case 'InviteResent':
        return { ...state, expiresAt: fact.data.expires_at };
      case 'InviteAccepted':
        return { ...state, status: 'accepted', accepted: fact.data };
      case 'InviteSettled':
        return { ...state, status: 'settled' };
      case 'InviteEnded':
        return { ...state, status: 'ended' };
    }
  },
};

type Facts = readonly Fact<InviteEvent>[];

/** Refuses an id that was used before. */
export function createInvite(state: InviteState, terms: InviteTerms): Facts {
  if (state.terms !== null) throw new GatewayError('conflict', 'This invite exists already.');
  return [{ type: 'InviteCreated', data: terms }];
}

/** Throws `conflict` unless it waits. It may have expired. */
export function resendInvite(state: InviteState, expiresAt: Date): Facts {
  assertWaiting(state);
  return [{ type: 'InviteResent', data: { expires_at: expiresAt.toISOString() } }];
}

/** The one claim of an invite: throws `conflict` for every later one, and once it has ended or expired. */
export function acceptInvite(state: InviteState, claim: AcceptedBy, now: Date): Facts {
  assertWaiting(state);
  if (Date.parse(state.expiresAt) <= now.getTime())
    throw new GatewayError('conflict', 'This invite has expired; ask for a new one.');
  return [{ type: 'InviteAccepted', data: claim }];
}

/** Adds nothing when it was settled or has ended. */
export function settleInvite(state: InviteState): Facts {
  if (state.terms === null) throw notFound('invite');
  return state.status === 'accepted' ? [{ type: 'InviteSettled', data: {} }] : [];
}

/** Adds nothing when it has ended. Throws `conflict` for one that was accepted: that can no longer be taken back here. */
export function endInvite(state: InviteState, reason: InviteEnd): Facts {
  if (state.terms === null) throw notFound('invite');
  if (state.status === 'ended') return [];
  if (state.status !== 'waiting')
    throw new GatewayError('conflict', 'This invite was accepted; remove the member instead.');
  return [{ type: 'InviteEnded', data: { reason } }];
}

/** Adds nothing when it was sent again, accepted or ended meanwhile. */
export const endExpiredInvite = (state: InviteState, now: Date): Facts =>
  state.status === 'waiting' && Date.parse(state.expiresAt) <= now.getTime()
    ? endInvite(state, 'expired')
    : [];

/** Ends an accepted invite that could not be carried out. Adds nothing for any other. */
export const abandonInvite = (state: InviteState, reason: InviteEnd): Facts =>
  state.status === 'accepted' ? [{ type: 'InviteEnded', data: { reason } }] : [];

function assertWaiting({ terms, status }: InviteState): void {
  if (terms === null) throw notFound('invite');
  if (status !== 'waiting')
    throw new GatewayError('conflict', 'This invite was accepted or withdrawn; ask for a new one.');
}

/** Grants of a mailbox: one per principal, never wider than its giver's own (`contract.md` 3). Pure. */
import { GatewayError, notFound } from '../values/errors.ts';
import { quotasWithin } from '../kernel/grant-quotas.ts';
import type { FolderRole } from '../values/folder-roles.ts';
import { stepUpRequired } from '../kernel/live-caller.ts';
import {
  assertLive,
  type GrantTerms,
  type HeldGrant,
  type MailboxFact,
  type MailboxRecord,
} from './mailbox.ts';

/** The giver of a grant or of a change, and the time. */
export interface Giver {
  readonly principalId: string;
  readonly now: Date;
  /** In a session: may exceed the giver's own grant, after a fresh password. Absent = never. */
  readonly wider?: 'allowed' | 'after-step-up';
}

interface GiveGrant {
  readonly grantId: string;
  readonly principal: { readonly id: string; readonly kind: 'user' | 'agent' };
  readonly terms: GrantTerms;
}

/**
 * Throws `conflict` when the principal has a grant here, `insufficient_scope` when it would be wider than the
 * giver's.
 */
export function assertMayGive(state: MailboxRecord, giver: Giver, command: Omit<GiveGrant, 'grantId'>): void {
  assertLive(state);
  const existing = grantOf(state, command.principal.id);
  if (existing) {
    throw new GatewayError('conflict', 'This principal has a grant on the mailbox; change it with PATCH.', {
      details: { grant_id: existing.id },
    });
  }
  assertWithin(state, giver, command.terms);
}

/** A grant to a principal without one. Refuses like `assertMayGive`. */
export function giveGrant(state: MailboxRecord, giver: Giver, command: GiveGrant): readonly MailboxFact[] {
  assertMayGive(state, giver, command);
  return [
    {
      type: 'GrantGiven',
      data: {
        grant_id: command.grantId,
        principal_id: command.principal.id,
        principal_kind: command.principal.kind,
        ...termsData(command.terms),
      },
    },
  ];
}

/**
 * New terms, within the giver's own grant or narrower than before. Throws `not_found`, `insufficient_scope`.
 */
export function changeGrant(
  state: MailboxRecord,
  giver: Giver,
  command: { readonly grantId: string; readonly change: Partial<GrantTerms> },
): readonly MailboxFact[] {
  assertLive(state);
  const grant = state.grants.get(command.grantId);
  if (!grant) throw notFound('grant');
  const terms: GrantTerms = { ...grant, ...command.change };
  if (isWithin(grant, terms) && isWithin(terms, grant)) return [];
  if (!isWithin(grant, terms)) assertWithin(state, giver, terms);
  return [{ type: 'GrantChanged', data: { grant_id: grant.id, ...termsData(terms) } }];
}

/** Throws `not_found` when the grant does not exist. */
export function revokeGrant(state: MailboxRecord, grantId: string): readonly MailboxFact[] {
  assertLive(state);
  if (!state.grants.has(grantId)) throw notFound('grant');
  return [{ type: 'GrantRevoked', data: { grant_id: grantId } }];
}

const grantOf = (state: MailboxRecord, principalId: string): HeldGrant | undefined =>
  [...state.grants.values()].find((grant) => grant.principalId === principalId);

const liveGrantOf = (state: MailboxRecord, { principalId, now }: Giver): HeldGrant | undefined => {
  const grant = grantOf(state, principalId);
  const live = grant && (grant.expiresAt === null || Date.parse(grant.expiresAt) > now.getTime());
  return live ? grant : undefined;
};

const termsData = ({ scopes, folderRoles, expiresAt, quotas }: GrantTerms) => ({
  scopes: [...scopes],
  folder_roles: folderRoles && [...folderRoles],
  expires_at: expiresAt,
  quotas: quotas && { ...quotas },
});

function assertWithin(state: MailboxRecord, giver: Giver, terms: GrantTerms): void {
  const bound = liveGrantOf(state, giver);
  if (giver.wider === 'allowed' || (bound && isWithin(bound, terms))) return;
  if (giver.wider === 'after-step-up') throw stepUpRequired();
  const required = terms.scopes.filter((scope) => !bound?.scopes.includes(scope));
  if (required.length > 0) {
    throw new GatewayError('insufficient_scope', 'A grant cannot be wider than your own on this mailbox.', {
      details: { required },
    });
  }
  throw new GatewayError(
    'insufficient_scope',
    'Your own grant on this mailbox is bound to folder roles or quotas or ends earlier; the one you give must be too.',
    {
      details: {
        required: [],
        folder_roles: bound?.folderRoles ?? null,
        expires_at: bound?.expiresAt ?? null,
        quotas: bound?.quotas ?? null,
      },
    },
  );
}

/** True when `bound` allows everything that `terms` allows. */
const isWithin = (bound: GrantTerms, terms: GrantTerms): boolean =>
  terms.scopes.every((scope) => bound.scopes.includes(scope)) &&
  rolesWithin(bound.folderRoles, terms.folderRoles) &&
  endsWithin(bound.expiresAt, terms.expiresAt) &&
  quotasWithin(bound.quotas, terms.quotas);

const rolesWithin = (bound: readonly FolderRole[] | null, roles: readonly FolderRole[] | null): boolean =>
  bound === null || (roles?.every((role) => bound.includes(role)) ?? false);

const endsWithin = (bound: string | null, end: string | null): boolean =>
  bound === null || (end !== null && Date.parse(end) <= Date.parse(bound));

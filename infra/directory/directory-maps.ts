/** The directory as mutable maps, with the indexes that requests use. */
import { blockOf } from '../../commands/mailboxes/mailbox-number.ts';
import type {
  DirectoryState,
  GrantEntry,
  MemberEntry,
  PersonSessionsEntry,
  SessionEntry,
  TokenEntry,
} from '../../commands/ports/directory.ts';
import type { Entity, EntityKey, LookUp } from '../../projections/directory-entities.ts';

/** Entities by kind and id. `state` exposes the same maps, read-only. */
export class DirectoryMaps {
  readonly #organisations = new Map<string, DirectoryStateValue<'organisations'>>();
  readonly #people = new Map<string, DirectoryStateValue<'people'>>();
  readonly #members = new Map<string, DirectoryStateValue<'members'>>();
  readonly #userIdsByOrg = new Map<string, Set<string>>();
  readonly #orgIdsByUser = new Map<string, Set<string>>();
  readonly #invites = new Map<string, DirectoryStateValue<'invites'>>();
  readonly #agents = new Map<string, DirectoryStateValue<'agents'>>();
  readonly #agentOwners = new Map<string, DirectoryStateValue<'agentOwners'>>();
  readonly #tokens = new Map<string, TokenEntry>();
  readonly #oauthGrants = new Map<string, DirectoryStateValue<'oauthGrants'>>();
  readonly #oauthClients = new Map<string, DirectoryStateValue<'oauthClients'>>();
  readonly #tokenIdByHash = new Map<string, string>();
  readonly #sessions = new Map<string, SessionEntry>();
  readonly #sessionIdByHash = new Map<string, string>();
  readonly #personSessions = new Map<string, PersonSessionsEntry>();
  readonly #mailboxes = new Map<string, DirectoryStateValue<'mailboxes'>>();
  readonly #highestMailboxNumbers = new Map<number, number>();
  readonly #grants = new Map<string, GrantEntry>();
  readonly #grantIds = new Map<string, Map<string, string>>();
  readonly #mailboxIdsByPrincipal = new Map<string, Set<string>>();
  readonly #policies = new Map<string, DirectoryStateValue<'policies'>>();
  readonly #legalHolds = new Map<string, DirectoryStateValue<'legalHolds'>>();

  readonly state: DirectoryState = {
    organisations: this.#organisations,
    people: this.#people,
    members: this.#members,
    userIdsByOrg: this.#userIdsByOrg,
    orgIdsByUser: this.#orgIdsByUser,
    invites: this.#invites,
    agents: this.#agents,
    agentOwners: this.#agentOwners,
    tokens: this.#tokens,
    oauthGrants: this.#oauthGrants,
    oauthClients: this.#oauthClients,
    tokenIdByHash: this.#tokenIdByHash,
    sessions: this.#sessions,
    sessionIdByHash: this.#sessionIdByHash,
    personSessions: this.#personSessions,
    mailboxes: this.#mailboxes,
    highestMailboxNumbers: this.#highestMailboxNumbers,
    grants: this.#grants,
    grantIds: this.#grantIds,
    mailboxIdsByPrincipal: this.#mailboxIdsByPrincipal,
    policies: this.#policies,
    legalHolds: this.#legalHolds,
  };

  readonly lookUp: LookUp = (kind, id) => {
    // The map of a kind holds entities of that kind; the compiler cannot infer that.
    return this.#mapOf(kind).get(id) as never;
  };

  put(entity: Entity): void {
    switch (entity.kind) {
      case 'member':
        this.#putMember(entity.value);
        return;
      case 'token':
        this.#tokens.set(entity.value.id, entity.value);
        if (entity.value.secretHash !== null)
          this.#tokenIdByHash.set(entity.value.secretHash, entity.value.id);
        return;
      case 'mailbox':
        this.#mailboxes.set(entity.value.id, entity.value);
        this.#noteNumber(entity.value.number);
        return;
      case 'sessions':
        this.#putSessions(entity.value);
        return;
      case 'grant':
        this.#putGrant(entity.value);
        return;
      default:
        this.#mapOf(entity.kind).set(entity.value.id, entity.value);
    }
  }

  remove({ kind, id }: EntityKey): void {
    const token = kind === 'token' ? this.#tokens.get(id) : undefined;
    if (token && token.secretHash !== null) this.#tokenIdByHash.delete(token.secretHash);
    const grant = kind === 'grant' ? this.#grants.get(id) : undefined;
    if (grant) this.#unlinkGrant(grant);
    const member = kind === 'member' ? this.#members.get(id) : undefined;
    if (member) this.#unlinkMember(member);
    if (kind === 'sessions') this.#unlinkSessions(id);
    this.#mapOf(kind).delete(id);
  }

  /** Empties the maps but keeps their references valid. */
  clear(): void {
    for (const map of Object.values(this.state)) (map as Map<unknown, unknown>).clear();
  }

  #mapOf(kind: EntityKey['kind']): Map<string, unknown> {
    return {
      organisation: this.#organisations,
      person: this.#people,
      member: this.#members,
      invite: this.#invites,
      agent: this.#agents,
      agentOwners: this.#agentOwners,
      token: this.#tokens,
      oauthGrant: this.#oauthGrants,
      oauthClient: this.#oauthClients,
      mailbox: this.#mailboxes,
      grant: this.#grants,
      policy: this.#policies,
      legalHold: this.#legalHolds,
      sessions: this.#personSessions,
    }[kind];
  }

  #putMember(member: MemberEntry): void {
    this.#members.set(member.id, member);
    addTo(this.#userIdsByOrg, member.orgId, member.userId);
    addTo(this.#orgIdsByUser, member.userId, member.orgId);
  }

  #unlinkMember({ orgId, userId }: MemberEntry): void {
    removeFrom(this.#userIdsByOrg, orgId, userId);
    removeFrom(this.#orgIdsByUser, userId, orgId);
  }

  #noteNumber(number: number): void {
    const block = blockOf(number);
    if (number > (this.#highestMailboxNumbers.get(block) ?? 0))
      this.#highestMailboxNumbers.set(block, number);
  }

  #putSessions(entry: PersonSessionsEntry): void {
    this.#unlinkSessions(entry.id);
    this.#personSessions.set(entry.id, entry);
    for (const session of entry.sessions) {
      this.#sessions.set(session.id, session);
      if (session.secretHash !== null) this.#sessionIdByHash.set(session.secretHash, session.id);
    }
  }

  #unlinkSessions(personId: string): void {
    for (const { id, secretHash } of this.#personSessions.get(personId)?.sessions ?? []) {
      this.#sessions.delete(id);
      if (secretHash !== null) this.#sessionIdByHash.delete(secretHash);
    }
  }

  #putGrant(grant: GrantEntry): void {
    this.#grants.set(grant.id, grant);
    const { mailboxId, principalId } = grant;
    entryOf(this.#grantIds, mailboxId, () => new Map<string, string>()).set(principalId, grant.id);
    addTo(this.#mailboxIdsByPrincipal, principalId, mailboxId);
  }

  #unlinkGrant({ id, mailboxId, principalId }: GrantEntry): void {
    const ofMailbox = this.#grantIds.get(mailboxId);
    // Another grant may have replaced it.
    if (ofMailbox?.get(principalId) !== id) return;
    ofMailbox.delete(principalId);
    if (ofMailbox.size === 0) this.#grantIds.delete(mailboxId);
    removeFrom(this.#mailboxIdsByPrincipal, principalId, mailboxId);
  }
}

type DirectoryStateValue<Name extends keyof DirectoryState> =
  DirectoryState[Name] extends ReadonlyMap<unknown, infer Value> ? Value : never;

function entryOf<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const existing = map.get(key);
  if (existing !== undefined) return existing;
  const made = make();
  map.set(key, made);
  return made;
}

const addTo = (index: Map<string, Set<string>>, key: string, value: string): void => {
  entryOf(index, key, () => new Set<string>()).add(value);
};

function removeFrom(index: Map<string, Set<string>>, key: string, value: string): void {
  const values = index.get(key);
  values?.delete(value);
  if (values?.size === 0) index.delete(key);
}

/**
 * Two organisations in memory, made by events, and people with every kind of credential in the first of them. Everybody is
 * an owner of the second one with every scope on its mailbox: what a credential of the first can reach there is a hole.
 */
import { account, registerAccount, verifyEmail } from '../../../commands/accounts/account.ts';
import { session, startSession } from '../../../commands/accounts/session.ts';
import type { Caller } from '../../../commands/kernel/access.ts';
import type { Capability } from '../../../commands/kernel/capability.ts';
import { type Aggregate, decideAndAppend, systemAuthor } from '../../../commands/kernel/decide-and-append.ts';
import {
  assertLive,
  assertSessionLive,
  callerBehind,
  callerSignedIn,
} from '../../../commands/kernel/live-caller.ts';
import { mailbox } from '../../../commands/mailboxes/mailbox.ts';
import { createMailbox } from '../../../commands/mailboxes/manage-mailboxes.ts';
import { agent, createAgent } from '../../../commands/organisation/agent.ts';
import {
  addMember,
  changeRole,
  createOrganisation,
  organisation,
  removeMember,
} from '../../../commands/organisation/organisation.ts';
import { issueToken, token } from '../../../commands/organisation/token.ts';
import type { EventDefinition, Fact } from '../../../commands/values/event.ts';
import { GatewayError } from '../../../commands/values/errors.ts';
import { MAILBOX_SCOPES, type Role, SCOPES } from '../../../commands/values/scopes.ts';
import { IMAP, SMTP } from '../samples/mailbox-facts.ts';
import { invokeAs } from './invoke-as.ts';
import { type MemoryGateway, startMemoryGateway } from './memory-gateway.ts';

export const CREDENTIALS = ['stepped-up session', 'session', 'token', 'agent token'] as const;
export type CredentialKind = (typeof CREDENTIALS)[number];

/** A person, and the id of each credential. */
export interface Holder {
  readonly userId: string;
  readonly ids: Readonly<Record<CredentialKind, string>>;
}

/** `allowed`, or the code of the refusal. */
export type Answer = string;

const PASSWORD = { type: 'password', username: 'box', password: 'secret' };
const HALF_A_DAY_MS = 12 * 3_600_000;
const STALE_MS = 20 * 60_000;

/** The handler was reached: the gate let the call pass. */
class Passed extends Error {}

/** The capability with its gate and its input, but without what it does. */
const gateOf = (capability: Capability): Capability => ({
  ...capability,
  idempotency: { kind: 'none' },
  handle: () => Promise.reject(new Passed()),
});

export class AuthorizationWorld {
  readonly gateway: MemoryGateway;
  readonly foreignOrgId: string;
  #mailboxes = { granted: '', ungranted: '', foreign: '', unknown: 'mbx_unknown' };

  private constructor(gateway: MemoryGateway) {
    this.gateway = gateway;
    this.foreignOrgId = gateway.ports.ids.newId('org');
  }

  static async open(): Promise<AuthorizationWorld> {
    const world = new AuthorizationWorld(await startMemoryGateway());
    const { org } = world.gateway;
    await world.#write(world.foreignOrgId, organisation, world.foreignOrgId, (state) =>
      createOrganisation(state, { name: 'Foreign Ltd', ownerId: org.userId }),
    );
    const add = async (orgId: string): Promise<string> => {
      const by = await world.signIn(orgId, org.userId);
      const input = { email: 'box@example.com', imap: IMAP, smtp: SMTP, auth: PASSWORD };
      return (await world.gateway.call<{ id: string }>(createMailbox, input, { token: by })).id;
    };
    world.#mailboxes = {
      ...world.#mailboxes,
      granted: await add(org.orgId),
      ungranted: await add(org.orgId),
      foreign: await add(world.foreignOrgId),
    };
    return world;
  }

  get mailboxes(): Readonly<Record<'granted' | 'ungranted' | 'foreign' | 'unknown', string>> {
    return this.#mailboxes;
  }

  /** A person with every credential in the first organisation; null: of the second one only. */
  async holder(role: Role | null, isVerified = true): Promise<Holder> {
    const { ids, personal } = this.gateway.ports;
    const { orgId } = this.gateway.org;
    const userId = ids.newId('usr');
    const email = await personal.seal(userId, `${userId}@example.net`);
    const name = await personal.seal(userId, 'A person');
    await this.#write(orgId, account, userId, (state) =>
      registerAccount(state, { email, name, isVerified: false }),
    );
    if (isVerified) await this.#write(orgId, account, userId, verifyEmail);
    for (const [id, given] of [[orgId, role] as const, [this.foreignOrgId, 'owner'] as const]) {
      if (given === null) continue;
      await this.#write(id, organisation, id, (state) =>
        addMember(state, { userId, role: given, by: 'operator' }),
      );
    }
    const agentId = ids.newId('agt');
    await this.#write(orgId, agent, agentId, (state) =>
      createAgent(state, { name: 'Agent', ownerId: userId }),
    );
    const { granted, foreign } = this.#mailboxes;
    for (const [id, ofOrg] of [[granted, orgId] as const, [foreign, this.foreignOrgId] as const]) {
      await this.#grant(ofOrg, id, userId, 'user');
      await this.#grant(ofOrg, id, agentId, 'agent');
    }
    return {
      userId,
      ids: {
        'stepped-up session': await this.signIn(orgId, userId),
        session: await this.signIn(orgId, userId, STALE_MS),
        token: await this.#token(userId, 'user'),
        'agent token': await this.#token(agentId, 'agent'),
      },
    };
  }

  setRole({ userId }: Holder, role: Role): Promise<void> {
    const { orgId } = this.gateway.org;
    return this.#write(orgId, organisation, orgId, (state) =>
      changeRole(state, { userId, role, by: 'operator' }),
    );
  }

  remove({ userId }: Holder): Promise<void> {
    const { orgId } = this.gateway.org;
    return this.#write(orgId, organisation, orgId, (state) =>
      removeMember(state, { userId, reason: 'removed', by: 'operator' }),
    );
  }

  /** The caller behind a credential, as the adapters find it. Throws its refusal. */
  callerWith({ ids }: Holder, kind: CredentialKind): Caller {
    const { directory, clock } = this.gateway.ports;
    const { state } = directory;
    const now = clock.now();
    const signedIn = state.sessions.get(ids[kind]);
    if (signedIn) {
      assertSessionLive(signedIn, now);
      return callerSignedIn(state, signedIn, now);
    }
    const entry = state.tokens.get(ids[kind]);
    if (!entry) throw new Error(`no credential ${ids[kind]}`);
    assertLive(entry, now);
    return callerBehind(state, entry, now);
  }

  /** How the gate answers this credential; the handler does not run. */
  async answerTo(
    holder: Holder,
    kind: CredentialKind,
    [capability, input]: readonly [Capability, unknown],
  ): Promise<Answer> {
    try {
      const caller = this.callerWith(holder, kind);
      await invokeAs(this.gateway.ports, caller, [gateOf(capability), input]);
    } catch (error) {
      if (error instanceof Passed) return 'allowed';
      if (error instanceof GatewayError) return error.code;
      throw error;
    }
    throw new Error(`${capability.name} answered without its handler`);
  }

  /** A session whose password was given `ageMs` ago. */
  async signIn(orgId: string, userId: string, ageMs = 0): Promise<string> {
    const { ids, personal, clock } = this.gateway.ports;
    const id = ids.newId('ses');
    const secretHash = await personal.seal(userId, id);
    const now = new Date(clock.now().getTime() - ageMs);
    await this.#write(orgId, session, id, (state) => startSession(state, { userId, secretHash, now }));
    return id;
  }

  /** A token with every scope, also those that nobody can ask for. */
  async #token(principalId: string, kind: 'user' | 'agent'): Promise<string> {
    const { ids, clock, personal } = this.gateway.ports;
    const id = ids.newId('tok');
    const terms = {
      principal_id: principalId,
      principal_kind: kind,
      name: 'Token',
      surface: 'rest' as const,
      scopes: [...SCOPES],
      mailbox_ids: null,
      expires_at: new Date(clock.now().getTime() + HALF_A_DAY_MS).toISOString(),
      secret_hash: await personal.seal(principalId, id),
    };
    await this.#write(this.gateway.org.orgId, token, id, (state) => issueToken(state, terms));
    return id;
  }

  #grant(orgId: string, mailboxId: string, principalId: string, kind: 'user' | 'agent'): Promise<void> {
    const data = {
      grant_id: this.gateway.ports.ids.newId('grt'),
      principal_id: principalId,
      principal_kind: kind,
      scopes: [...MAILBOX_SCOPES],
      folder_roles: null,
      expires_at: null,
      quotas: null,
    };
    return this.#write(orgId, mailbox, mailboxId, () => [{ type: 'GrantGiven' as const, data }]);
  }

  async #write<State, D extends EventDefinition>(
    orgId: string,
    aggregate: Aggregate<State, D>,
    id: string,
    decide: (state: State) => readonly Fact<D>[],
  ): Promise<void> {
    const { ports } = this.gateway;
    const { position } = await decideAndAppend(ports, systemAuthor(ports, orgId), aggregate, { id, decide });
    if (position !== null) await ports.directory.waitFor(position);
  }
}

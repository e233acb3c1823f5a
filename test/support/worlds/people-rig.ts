/** A memory gateway with more people: members, their agents, tokens, grants and sessions, and the work after departures. */
import { decideAndAppend, systemAuthor } from '../../../commands/kernel/decide-and-append.ts';
import { createMailbox } from '../../../commands/mailboxes/manage-mailboxes.ts';
import { createGrant } from '../../../commands/mailboxes/manage-grants.ts';
import { createAgent } from '../../../commands/organisation/add-agent.ts';
import { addPerson } from '../../../commands/organisation/add-person.ts';
import { createToken } from '../../../commands/organisation/manage-tokens.ts';
import { changeRole, organisation } from '../../../commands/organisation/organisation.ts';
import type { Capability } from '../../../commands/kernel/capability.ts';
import type { DirectoryState } from '../../../commands/ports/directory.ts';
import type { Ports } from '../../../commands/ports/ports.ts';
import type { FolderRole } from '../../../commands/values/folder-roles.ts';
import type { Role, Scope } from '../../../commands/values/scopes.ts';
import { sweepersOf } from '../../../infra/background/sweepers.ts';
import { IMAP, SMTP } from '../samples/mailbox-facts.ts';
import { invokeAs } from './invoke-as.ts';
import { type MemoryGateway, startMemoryGateway } from './memory-gateway.ts';

/** Within the lifetime of every kind of token. */
const EXPIRES_AT = '2026-04-01T00:00:00.000Z';

/** What a member has in the organisation. */
export interface Belongings {
  readonly userId: string;
  readonly sessionId: string;
  readonly tokenId: string;
  readonly agentId: string;
  readonly agentTokenId: string;
}

export class PeopleRig {
  readonly gateway: MemoryGateway;
  readonly #names = { count: 0 };

  private constructor(gateway: MemoryGateway) {
    this.gateway = gateway;
  }

  static async start(): Promise<PeopleRig> {
    return new PeopleRig(await startMemoryGateway());
  }

  get ports(): Ports {
    return this.gateway.ports;
  }

  get state(): DirectoryState {
    return this.ports.directory.state;
  }

  get orgId(): string {
    return this.gateway.org.orgId;
  }

  /** A new account, as a member. */
  async join(role: Role, name = `person${String((this.#names.count += 1))}`): Promise<string> {
    const { ports, orgId } = this;
    const person = { orgId, email: `${name}@example.com`, name, role };
    const userId = await addPerson(ports, systemAuthor(ports, orgId), person);
    await this.catchUp();
    return userId;
  }

  /** Only the event, without the work that follows it. */
  async setRole(userId: string, role: Role): Promise<void> {
    const { ports, orgId } = this;
    await decideAndAppend(ports, systemAuthor(ports, orgId), organisation, {
      id: orgId,
      decide: (state) => changeRole(state, { userId, role, by: 'operator' }),
    });
    await this.catchUp();
  }

  /** As the person in a session that is stepped up. */
  async act<Output = Record<string, unknown>>(
    userId: string,
    capability: Capability,
    input: object,
    ports = this.ports,
  ): Promise<Output> {
    const caller = this.gateway.callerOf(await this.gateway.signIn(userId));
    const { output } = await invokeAs(ports, caller, [capability, input]);
    await this.catchUp();
    return output as Output;
  }

  async mailbox(userId = this.gateway.org.userId): Promise<string> {
    const auth = { type: 'password', username: 'box', password: 'secret' };
    const input = { email: 'box@example.com', imap: IMAP, smtp: SMTP, auth };
    const { id } = await this.act<{ id: string }>(userId, createMailbox, input);
    return id;
  }

  /** For all folders, or for those with these roles. */
  async grant(mailboxId: string, principalId: string, roles?: readonly FolderRole[]): Promise<string> {
    const input = {
      ...{ mailbox_id: mailboxId, principal_id: principalId, scopes: ['messages:read'] },
      ...(roles === undefined ? {} : { folder_roles: roles }),
    };
    return (await this.act<{ id: string }>(this.gateway.org.userId, createGrant, input)).id;
  }

  async token(userId: string, principalId: string, scopes: readonly Scope[]): Promise<string> {
    const input = {
      name: 'Token',
      surface: 'rest',
      scopes,
      expires_at: EXPIRES_AT,
      principal_id: principalId,
    };
    return (await this.act<{ id: string }>(userId, createToken, input)).id;
  }

  async belongings(userId: string, mailboxId: string): Promise<Belongings> {
    const { id: agentId } = await this.act<{ id: string }>(userId, createAgent, { name: 'Agent' });
    await this.grant(mailboxId, userId);
    await this.grant(mailboxId, agentId);
    const tokenId = await this.token(userId, userId, ['messages:read', 'mailboxes:read']);
    const agentTokenId = await this.token(userId, agentId, ['messages:read']);
    return { userId, sessionId: await this.gateway.signIn(userId), tokenId, agentId, agentTokenId };
  }

  /** Which of them can still be used. */
  usable({ sessionId, tokenId, agentTokenId }: Belongings): readonly string[] {
    return Object.entries({ sessionId, tokenId, agentTokenId }).flatMap(([name, id]) => {
      try {
        return this.gateway.callerOf(id).scopes.size > 0 ? [name] : [];
      } catch {
        return [];
      }
    });
  }

  /** Runs the row of the background table until it finds nothing. */
  async sweep(): Promise<number> {
    const row = sweepersOf(this.ports).find(({ name }) => name === 'departures');
    let settled = 0;
    for (let pass = 0; pass < 5; pass += 1) {
      const now = this.ports.clock.now();
      const room = { now, limit: 100, except: [], ofOneMailbox: Infinity, busy: [] };
      const found = (await row?.find(room)) ?? [];
      if (found.length === 0) return settled;
      for (const task of found) await row?.settle(task);
      settled += found.length;
      await this.catchUp();
    }
    throw new Error('the row finds the same again and again');
  }

  /** The directory contains everything written. */
  async catchUp(): Promise<void> {
    const last = this.gateway.events.all.at(-1);
    if (last) await this.ports.directory.waitFor(last.position);
  }

  /** Types of the events of a stream. */
  typesOf(stream: string): readonly string[] {
    return this.gateway.events.all.flatMap(({ streamName, type }) => (streamName === stream ? [type] : []));
  }
}

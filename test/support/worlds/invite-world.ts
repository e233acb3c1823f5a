/** People who invite, accept, leave and erase, in a gateway in memory; further replicas share its log and secrets. */
import { setImmediate } from 'node:timers/promises';
import { createInvite, type Invite } from '../../../commands/organisation/manage-invites.ts';
import { createMailbox } from '../../../commands/mailboxes/manage-mailboxes.ts';
import {
  type Actor,
  addMember,
  changeRole,
  createOrganisation,
  organisation,
  type OrganisationState,
  removeMember,
} from '../../../commands/organisation/organisation.ts';
import { addPerson } from '../../../commands/organisation/add-person.ts';
import {
  type AnyPublicRoute,
  invokePublicRoute,
  type PublicContext,
} from '../../../commands/kernel/public-route.ts';
import { decideAndAppend, systemAuthor } from '../../../commands/kernel/decide-and-append.ts';
import {
  carryOutInvite,
  forgetEndedInvite,
  listAcceptedInvites,
} from '../../../commands/organisation/carry-out-invite.ts';
import type { Capability } from '../../../commands/kernel/capability.ts';
import { GatewayError } from '../../../commands/values/errors.ts';
import type { DirectoryState } from '../../../commands/ports/directory.ts';
import type { Ports } from '../../../commands/ports/ports.ts';
import type { Role } from '../../../commands/values/scopes.ts';
import { acceptInviteRoute } from '../../../commands/organisation/accept-invite.ts';
import { invokeAs } from './invoke-as.ts';
import type { MemoryLinks } from '../fakes/memory-links.ts';
import { IMAP, SMTP } from '../samples/mailbox-facts.ts';
import { type MemoryGateway, startMemoryGateway } from './memory-gateway.ts';

export const PASSWORD = 'a long enough passphrase';
const MOST_TRIES = 5_000;
const LOGIN = { type: 'password', username: 'box', password: 'secret' };

export class InviteWorld {
  readonly gateway: MemoryGateway;
  readonly ports: Ports;
  readonly links: MemoryLinks;
  #count = 0;

  private constructor(gateway: MemoryGateway) {
    this.gateway = gateway;
    this.ports = gateway.ports;
    this.links = gateway.links;
  }

  static async open(): Promise<InviteWorld> {
    return new InviteWorld(await startMemoryGateway());
  }

  get state(): DirectoryState {
    return this.ports.directory.state;
  }

  get orgId(): string {
    return this.gateway.org.orgId;
  }

  roleOf(userId: string, orgId = this.orgId): Role | undefined {
    return this.state.members.get(`${orgId}/${userId}`)?.role;
  }

  newAddress(): string {
    this.#count += 1;
    return `person${String(this.#count)}@example.net`;
  }

  /** A member who came through the operator; returns the id. */
  member(role: Role, email = this.newAddress(), orgId = this.orgId): Promise<string> {
    const author = systemAuthor(this.ports, orgId);
    return addPerson(this.ports, author, { orgId, email, name: `A ${role}`, role });
  }

  remove(userId: string, by: Actor = 'operator', ports = this.ports): Promise<void> {
    return this.#change((state) => removeMember(state, { userId, reason: 'removed', by }), ports);
  }

  setRole(userId: string, role: Role, by: Actor = 'operator', ports = this.ports): Promise<void> {
    return this.#change((state) => changeRole(state, { userId, role, by }), ports);
  }

  async #change(decide: (state: OrganisationState) => ReturnType<typeof removeMember>, ports: Ports) {
    const { position } = await decideAndAppend(ports, systemAuthor(ports, this.orgId), organisation, {
      id: this.orgId,
      decide,
    });
    if (position !== null) await ports.directory.waitFor(position);
  }

  /** An account in no organisation. */
  async account(email: string): Promise<string> {
    const userId = await this.member('member', email);
    await this.remove(userId);
    return userId;
  }

  /** Removes the person as soon as there is a membership. */
  async removeSoon(userId: string, ports = this.ports): Promise<void> {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      try {
        await this.remove(userId, 'operator', ports);
        return;
      } catch (error) {
        if (!(error instanceof GatewayError) || error.code !== 'not_found') throw error;
      }
      await setImmediate();
    }
    throw new Error(`${userId} never became a member`);
  }

  /** An organisation with its owner. */
  async found(ownerId: string): Promise<string> {
    const orgId = this.ports.ids.newId('org');
    const { position } = await decideAndAppend(this.ports, systemAuthor(this.ports, orgId), organisation, {
      id: orgId,
      decide: (state) => createOrganisation(state, { name: 'Own Ltd', ownerId }),
    });
    await this.ports.directory.waitFor(position ?? 0n);
    return orgId;
  }

  async join(userId: string, role: Role, orgId: string): Promise<void> {
    const { position } = await decideAndAppend(this.ports, systemAuthor(this.ports, orgId), organisation, {
      id: orgId,
      decide: (state) => addMember(state, { userId, role, by: 'operator' }),
    });
    await this.ports.directory.waitFor(position ?? 0n);
  }

  /** The directory as another process has it. */
  async catchUp(): Promise<void> {
    await this.ports.directory.waitFor(await this.ports.events.headPosition());
  }

  /** What the background work does with invites. */
  async sweep(): Promise<void> {
    await this.catchUp();
    const author = systemAuthor(this.ports, this.orgId);
    for (const { id } of listAcceptedInvites(this.ports)) await carryOutInvite(this.ports, author, id);
    const made = this.gateway.events.all.filter(({ type }) => type === 'InviteCreated');
    for (const { streamName } of made) await forgetEndedInvite(this.ports, streamName.replace('invite-', ''));
  }

  invokeWith(ports: Ports, capability: Capability, input: unknown, tokenId: string): Promise<unknown> {
    return invokeAs(ports, this.gateway.callerOf(tokenId), [capability, input]);
  }

  async mailbox(): Promise<string> {
    const input = { email: 'box@example.com', imap: IMAP, smtp: SMTP, auth: LOGIN };
    const { id } = await this.gateway.call<{ id: string }>(createMailbox, input, {
      token: await this.gateway.signIn(),
    });
    return id;
  }

  async invite(input: object = {}, by?: string): Promise<Invite> {
    const token = await this.gateway.signIn(by);
    const all = { email: this.newAddress(), role: 'member', ...input };
    return await this.gateway.call<Invite>(createInvite, all, { token });
  }

  /** The link as the mail has it. */
  linkOf({ id, expires_at }: Pick<Invite, 'id' | 'expires_at'>): Promise<string> {
    return this.links.make('invite', id, this.orgId, new Date(expires_at));
  }

  publicCall(route: AnyPublicRoute, input: unknown, ports = this.ports): Promise<unknown> {
    const context: PublicContext = {
      ports,
      routes: { registry: [], publicRoutes: [] },
      requestId: ports.ids.newId('req'),
      surface: 'rest',
      source: 'somewhere',
      device: '00',
      sealClient: (id) => ports.personal.seal(id, '{}'),
      afterAnswer: () => undefined,
      notePosition: () => undefined,
    };
    return invokePublicRoute(route, input, context);
  }

  accept(token: string, more: object = { name: 'Ida Invited', password: PASSWORD }, ports = this.ports) {
    return this.publicCall(acceptInviteRoute, { token, ...more }, ports);
  }
}

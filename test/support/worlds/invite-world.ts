/** People who invite, accept, leave and erase, in a gateway in memory; further replicas share its log and secrets. */
import { createInvite, type Invite } from '../../../commands/organisation/manage-invites.ts';
import { createMailbox } from '../../../commands/mailboxes/manage-mailboxes.ts';
import {
  type Actor,
  changeRole,
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
import type { DirectoryState } from '../../../commands/ports/directory.ts';
import type { Ports } from '../../../commands/ports/ports.ts';
import type { Role } from '../../../commands/values/scopes.ts';
import { acceptInviteRoute } from '../../../commands/organisation/accept-invite.ts';
import { MemoryLinks } from '../fakes/memory-links.ts';
import { IMAP, SMTP } from '../samples/mailbox-facts.ts';
import { type MemoryGateway, startMemoryGateway } from './memory-gateway.ts';

export const PASSWORD = 'a long enough passphrase';
const LOGIN = { type: 'password', username: 'box', password: 'secret' };

export class InviteWorld {
  readonly gateway: MemoryGateway;
  readonly ports: Ports;
  readonly links: MemoryLinks;
  #count = 0;

  private constructor(gateway: MemoryGateway, links: MemoryLinks) {
    this.gateway = gateway;
    this.ports = gateway.ports;
    this.links = links;
  }

  static async open(): Promise<InviteWorld> {
    const gateway = await startMemoryGateway();
    const links = new MemoryLinks(gateway.clock);
    Object.assign(gateway.ports, { links });
    return new InviteWorld(gateway, links);
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

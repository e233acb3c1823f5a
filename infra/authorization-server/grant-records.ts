/** What the authorization server writes to the log: each event is stored before its effect is answered. */
import type { IncomingMessage } from 'node:http';
import { requestAuthor } from '../../commands/kernel/access-events.ts';
import {
  type Author,
  decideAndAppend,
  loadAggregate,
  systemAuthor,
} from '../../commands/kernel/decide-and-append.ts';
import { isConnected } from '../../commands/oauth/connections.ts';
import { oauthClient, selfRegisterOAuthClient } from '../../commands/oauth/oauth-client.ts';
import { endOAuthGrant, type GrantEnd, oauthGrant } from '../../commands/oauth/oauth-grant.ts';
import { rotationEntry } from '../../commands/oauth/token-events.ts';
import type { OAuthGrantEntry } from '../../commands/ports/directory.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import { Clients } from '../../read-api/http/clients.ts';

export type RecordPorts = Pick<
  Ports,
  'events' | 'ids' | 'clock' | 'directory' | 'accessLog' | 'personal' | 'log'
>;

/** The request in which something happens. */
export interface AtRequest {
  readonly request: IncomingMessage;
  readonly requestId: string;
}

export class GrantRecords {
  readonly #ports: RecordPorts;
  readonly #clients: Clients;

  constructor(ports: RecordPorts) {
    this.#ports = ports;
    this.#clients = new Clients(ports);
  }

  /** A grant that has not ended, of a person who is still of its organisation. Throws `store_unavailable`. */
  async live(grantId: string): Promise<OAuthGrantEntry | null> {
    const grant = await this.#known(grantId);
    const { directory, clock } = this.#ports;
    return grant && isConnected(directory.state, grant, clock.now()) ? grant : null;
  }

  /** Ends the grant; resolves when this process knows it. Throws `store_unavailable`. */
  async end(grantId: string, reason: GrantEnd, at: AtRequest): Promise<void> {
    const grant = await this.#known(grantId);
    if (grant === undefined) return;
    const { position } = await decideAndAppend(this.#ports, await this.#authorOf(grant, at), oauthGrant, {
      id: grantId,
      decide: (state) => endOAuthGrant(state, reason),
    });
    if (position !== null) await this.#ports.directory.waitFor(position);
  }

  /** Resolves when the log has it. Throws `store_unavailable`. */
  async rotated(grant: OAuthGrantEntry, rotation: number, at: AtRequest): Promise<void> {
    const { accessLog, clock } = this.#ports;
    const author = await this.#authorOf(grant, at);
    await accessLog.record(rotationEntry(author, clock.now(), { grantId: grant.id, rotation }));
  }

  /** Resolves when the log has it. Throws `store_unavailable`. */
  async selfRegistered(
    clientId: string,
    client: { readonly name: string; readonly redirectUris: readonly string[] },
    { requestId }: AtRequest,
  ): Promise<void> {
    const origin = { requestId, correlationId: requestId, causationId: requestId };
    const author = { ...systemAuthor(this.#ports, null), ...origin };
    await decideAndAppend(this.#ports, author, oauthClient, {
      id: clientId,
      decide: (state) =>
        selfRegisterOAuthClient(state, { name: client.name, redirect_uris: [...client.redirectUris] }),
    });
  }

  /** One that another process has just added may not be in the directory of this one yet. */
  async #known(grantId: string): Promise<OAuthGrantEntry | undefined> {
    const { directory, events } = this.#ports;
    const known = directory.state.oauthGrants.get(grantId);
    if (known) return known;
    const { position } = await loadAggregate(events, oauthGrant, grantId);
    if (position !== null) await directory.waitFor(position);
    return directory.state.oauthGrants.get(grantId);
  }

  async #authorOf({ id, orgId, principalId }: OAuthGrantEntry, at: AtRequest): Promise<Author> {
    return requestAuthor({
      credential: { id, orgId, principalId, actor: 'delegated' },
      client: await this.#clients.seal(principalId, at.request),
      surface: 'mcp',
      requestId: at.requestId,
    });
  }
}

/** Opens REST and MCP over the same capabilities, with what they share: request gates, limits, the record of token use. */
import type { Ports } from '../../commands/ports/ports.ts';
import { openMcp } from '../../mcp/mcp-endpoint.ts';
import { capabilities } from '../../read-api/capabilities.ts';
import { openRequestGates } from '../../read-api/http/request-gate.ts';
import { providerCallback } from '../../read-api/http/provider-callback.ts';
import { publicRoutes } from '../../read-api/http/public-routes.ts';
import { restRouter } from '../../read-api/http/rest-router.ts';
import { oauthMetadata } from '../../read-api/http/oauth-metadata.ts';
import {
  openAuthorizationServer,
  type AuthorizationServerOptions,
} from '../authorization-server/authorization-server.ts';
import { PostgresMcpCalls } from '../postgres/mcp-calls.ts';
import { startTokenUse } from '../security/postgres-token-use.ts';
import { unsubscribeRouter } from '../../read-api/http/unsubscribe.ts';
import { consoleRouter } from './console-router.ts';
import type { Adapters } from './http-server.ts';

export interface AdapterOptions {
  readonly ports: Ports;
  /** The direct address of Postgres, to receive cancellations of calls. */
  readonly directUrl: string;
  readonly allowedOrigins: readonly string[];
  /** Without an address the gateway sends no mail of its own. */
  readonly systemMail: { readonly smtpUrl: string | null };
  readonly oauth: Omit<AuthorizationServerOptions, 'ports'>;
}

/** Both adapters; their background work is put on the stack for its owner to close. */
export function openAdapters(
  { ports, directUrl, allowedOrigins, systemMail, oauth }: AdapterOptions,
  opened: AsyncDisposableStack,
): Adapters {
  const { sql, clock, log } = ports;
  const tokenUse = startTokenUse(sql, clock, log);
  opened.defer(() => tokenUse.close());
  const doors = openRequestGates(ports, {
    allowedOrigins,
    noteUse: (tokenId) => {
      tokenUse.note(tokenId);
    },
  });
  const calls = opened.use(new PostgresMcpCalls({ sql, directUrl, clock, log }));
  const mcp = openMcp({ registry: capabilities, ports, calls, door: doors.mcp });
  opened.defer(() => mcp.close());
  return {
    providerCallback: providerCallback(ports),
    oauth: openAuthorizationServer({ ports, ...oauth }),
    wellKnown: oauthMetadata({
      baseUrl: ports.server.baseUrl,
      selfRegistration: oauth.selfRegistration,
    }),
    unsubscribe: unsubscribeRouter(ports),
    console: consoleRouter({
      signUp: ports.server.signUp,
      hasSystemMail: systemMail.smtpUrl !== null,
    }),
    rest: restRouter({ registry: capabilities, publicRoutes, ports, door: doors.rest }),
    mcp: mcp.handle,
  };
}

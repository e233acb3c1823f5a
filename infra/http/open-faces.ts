/** REST and MCP over the same capabilities, with what they share: doors, limits, the note of a token's use. */
import type { Ports } from '../../commands/kernel/ports.ts';
import { openMcp } from '../../mcp/mcp-endpoint.ts';
import { capabilities } from '../../read-api/capabilities.ts';
import { openDoors } from '../../read-api/http/door.ts';
import { providerCallback } from '../../read-api/http/provider-callback.ts';
import { publicRoutes } from '../../read-api/public-routes.ts';
import { restRouter } from '../../read-api/http/rest-router.ts';
import { startTokenUse } from '../token-use.ts';
import { consoleRouter } from './console-router.ts';
import type { Faces } from './http-server.ts';

/** Both faces; what runs behind them is put on the stack for its owner to close. */
export function openFaces(
  ports: Ports,
  allowedOrigins: readonly string[],
  opened: AsyncDisposableStack,
): Faces {
  const tokenUse = startTokenUse(ports.sql, ports.clock, ports.log);
  opened.defer(() => tokenUse.close());
  const doors = openDoors(ports, {
    allowedOrigins,
    noteUse: (tokenId) => {
      tokenUse.note(tokenId);
    },
  });
  const mcp = openMcp({ registry: capabilities, ports, door: doors.mcp });
  opened.defer(() => mcp.close());
  return {
    providerCallback: providerCallback(ports),
    console: consoleRouter(),
    rest: restRouter({ registry: capabilities, publicRoutes, ports, door: doors.rest }),
    mcp: mcp.handle,
  };
}

import type { Caller } from '../../../commands/kernel/access.ts';
import type { Capability, Request } from '../../../commands/kernel/capability.ts';
import { invokeCapability, type Outcome } from '../../../commands/kernel/invoke-capability.ts';
import type { Ports } from '../../../commands/ports/ports.ts';

/** One call as REST makes it, without the adapter; `request` replaces single fields of the request. */
export const invokeAs = (
  ports: Ports,
  caller: Caller,
  [capability, input]: readonly [capability: Capability, input: unknown],
  request: Partial<Request> = {},
): Promise<Outcome> =>
  invokeCapability({
    capability,
    input,
    caller,
    client: null,
    registry: [],
    ports,
    request: {
      id: ports.ids.newId('req'),
      surface: 'rest',
      idempotencyKey: null,
      ifMatch: null,
      ifPosition: null,
      mcpSessionId: null,
      ...request,
    },
  });

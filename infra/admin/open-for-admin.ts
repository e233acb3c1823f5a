/** The core for one command: on the stores of the running process when there is one, else opened and closed again. */
import type { Log } from '../../commands/ports/ports.ts';
import type { Config } from '../process/config.ts';
import { forCommand } from '../process/locate-stores.ts';
import type { Core } from '../process/composition.ts';

/** Tokens name the address they are for, so that of the running process is taken. Throws one sentence. */
export async function openForAdmin(
  config: Config,
  log: Log,
  may: { readonly mayMake?: boolean } = {},
): Promise<Core> {
  const { config: complete, owner } = await forCommand(config, may);
  const ownAddress = `http://${config.host}:${String(config.port)}`;
  const baseUrl = owner?.base_url ?? complete.baseUrl ?? ownAddress;
  // Most of the gateway, which nobody waits for when there are no stores.
  const { openCore } = await import('../process/composition.ts');
  return await openCore({ config: complete, log, baseUrl });
}

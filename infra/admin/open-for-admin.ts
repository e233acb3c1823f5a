/**
 * The core for one command: on the stores of the running process, else on stores opened and closed for the
 * command.
 */
import type { Log } from '../../commands/ports/ports.ts';
import type { Config } from '../process/config.ts';
import { forCommand } from '../process/locate-stores.ts';
import type { Core } from '../process/composition.ts';

/** Uses the base URL of the running process, because tokens contain it. Throws one sentence. */
export async function openForAdmin(
  config: Config,
  log: Log,
  may: { readonly mayMake?: boolean } = {},
): Promise<Core> {
  const { config: complete, owner } = await forCommand(config, may);
  const ownAddress = `http://${config.host}:${String(config.port)}`;
  const baseUrl = owner?.base_url ?? complete.baseUrl ?? ownAddress;
  // Imported late: the module loads most of the gateway, which is wasted when there are no stores.
  const { openCore } = await import('../process/composition.ts');
  return await openCore({ config: complete, log, baseUrl });
}

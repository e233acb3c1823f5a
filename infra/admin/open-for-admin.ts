/** The core for one command: that of the running gateway when there is one, else opened and closed again. */
import type { Log } from '../../commands/kernel/ports.ts';
import type { Config } from '../config.ts';
import { type Core, openCore } from '../open-core.ts';
import { isAlive, readRunFile } from '../run-file.ts';

/** Tokens name the address they are for, so the running gateway's own is taken. */
export async function openForAdmin(config: Config, log: Log): Promise<Core> {
  const facts = readRunFile(config.dataDir);
  if (facts && (await isAlive(facts))) {
    const { base_url: baseUrl, database_url: databaseUrl, eventstore_url: eventStoreUrl } = facts;
    return await openCore({ config, log, baseUrl, databaseUrl, eventStoreUrl });
  }
  const baseUrl = config.baseUrl ?? `http://${config.host}:${String(config.port)}`;
  return await openCore({ config, log, baseUrl });
}

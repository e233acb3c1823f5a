/**
 * The addresses of the stores, for a process that runs none: from the settings, or from the process on the
 * same folder.
 */
import type { Config } from './config.ts';
import { requireGateway } from './data-folder.ts';
import { isAlive, readRunFile, type RunFacts } from './run-file.ts';

/** The facts of the living process that owns `DATA_DIR`, or null. */
async function runningOwner(dataDir: string): Promise<RunFacts | null> {
  const facts = readRunFile(dataDir);
  return facts !== null && (await isAlive(facts)) ? facts : null;
}

/** The configuration; settings that are not set are taken from the running owner of the folder. */
export const beside = (config: Config, facts: RunFacts): Config => ({
  ...config,
  baseUrl: config.baseUrl ?? facts.base_url,
  database: config.database ?? { url: facts.database_url, directUrl: facts.database_direct_url },
  eventStoreUrl: config.eventStoreUrl ?? facts.eventstore_url,
});

/**
 * The configuration of a command on the machine: on the stores of the process that runs on the folder, or on
 * its own. Throws one sentence, also when no gateway exists and the command may not create one.
 */
export async function forCommand(
  config: Config,
  { mayMake = false }: { readonly mayMake?: boolean } = {},
): Promise<{ config: Config; owner: RunFacts | null }> {
  const owner = await runningOwner(config.dataDir);
  if (owner !== null) return { owner, config: beside(config, owner) };
  const complete = await withStores(config);
  if (!mayMake) requireGateway(complete);
  return { owner, config: complete };
}

/** The complete configuration of a process with these roles. Throws one sentence that names what to set. */
export async function withStores(config: Config): Promise<Config> {
  const { roles, database, eventStoreUrl, dataDir } = config;
  if (roles.has('embedded') || (database !== null && eventStoreUrl !== null)) return config;
  const facts = await runningOwner(dataDir);
  if (facts !== null) return beside(config, facts);
  throw new Error(
    `ROLES leaves embedded out, so DATABASE_URL and EVENTSTORE_URL must say where the stores are; or start a process with ROLES=embedded on ${dataDir} first.`,
  );
}

/**
 * What a command works on: the stores of the running process, else stores opened and closed for the command.
 * `composition.ts` is imported late: it loads most of the gateway, which is wasted when there are no stores.
 */
import type { Client } from 'pg';
import type { Log } from '../../commands/ports/ports.ts';
import type { Config } from '../process/config.ts';
import { forCommand } from '../process/locate-stores.ts';
import { openDirectConnection } from '../postgres/direct-connection.ts';
import { openPool, postgresSql } from '../postgres/pool.ts';
import type { LeadParts } from '../projector/lead.ts';
import { createPersonalData } from '../security/personal-data.ts';
import { systemClock } from '../platform/system-clock.ts';
import type { Core } from '../process/composition.ts';

/** The core. Uses the base URL of the running process, because tokens contain it. Throws one sentence. */
export async function openForAdmin(
  config: Config,
  log: Log,
  may: { readonly mayMake?: boolean } = {},
): Promise<Core> {
  const { config: complete, owner } = await forCommand(config, may);
  const ownAddress = `http://${config.host}:${String(config.port)}`;
  const baseUrl = owner?.base_url ?? complete.baseUrl ?? ownAddress;
  const { openCore } = await import('../process/composition.ts');
  return await openCore({ config: complete, log, baseUrl });
}

/** Creating an index over millions of rows takes long. */
const STATEMENT_TIMEOUT_MS = 3_600_000;

export interface RebuildParts extends LeadParts, AsyncDisposable {
  readonly directConnection: () => Promise<Client>;
}

/**
 * The parts that a rebuild of read models needs: stores and keys. No directory is opened: a rebuild is also
 * the repair when the read models are ahead of the log, and then a directory would refuse to open. Throws one
 * sentence.
 */
export async function openForRebuild(config: Config, log: Log): Promise<RebuildParts> {
  const { config: complete } = await forCommand(config);
  const { openStorage } = await import('../process/storage.ts');
  await using opened = new AsyncDisposableStack();
  const { events, masterKey, directUrl, databaseUrl } = await openStorage({ config: complete, log }, opened);
  const pool = openPool({ url: databaseUrl, log, size: 4, statementTimeoutMs: STATEMENT_TIMEOUT_MS });
  opened.defer(() => pool.end());
  const sql = postgresSql(pool);
  const stack = opened.move();
  return {
    sql,
    events,
    personal: createPersonalData({ sql, clock: systemClock, masterKey }),
    clock: systemClock,
    log,
    directConnection: () => openDirectConnection(directUrl, 'gateway rebuild'),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

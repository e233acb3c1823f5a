/** Databases for logs of several sizes, on one embedded Postgres with the durable settings of the product. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createJsonLog } from '../infra/observability/json-log.ts';
import { openDirectConnection } from '../infra/postgres/direct-connection.ts';
import { startEmbeddedPostgres } from '../infra/postgres/embedded/embedded-postgres.ts';
import { migrate } from '../infra/postgres/migrate.ts';
import type { Figure } from './figures.ts';

/** Measures once per size, each on its own database; all of them are removed afterwards. */
export async function onEachSize(
  sizes: readonly number[],
  measure: (databaseUrl: string, size: number) => Promise<readonly Figure[]>,
): Promise<readonly Figure[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'gateway-bench-log-'));
  // Under root, Postgres runs as another account, which must be able to enter.
  chmodSync(dataDir, 0o755);
  const postgres = await startEmbeddedPostgres({ dataDir, log: createJsonLog('error') });
  try {
    const figures: Figure[] = [];
    for (const size of sizes) figures.push(...(await measure(await freshDatabase(postgres.url, size), size)));
    return figures;
  } finally {
    await postgres.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function freshDatabase(serverUrl: string, size: number): Promise<string> {
  const name = `log_of_${String(size)}`;
  const client = await openDirectConnection(serverUrl, 'benchmark');
  await client.query(`CREATE DATABASE ${name}`);
  await client.end();
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  await migrate({ url: url.href });
  return url.href;
}

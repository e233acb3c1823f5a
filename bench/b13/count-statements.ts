/**
 * Loaded into a gateway before it starts: counts what all its Postgres clients send, also those of the embedded node. At SIGUSR2
 * it writes the count so far into `DATA_DIR`.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';

const file = join(process.env['DATA_DIR'] ?? '.', 'statements');
const client = pg.Client.prototype as unknown as { query: (...given: unknown[]) => unknown };
const { query } = client;
let count = 0;
client.query = function (this: unknown, ...given: unknown[]) {
  count += 1;
  return query.apply(this, given);
};
process.on('SIGUSR2', () => {
  writeFileSync(`${file}.next`, String(count));
  // A reader sees all of it.
  renameSync(`${file}.next`, file);
});

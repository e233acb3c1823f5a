/**
 * Exports the longest trail of a database as fast as it is read; prints lines, seconds, CPU and the growth of
 * the memory as JSON.
 */
import { checkpointText, originOf } from '../../commands/audit/signed-note.ts';
import { Frontier } from '../../commands/audit/merkle.ts';
import { createJsonLog } from '../../infra/observability/json-log.ts';
import { openPool, postgresSql } from '../../infra/postgres/pool.ts';
import { exportBytes } from '../../read-api/audit/export-bytes.ts';
import { secondsOf } from '../cpu-time.ts';

export interface MeasuredExport {
  readonly lines: number;
  readonly bytes: number;
  readonly seconds: number;
  /**
   * CPU of this process, and of the Postgres processes that serve it: other than time, hardly dependent on what
   * else the machine does.
   */
  readonly cpuSeconds: { readonly gateway: number; readonly postgres: number };
  /** Beyond what the process had before. */
  readonly grownBytes: number;
  /** The anchor: seconds in which one connection reads the same rows in pages and they become JSON. */
  readonly bareSeconds: number;
}

const EVERY_MS = 20;
const PAGE = 1_000;
const TIME = '2026-01-01T00:00:00.000Z';

const [databaseUrl = '', mode = 'complete'] = process.argv.slice(2);
const sql = postgresSql(openPool({ url: databaseUrl, log: createJsonLog('error'), size: 2 }));
const [tree] = await sql.query<{ trail: string; size: string; frontier: Buffer }>(
  'select trail, size, frontier from read.audit_tree order by size desc limit 1',
);
if (tree === undefined) throw new Error('there is no trail');
const { trail } = tree;
const size = Number(tree.size);
const root = new Frontier(size, tree.frontier).root();
const text = checkpointText(originOf('bench.example/audit', trail, 1), size, root);
await sql.query(
  `insert into vault.audit_signed (trail, epoch, size, note, released_at) values ($1, 1, $2, $3, now()) on conflict do nothing`,
  [trail, size, `${text}\n`],
);
const filter = mode === 'complete' ? null : { type: 'OperationSubmitted' };
const recorded = {
  terms: {
    ...{
      trail,
      epoch: 1,
      size,
      from_seq: 1,
      to_seq: size,
      filter,
      from: null,
      to: null,
      format: 'jsonl' as const,
    },
    ...{ mode: mode as 'complete' | 'skeleton' | 'sparse', disclose: 'people' as const, version: '' },
  },
  ...{ createdAt: TIME, createdBy: 'usr_1', requestId: 'req_1' },
};
const reader = {
  maySeeBody: () => true,
  sight: {
    personal: { ownerOf: () => null, prove: () => Promise.resolve(null) },
    mayOpen: () => Promise.resolve(true),
  },
  opens: true,
};
async function postgresSeconds(): Promise<number> {
  const rows = await sql.query<{ pid: number }>(
    `select pid from pg_stat_activity where datname = current_database() and application_name = 'gateway'`,
  );
  return rows.reduce((sum, { pid }) => sum + secondsOf(pid), 0);
}

const before = process.memoryUsage.rss();
let most = before;
const watch = setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), EVERY_MS);
const postgresBefore = await postgresSeconds();
const cpuBefore = process.cpuUsage();
const began = performance.now();
let bytes = 0;
for await (const piece of exportBytes(sql, recorded, reader)) bytes += piece.length;
const seconds = (performance.now() - began) / 1_000;
const cpu = process.cpuUsage(cpuBefore);
clearInterval(watch);

async function bareSeconds(): Promise<number> {
  const start = performance.now();
  let length = 0;
  for (let after = 0; after < size; after += PAGE) {
    const rows = await sql.query<Record<string, unknown>>(
      'select * from read.audit where trail = $1 and seq > $2 order by seq limit $3',
      [trail, after, PAGE],
    );
    for (const row of rows) length += JSON.stringify(row).length;
  }
  if (length === 0) throw new Error('the anchor read nothing');
  return (performance.now() - start) / 1_000;
}

const measured: MeasuredExport = {
  ...{ lines: size, bytes, seconds, grownBytes: most - before },
  cpuSeconds: {
    gateway: (cpu.user + cpu.system) / 1_000_000,
    postgres: (await postgresSeconds()) - postgresBefore,
  },
  bareSeconds: await bareSeconds(),
};
process.stdout.write(`${JSON.stringify(measured)}\n`, () => process.exit());

/** The Merkle trees of the trails in `read`, as a batch of lines lets them grow. */
import { trailOf } from '../commands/audit/audit-line.ts';
import { Frontier, type TreeNode } from '../commands/audit/merkle.ts';
import type { Sql } from '../commands/ports/ports.ts';
import type { LoggedEvent } from './projection.ts';

/** The levels whose inner nodes are stored: any subtree is joined from at most 256 rows. */
export const STORED_LEVELS: readonly number[] = [8, 16, 24];

export type Trees = ReadonlyMap<string, Frontier>;
/** A node to store. */
export type TrailNode = TreeNode & { readonly trail: string };

/** The tree of every trail in the batch, as the earlier batches left it. */
export async function loadTrees(sql: Sql, table: string, log: readonly LoggedEvent[]): Promise<Trees> {
  const trails = [...new Set(log.map(({ stored }) => trailOf(stored)))];
  const known = await sql.query<{ trail: string; size: string; frontier: Buffer }>(
    `select trail, size, frontier from ${table} where trail = any($1::text[])`,
    [trails],
  );
  const trees = new Map(trails.map((trail) => [trail, new Frontier()]));
  for (const { trail, size, frontier } of known) trees.set(trail, new Frontier(Number(size), frontier));
  return trees;
}

/** Stores the trees as the batch left them. */
export async function storeTrees(sql: Sql, table: string, trees: Trees): Promise<void> {
  const all = [...trees];
  await sql.query(
    `insert into ${table} as t (trail, size, frontier) select * from unnest($1::text[], $2::bigint[], $3::bytea[])
     on conflict (trail) do update set size = excluded.size, frontier = excluded.frontier`,
    [
      all.map(([trail]) => trail),
      all.map(([, tree]) => tree.size),
      all.map(([, tree]) => byteaText(tree.toBytes())),
    ],
  );
}

export async function storeNodes(sql: Sql, table: string, nodes: readonly TrailNode[]): Promise<void> {
  await sql.query(
    `insert into ${table} (trail, level, idx, hash) select * from unnest($1::text[], $2::int[], $3::bigint[], $4::bytea[])`,
    [
      nodes.map(({ trail }) => trail),
      nodes.map(({ level }) => level),
      nodes.map(({ index }) => index),
      nodes.map(({ hash }) => byteaText(hash)),
    ],
  );
}

/** Bytes as Postgres reads them in a text: `\x` and hex. */
export const byteaText = (bytes: Uint8Array): string => `\\x${Buffer.from(bytes).toString('hex')}`;

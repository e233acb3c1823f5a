/** Reads of the tree of a trail in `read`: roots of earlier sizes and the hashes of proofs, each from at most a few hundred rows. */
import { joined, type LeafRange, innerHash, type Subtree, tiling } from '../commands/audit/merkle.ts';
import type { Sql } from '../commands/ports/ports.ts';
import { STORED_LEVELS } from './audit-tree-growth.ts';

/** Where the tables are: a view of the plain name, or one version of the table. */
export interface TreeTables {
  readonly lines: string;
  readonly nodes: string;
}

export const TREE_VIEWS: TreeTables = { lines: 'read.audit', nodes: 'read.audit_node' };

/** The root over a range of leaves of a trail. Throws when the trail is shorter. */
export async function rangeRoot(
  sql: Sql,
  tables: TreeTables,
  trail: string,
  { from, to }: LeafRange,
): Promise<Uint8Array> {
  const hashes: Uint8Array[] = [];
  for (const tile of tiling(from, to)) hashes.push(await subtreeHash(sql, tables, trail, tile));
  return joined(hashes);
}

/** The hash of a complete subtree: a stored node, or joined from the stored level below it. */
export async function subtreeHash(
  sql: Sql,
  tables: TreeTables,
  trail: string,
  { level, index }: Subtree,
): Promise<Uint8Array> {
  const below = STORED_LEVELS.findLast((stored) => stored <= level) ?? 0;
  const width = 2 ** (level - below);
  const hashes = await storedHashes(sql, tables, trail, { level: below, index: index * width, count: width });
  return folded(hashes, width);
}

async function storedHashes(
  sql: Sql,
  { lines, nodes }: TreeTables,
  trail: string,
  { level, index, count }: Subtree & { readonly count: number },
): Promise<readonly Uint8Array[]> {
  const rows =
    level === 0
      ? await sql.query<{ hash: Buffer }>(
          `select leaf as hash from ${lines} where trail = $1 and seq > $2 and seq <= $3 order by seq`,
          [trail, index, index + count],
        )
      : await sql.query<{ hash: Buffer }>(
          `select hash from ${nodes} where trail = $1 and level = $4 and idx >= $2 and idx < $3 order by idx`,
          [trail, index, index + count, level],
        );
  return rows.map(({ hash }) => hash);
}

/** The root of a complete subtree over `count` hashes, a power of two. */
function folded(hashes: readonly Uint8Array[], count: number): Uint8Array {
  if (hashes.length !== count) throw new RangeError('the tree of the trail is not complete');
  let level = hashes;
  while (level.length > 1) {
    const above: Uint8Array[] = [];
    for (let at = 0; at < level.length; at += 2) {
      const [left, right] = [level[at], level[at + 1]];
      if (left !== undefined && right !== undefined) above.push(innerHash(left, right));
    }
    level = above;
  }
  const [root] = level;
  if (root === undefined) throw new RangeError('a subtree without leaves');
  return root;
}

/** Leaves of one read. */
const BLOCK_LEVEL = 10;

/** Hashes of subtrees, one after another from the left: the leaves of small ones are read once, in blocks. */
export class SubtreeReader {
  readonly #sql: Sql;
  readonly #trail: string;
  #block: { readonly index: number; readonly leaves: readonly Uint8Array[] } | null = null;

  constructor(sql: Sql, trail: string) {
    this.#sql = sql;
    this.#trail = trail;
  }

  /** Throws when the trail is shorter. */
  async hash({ level, index }: Subtree): Promise<Uint8Array> {
    if (STORED_LEVELS.some((stored) => stored <= level))
      return await subtreeHash(this.#sql, TREE_VIEWS, this.#trail, { level, index });
    const width = 2 ** level;
    const block = 2 ** BLOCK_LEVEL;
    const leaves = await this.#leavesOf(Math.floor((index * width) / block));
    const from = (index * width) % block;
    return folded(leaves.slice(from, from + width), width);
  }

  async #leavesOf(index: number): Promise<readonly Uint8Array[]> {
    if (this.#block?.index === index) return this.#block.leaves;
    const leaves = await storedHashes(this.#sql, TREE_VIEWS, this.#trail, {
      level: 0,
      index: index * 2 ** BLOCK_LEVEL,
      count: 2 ** BLOCK_LEVEL,
    });
    this.#block = { index, leaves };
    return leaves;
  }
}

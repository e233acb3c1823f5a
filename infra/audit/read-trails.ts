/** The trails as the read model holds them, compared with what the sealer computes from the log. */
import type { TrailLine } from '../../commands/audit/audit-line.ts';
import type { Sql } from '../../commands/ports/ports.ts';
import type { Position } from '../../commands/values/position.ts';
import { audit } from '../../projections/audit.ts';
import { STORED_LEVELS } from '../../projections/audit-tree-growth.ts';
import { checkpointKey, tableName } from '../../projections/projection.ts';

/** The tables of this version: while a newer gateway builds its own, the views may show another. */
const LINES = tableName('audit', audit);
const NODES = tableName('audit_node', audit);

/** How far the read model is. */
export async function auditPosition(sql: Sql): Promise<Position> {
  const [row] = await sql.query<{ position: string }>(
    'select position from read.checkpoint where projection = $1',
    [checkpointKey(audit)],
  );
  return BigInt(row?.position ?? -1);
}

/** Holds while a round of sealing has something to do at `$1`: nothing was computed yet, or lines, checkpoints or keys wait. */
export const SEAL_PROBE = `not exists (select from vault.audit_watch w where not w.restored
    and w.position >= (select position from read.checkpoint where projection = '${checkpointKey(audit)}'))
  or exists (select from vault.audit_tree where due_at <= $1)
  or exists (select from vault.audit_signed where released_at is null)
  or exists (select from vault.audit_key where not told)`;

/** How many trails are broken, since when one is due, and the position beyond which events wait to be computed. */
export async function sealingOf(
  sql: Sql,
): Promise<{ readonly broken: number; readonly dueAt: Date | null; readonly beyond: string | null }> {
  const [row] = await sql.query<{ broken: string; due_at: Date | null; beyond: string | null }>(
    `select (select count(*) from vault.audit_tree where broken is not null) as broken,
       (select min(due_at) from vault.audit_tree where due_at is not null) as due_at,
       (select w.position from vault.audit_watch w
         where w.position < (select position from read.checkpoint where projection = $1)) as beyond`,
    [checkpointKey(audit)],
  );
  return { broken: Number(row?.broken ?? 0), dueAt: row?.due_at ?? null, beyond: row?.beyond ?? null };
}

/** The stream and revision of an event, as its line says; null when the read model does not have it. */
export async function storedPlace(
  sql: Sql,
  eventId: string,
): Promise<{ readonly stream: string; readonly revision: bigint } | null> {
  const [row] = await sql.query<{ line: string; body: string }>(
    `select line, body from ${LINES} where event_id = $1 limit 1`,
    [eventId],
  );
  if (row === undefined) return null;
  const { stream, revision } = JSON.parse(row.line) as { stream: string; revision: string };
  // The line shortens names made from an address; the body has the whole.
  const { stream: whole = stream } = JSON.parse(row.body) as { stream?: string };
  return { stream: whole, revision: BigInt(revision) };
}

/** Per trail the first line that is missing in the read model, or differs from the log's. */
export async function firstDifference(
  sql: Sql,
  lines: readonly TrailLine[],
): Promise<readonly (readonly [trail: string, seq: number])[]> {
  const rows = await sql.query<{ trail: string; seq: string }>(
    `select w.trail, min(w.seq) as seq
     from unnest($1::text[], $2::bigint[], $3::bytea[], $4::text[], $5::text[], $6::bytea[]) as w(trail, seq, leaf, line, body, salt)
     left join ${LINES} a on a.trail = w.trail and a.seq = w.seq
     where (a.leaf, a.line, a.body) is distinct from (w.leaf, w.line, w.body) or a.salt is distinct from w.salt
     group by 1`,
    [
      lines.map(({ trail }) => trail),
      lines.map(({ seq }) => seq),
      lines.map(({ leaf }) => hex(leaf)),
      lines.map(({ line }) => line),
      lines.map(({ body }) => body),
      lines.map(({ salt }) => salt && hex(salt)),
    ],
  );
  return rows.map(({ trail, seq }) => [trail, Number(seq)]);
}

/** True when the leaf of every line of the trail is that of its texts, as Postgres computes it. */
export async function linesAgree(sql: Sql, trail: string): Promise<boolean> {
  const [row] = await sql.query<{ agree: boolean }>(
    `select not exists (select from ${LINES} where trail = $1 and leaf <> sha256(
       '\\x00'::bytea || convert_to(line, 'UTF8') || sha256(coalesce(salt, ''::bytea) || convert_to(body, 'UTF8')))) as agree`,
    [trail],
  );
  return row?.agree === true;
}

/**
 * The trails of which a stored inner node is not the one over the level below it, or is missing. Each stored level is computed
 * from the one below by Postgres, so that no row leaves it.
 */
export async function trailsWithOtherNodes(sql: Sql): Promise<readonly string[]> {
  const found = new Set<string>();
  let below = { level: 0, rows: `select trail, seq - 1 as idx, leaf as hash from ${LINES}` };
  for (const level of STORED_LEVELS) {
    const rows = await sql.query<{ trail: string }>(
      `select distinct coalesce(n.trail, c.trail) as trail
         from (${foldedTo(below.rows, level - below.level)}) c
         full join (select trail, idx, hash from ${NODES} where level = ${String(level)}) n
           on n.trail = c.trail and n.idx = c.idx
        where n.hash is distinct from c.hash`,
    );
    for (const { trail } of rows) found.add(trail);
    below = { level, rows: `select trail, idx, hash from ${NODES} where level = ${String(level)}` };
  }
  return [...found];
}

/** The complete subtrees `levels` higher than these rows. */
function foldedTo(rows: string, levels: number): string {
  let folded = rows;
  for (let level = 0; level < levels; level += 1)
    folded = `select trail, idx / 2 as idx, sha256('\\x01'::bytea || string_agg(hash, ''::bytea order by idx)) as hash
       from (${folded}) t group by trail, idx / 2 having count(*) = 2`;
  return folded;
}

/** For reads of the tree. */
export const VERSIONED_TABLES = { lines: LINES, nodes: NODES };

const hex = (bytes: Uint8Array): string => `\\x${Buffer.from(bytes).toString('hex')}`;

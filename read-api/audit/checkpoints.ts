/** The signed checkpoints of a trail, as the sealer remembers them once the log tells of them: the same in every process. */
import { keyIdsIn, rootIn } from '../../commands/audit/signed-note.ts';
import type { Sql } from '../../commands/ports/ports.ts';

export interface Checkpoint {
  readonly trail: string;
  readonly epoch: number;
  readonly size: number;
  /** Base64. */
  readonly root: string;
  /** The first line of the note, and the name of its key. */
  readonly origin: string;
  /** Of the key that signed first, 8 hex digits. */
  readonly keyId: string;
  readonly note: string;
  readonly sealedAt: Date;
  readonly anchors: readonly Anchor[];
}

/** Where it is stored outside of the gateway. */
export interface Anchor {
  readonly kind: string;
  readonly name: string;
  readonly state: 'confirmed' | 'failed';
  readonly at: Date;
  /** Why it is not stored. */
  readonly error: string | null;
}

/** `latest`, or the smallest of at least this size; of the newest epoch that has one. Null while there is none. */
export async function checkpointAt(
  sql: Sql,
  trail: string,
  atLeast: number | 'latest',
): Promise<Checkpoint | null> {
  const [found] = await read(
    sql,
    `trail = $1 and size >= $2 order by epoch desc, size ${atLeast === 'latest' ? 'desc' : 'asc'} limit 1`,
    [trail, atLeast === 'latest' ? 0 : atLeast],
  );
  return found ?? null;
}

/** Of exactly this size, of the newest epoch that has one. */
export async function checkpointOf(sql: Sql, trail: string, size: number): Promise<Checkpoint | null> {
  const [found] = await read(sql, 'trail = $1 and size = $2 order by epoch desc limit 1', [trail, size]);
  return found ?? null;
}

/** Newest first, beginning after this epoch and size. */
export const checkpointsBefore = (
  sql: Sql,
  trail: string,
  before: readonly [epoch: number, size: number] | null,
  limit: number,
): Promise<readonly Checkpoint[]> =>
  read(
    sql,
    `trail = $1 and ($2::bigint is null or (epoch, size) < ($2, $3)) order by epoch desc, size desc limit $4`,
    [trail, before?.[0] ?? null, before?.[1] ?? null, limit],
  );

/** The place of the last line that asks for a seal: one that does not come from sealing itself. 0 = there is none. */
export async function linesToSeal(sql: Sql, trail: string): Promise<number> {
  const [row] = await sql.query<{ seq: string }>(
    'select seq from read.audit where trail = $1 and not of_sealing order by seq desc limit 1',
    [trail],
  );
  return Number(row?.seq ?? 0);
}

interface Row extends Record<string, unknown> {
  readonly trail: string;
  readonly epoch: string;
  readonly size: string;
  readonly note: string;
  readonly signed_at: Date;
  readonly anchors: readonly { kind: string; name: string; at: string; error: string | null }[];
}

async function read(
  sql: Sql,
  condition: string,
  parameters: readonly unknown[],
): Promise<readonly Checkpoint[]> {
  const rows = await sql.query<Row>(
    `select s.trail, s.epoch, s.size, s.note, s.signed_at, coalesce(outside.anchors, '[]') as anchors
       from (select * from vault.audit_signed where released_at is not null and ${condition}) s
       left join lateral (
         select json_agg(json_build_object('kind', a.kind, 'name', a.name, 'at', a.anchored_at, 'error', a.error)
             order by a.kind, a.name) as anchors
           from vault.audit_anchor a where (a.trail, a.epoch, a.size) = (s.trail, s.epoch, s.size)) outside on true`,
    parameters,
  );
  return rows.map(checkpointFrom);
}

function checkpointFrom({ trail, epoch, size, note, signed_at: sealedAt, anchors }: Row): Checkpoint {
  const [origin = ''] = note.split('\n', 1);
  return {
    trail,
    epoch: Number(epoch),
    size: Number(size),
    root: Buffer.from(rootIn(note)).toString('base64'),
    origin,
    keyId: keyIdsIn(note)[0] ?? '',
    note,
    sealedAt,
    anchors: anchors.map(({ kind, name, at, error }) => ({
      kind,
      name,
      state: error === null ? 'confirmed' : 'failed',
      at: new Date(at),
      error,
    })),
  };
}

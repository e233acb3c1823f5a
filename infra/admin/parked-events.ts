/**
 * Events that read models could not apply. An event cannot be applied after its place: the audit would number
 * it behind later events, and an old grant would restore what was withdrawn since. So parked events are
 * retried by a rebuild of their model, which applies each in its place. The duration depends on the length of
 * the log.
 */
import type { Sql } from '../../commands/ports/ports.ts';
import { checkpointKey, type Projection } from '../../projections/projection.ts';
import { READ_MODELS } from '../projector/read-models.ts';
import type { RebuildParts } from './open-for-command.ts';
import { rebuildCommand } from './rebuild-command.ts';

const NOTHING = 'No event is parked.';

interface ParkedRow extends Record<string, unknown> {
  readonly projection: string;
  readonly position: string;
  readonly event_id: string;
  readonly type: string;
  readonly error: string;
  readonly attempts: number;
  readonly parked_at: Date;
}

/** One paragraph per event, in the order of the log. */
export async function listParked(sql: Sql): Promise<string> {
  const names = new Map(READ_MODELS.map((model) => [checkpointKey(model), model.name]));
  const rows = await sql.query<ParkedRow>(
    `select projection, position, event_id, type, error, attempts, parked_at from work.parked_event
     where projection = any($1) order by projection, position`,
    [[...names.keys()]],
  );
  if (rows.length === 0) return NOTHING;
  return rows.map((row) => describe(row, names.get(row.projection) ?? row.projection)).join('\n');
}

const describe = (
  { position, event_id, type, error, attempts, parked_at }: ParkedRow,
  name: string,
): string => {
  const tries = `${String(attempts)} ${attempts === 1 ? 'attempt' : 'attempts'} since ${parked_at.toISOString()}`;
  return `${name}: ${type} ${event_id} at ${position}, ${tries}\n    ${error.replaceAll('\n', '\n    ')}`;
};

/**
 * Rebuilds those of `models` that have parked events, and returns a report of what is left. Throws one
 * sentence.
 */
export async function retryParked(
  parts: RebuildParts,
  models: readonly Projection[],
  signal: AbortSignal,
): Promise<string> {
  const rows = await parts.sql.query<{ projection: string }>(
    'select distinct projection from work.parked_event where projection = any($1)',
    [models.map(checkpointKey)],
  );
  const lacking = new Set(rows.map(({ projection }) => projection));
  if (lacking.size === 0) return NOTHING;
  return await rebuildCommand(
    parts,
    models.filter((model) => lacking.has(checkpointKey(model))),
    signal,
  );
}

/** Rebuilds read models by name, for `npm run rebuild` and `admin retry-parked`. */
import type { Projection } from '../../projections/projection.ts';
import { READ_MODELS } from '../projector/read-models.ts';
import { forgetSourceLog } from '../projector/source-log.ts';
import { rebuildModels } from '../projector/rebuild-read-models.ts';
import type { RebuildParts } from './open-for-rebuild.ts';
import { showProgress } from './rebuild-progress.ts';

/**
 * The named models, `all` for all of them; without names, `otherwise`. Throws one sentence that lists the
 * known names.
 */
export function modelsNamed(
  given: readonly string[],
  otherwise: readonly string[] = [],
): readonly Projection[] {
  const names = given.length > 0 ? given : otherwise;
  const known = READ_MODELS.map(({ name }) => name);
  const unknown = names.filter((name) => name !== 'all' && !known.includes(name));
  if (names.length === 0 || unknown.length > 0) {
    const what =
      unknown.length > 0 ? `There is no read model called ${unknown.join(', ')}` : 'Name a read model';
    throw new Error(`${what}: ${known.join(', ')}, or all.`);
  }
  return READ_MODELS.filter(({ name }) => names.includes('all') || names.includes(name));
}

/** Returns the text for the end; progress goes to standard error. Throws one sentence. */
export async function rebuildCommand(
  parts: RebuildParts,
  projections: readonly Projection[],
  signal: AbortSignal,
): Promise<string> {
  const output = { isTTY: process.stderr.isTTY, write: (text: string) => process.stderr.write(text) };
  const startedAt = performance.now();
  const progress = showProgress(output, () => performance.now());
  try {
    const report = progress.report.bind(progress);
    const { events, parked } = await rebuildModels({ ...parts, projections, signal, report });
    if (projections.length === READ_MODELS.length) await forgetSourceLog(parts.sql);
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    const names = projections.map(({ name }) => name).join(', ');
    const done = `Rebuilt ${names} from ${events.toLocaleString('en')} events in ${seconds} s.`;
    return [done, ...[...parked].map(stillParked)].join('\n');
  } finally {
    progress.end();
  }
}

const stillParked = ([name, count]: readonly [string, number]): string =>
  `${name}: ${String(count)} ${count === 1 ? 'event is' : 'events are'} parked; "npm run admin -- parked" shows why.`;

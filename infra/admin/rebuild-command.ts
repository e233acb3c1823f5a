/** Rebuilds read models by name, for `npm run rebuild` and `admin retry-parked`. */
import { audit } from '../../projections/audit.ts';
import type { Projection } from '../../projections/projection.ts';
import { rememberVerified } from '../audit/remember-verified.ts';
import { verifyLog } from '../audit/verify-log.ts';
import { READ_MODELS } from '../projector/read-models.ts';
import { forgetSourceLog } from '../projector/source-log.ts';
import { rebuildModels } from '../projector/rebuild-read-models.ts';
import type { RebuildParts } from './open-for-command.ts';
import type { RebuildProgress } from '../projector/rebuild-read-models.ts';

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
  const startedAt = performance.now();
  using progress = shownProgress();
  const { report } = progress;
  const { events, parked } = await rebuildModels({ ...parts, projections, signal, report });
  if (projections.length === READ_MODELS.length) await forgetSourceLog(parts.sql);
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  const names = projections.map(({ name }) => name).join(', ');
  const done = `Rebuilt ${names} from ${events.toLocaleString('en')} events in ${seconds} s.`;
  const verified = projections.includes(audit) ? [await verifiedTrails(parts, signal)] : [];
  return [done, ...[...parked].map(stillParked), ...verified].join('\n');
}

/**
 * A rebuild of the audit trail is an audit: every trail is compared with all its checkpoints. Throws one sentence when one
 * differs; the gateway then signs it no more, verifies as soon as it runs, whenever it did last, and tells the log.
 */
async function verifiedTrails(parts: RebuildParts, signal: AbortSignal): Promise<string> {
  const { began, trails } = await verifyLog(parts, signal);
  const wrong = [...trails].filter(([, { difference }]) => difference !== null);
  if (wrong.length === 0) return `All ${String(trails.size)} trails agree with their checkpoints.`;
  await rememberVerified(parts.sql, { began, trails: new Map(wrong) });
  await parts.sql.query(
    `update vault.audit_verification set asked_at = now(), started_at = least(started_at, now() - interval '2 hours')`,
  );
  const named = wrong.map(([trail, { difference }]) =>
    difference === null ? trail : `${trail} (${difference.reason} at ${String(difference.size)})`,
  );
  throw new Error(
    `The read model is rebuilt, and these trails are not what was signed: ${named.join(', ')}. See docs/audit-proof.md.`,
  );
}

const stillParked = ([name, count]: readonly [string, number]): string =>
  `${name}: ${String(count)} ${count === 1 ? 'event is' : 'events are'} parked; "npm run admin -- parked" shows why.`;

const REDRAW_EVERY_MS = 200;
const LINE_EVERY_MS = 5_000;

/** Progress of a rebuild: one redrawn line on a terminal, ended with the progress; elsewhere a line every few seconds. */
function shownProgress(): Disposable & { readonly report: (progress: RebuildProgress) => void } {
  const output = process.stderr;
  const startedAt = performance.now();
  let shownAt = -Infinity;
  let step: RebuildProgress['step'] | null = null;
  return {
    report: (progress) => {
      const everyMs = output.isTTY ? REDRAW_EVERY_MS : LINE_EVERY_MS;
      if (progress.step === step && performance.now() - shownAt < everyMs) return;
      step = progress.step;
      shownAt = performance.now();
      const line = progressLine(progress, (shownAt - startedAt) / 1_000);
      output.write(output.isTTY ? `\r\u001b[K${line}` : `${line}\n`);
    },
    [Symbol.dispose]: () => {
      if (output.isTTY && step !== null) output.write('\n');
    },
  };
}

/** Progress is measured by positions, which count bytes of the log, not events. */
function progressLine({ step, events, position, head }: RebuildProgress, seconds: number): string {
  const count = `${events.toLocaleString('en')} events`;
  if (step === 'indexing') return `${count} read; making the indexes …`;
  if (step === 'swapping') return `${count} read; putting the new tables in place …`;
  const share = head <= 0n ? 1 : Math.min(1, Math.max(0, Number(position) / Number(head)));
  const perSecond = seconds > 0 ? Math.round(events / seconds) : 0;
  const left = share > 0 ? `, ${spanOf((seconds * (1 - share)) / share)} left` : '';
  return `${count}, ${(share * 100).toFixed(1)} % of the log, ${perSecond.toLocaleString('en')}/s${left}`;
}

const spanOf = (seconds: number): string =>
  seconds < 90 ? `${seconds.toFixed(0)} s` : `${(seconds / 60).toFixed(0)} min`;

/** Progress of a rebuild: one redrawn line on a terminal, elsewhere a line every few seconds. */
import type { RebuildProgress } from '../projector/rebuild-read-models.ts';

const REDRAW_EVERY_MS = 200;
const LINE_EVERY_MS = 5_000;

export interface ProgressOutput {
  readonly isTTY: boolean;
  write(text: string): void;
}

export interface ShownProgress {
  report(progress: RebuildProgress): void;
  /** Ends the redrawn line, so that later output starts on a new line. */
  end(): void;
}

/** `now` returns monotonic milliseconds. */
export function showProgress(output: ProgressOutput, now: () => number): ShownProgress {
  const startedAt = now();
  let shownAt = -Infinity;
  let step: RebuildProgress['step'] | null = null;
  return {
    report: (progress) => {
      const everyMs = output.isTTY ? REDRAW_EVERY_MS : LINE_EVERY_MS;
      if (progress.step === step && now() - shownAt < everyMs) return;
      step = progress.step;
      shownAt = now();
      const line = progressLine(progress, (shownAt - startedAt) / 1_000);
      output.write(output.isTTY ? `\r\u001b[K${line}` : `${line}\n`);
    },
    end: () => {
      if (output.isTTY && step !== null) output.write('\n');
    },
  };
}

/** Progress is measured by positions, which count bytes of the log, not events. */
export function progressLine({ step, events, position, head }: RebuildProgress, seconds: number): string {
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

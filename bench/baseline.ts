/**
 * The figures of an earlier run, as `{ benchmark: { figure: value } }`. Only ratios to an anchor of the same
 * run are compared: another machine has other milliseconds.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import type { Figure } from './figures.ts';

const Baseline = z.record(z.string(), z.record(z.string(), z.number()));
export type Baseline = z.output<typeof Baseline>;

/** What a benchmark found; `failure` is why it ended early. */
export interface Result {
  readonly bench: string;
  readonly figures: readonly Figure[];
  readonly failure?: string;
}

export const BASELINE_FILE = 'bench/baseline.json';
/** A ratio that is worse than this share of the baseline's is slower; what is above is noise. */
export const SLOWER_BELOW = 0.9;

/** Empty where there is no such file. Throws for one that is not a baseline. */
export const readBaseline = (file: string): Baseline =>
  existsSync(file) ? Baseline.parse(JSON.parse(readFileSync(file, 'utf8'))) : {};

/** How good a ratio is beside that of the baseline: 1 = the same, below 1 = worse. Null for what is not compared. */
export function againstBaseline({ value, better }: Figure, before: number | undefined): number | null {
  if (better === undefined || before === undefined) return null;
  return better === 'more' ? value / before : before / value;
}

/**
 * A benchmark that ran to its end replaces all its figures, so that none stays that no longer exists. Others
 * keep theirs; those that are not among `known` are left out.
 */
export function withResults(
  baseline: Baseline,
  results: readonly Result[],
  known: readonly string[],
): Baseline {
  const found = new Map(
    results
      .filter(({ failure }) => failure === undefined)
      .map(({ bench, figures }) => [
        bench,
        // Of nothing measured, such as memory where the system does not report it, there is no number to keep.
        Object.fromEntries(
          figures
            .filter(({ value }) => Number.isFinite(value))
            .map(({ name, value }) => [name, Number(value.toFixed(3))]),
        ),
      ]),
  );
  return Object.fromEntries(
    known.flatMap((bench) => {
      const figures = found.get(bench) ?? baseline[bench];
      return figures === undefined ? [] : [[bench, figures]];
    }),
  );
}

/** Writes them into the file; see `withResults`. */
export function recordResults(file: string, results: readonly Result[], known: readonly string[]): void {
  const recorded = withResults(readBaseline(file), results, known);
  writeFileSync(file, `${JSON.stringify(recorded, null, 2)}\n`);
}

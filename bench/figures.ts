/** The result of a benchmark: figures with targets, printed as a table and compared with a baseline file. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly target?: { readonly atLeast?: number; readonly atMost?: number };
}

/** Of values in any order; NaN of none. */
export const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN;

const BASELINE = 'bench/baseline.json';

const verdict = ({ value, target }: Figure): string => {
  if (!target) return '';
  const met = value >= (target.atLeast ?? -Infinity) && value <= (target.atMost ?? Infinity);
  return met ? 'met' : 'MISSED';
};

const targetText = ({ target }: Figure): string =>
  target === undefined
    ? ''
    : target.atLeast === undefined
      ? `≤ ${String(target.atMost)}`
      : `≥ ${String(target.atLeast)}`;

function readBaseline(): Record<string, number> {
  return existsSync(BASELINE) ? (JSON.parse(readFileSync(BASELINE, 'utf8')) as Record<string, number>) : {};
}

/** Three decimals for small values, none for rates. */
const shown = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toFixed(2));

/** Prints the table; with `record` the figures become the baseline. */
export function report(figures: readonly Figure[], record: boolean): void {
  const baseline = readBaseline();
  const rows = figures.map((figure) => [
    figure.name,
    `${shown(figure.value)} ${figure.unit}`,
    targetText(figure),
    verdict(figure),
    baseline[figure.name] === undefined ? '' : shown(baseline[figure.name] ?? 0),
  ]);
  const head = ['figure', 'measured', 'target', 'verdict', 'baseline'];
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  process.stdout.write(`${[head, ...rows].map(line).join('\n')}\n`);
  if (!record) return;
  const values = Object.fromEntries(figures.map(({ name, value }) => [name, Number(value.toFixed(3))]));
  writeFileSync(BASELINE, `${JSON.stringify({ ...baseline, ...values }, null, 2)}\n`);
}

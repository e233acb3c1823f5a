/** The table that a run prints: every figure beside its target, the baseline and the peer, and what did not run. */
import { againstBaseline, type Baseline, type Result, SLOWER_BELOW } from './baseline.ts';
import type { Figure } from './figures.ts';
import { type Peer, peerValue } from './peer.ts';

export interface Compared {
  readonly baseline: Baseline;
  readonly peer: Peer;
}

/** A benchmark as the table names it when it did not run. */
export interface Named {
  readonly name: string;
  readonly title: string;
}

const NOT_RUN = 'not run';

/** Whole numbers for large values, two decimals for small ones. */
const shown = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toFixed(2));

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

function comparison(figure: Figure, before: number | undefined): string {
  const share = againstBaseline(figure, before);
  if (share === null) return '';
  return share < SLOWER_BELOW ? `${shown(share)} SLOWER` : shown(share);
}

function peerText({ peer: wanted, unit }: Figure, peer: Peer): string {
  const value = wanted === undefined ? Number.NaN : peerValue(peer, wanted);
  return Number.isNaN(value) ? '' : `${shown(value)} ${unit}`;
}

const HEAD = ['figure', 'measured', 'target', 'verdict', 'baseline', '÷ baseline'];

/** The rows of one benchmark: what it found, then what only the baseline has, such as other sizes. */
function rowsOf({ bench, figures, failure }: Result, { baseline, peer }: Compared): readonly string[][] {
  const before = baseline[bench] ?? {};
  const measured = new Set(figures.map(({ name }) => name));
  return [
    ...figures.map((figure) => [
      figure.name,
      `${shown(figure.value)} ${figure.unit}`.trimEnd(),
      targetText(figure),
      verdict(figure),
      before[figure.name] === undefined ? '' : shown(before[figure.name] ?? 0),
      comparison(figure, before[figure.name]),
      peerText(figure, peer),
    ]),
    ...(failure === undefined ? [] : [[`${bench} FAILED`, failure]]),
    ...Object.entries(before)
      .filter(([name]) => !measured.has(name))
      .map(([name, value]) => [name, NOT_RUN, '', '', shown(value)]),
  ];
}

function aligned(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    // What a failure says has no column of its own.
    Math.max(...rows.filter((row) => row.length > 2).map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return rows.map(line).join('\n');
}

/** The whole table. `all` are the benchmarks there are, in their order. */
export function tableOf(results: readonly Result[], all: readonly Named[], compared: Compared): string {
  const ran = new Map(results.map((result) => [result.bench, result]));
  const rows = all.flatMap(({ name, title }) => {
    const result = ran.get(name);
    return result === undefined
      ? [[`${name.toUpperCase()} ${title}`, NOT_RUN, '', '', '', '', `npm run bench -- ${name}`]]
      : rowsOf(result, compared);
  });
  const { name, about } = compared.peer;
  return `${aligned([[...HEAD, name], ...rows])}\n\n${name}: ${about}\n`;
}

/** What a benchmark finds: figures, some with a target, some with a comparison. */

export interface Target {
  readonly atLeast?: number;
  readonly atMost?: number;
}

/** A figure of the peer in `bench/peer.json`: of which operation, and which one. */
export interface PeerFigure {
  readonly operation: string;
  readonly what: 'p50' | 'p99' | 'perSecond' | 'cpu' | 'peer − raw' | 'peer ÷ raw' | 'raw ÷ peer';
}

export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly target?: Target;
  /** Set for a ratio to an anchor of the same run, the one kind of figure that is held against the baseline. */
  readonly better?: 'more' | 'less';
  readonly peer?: PeerFigure;
}

/** Of values in any order; NaN of none. */
export const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN;

/** Of values in any order; NaN of none. */
export const median = (values: readonly number[]): number => percentile(values, 0.5);

/** A ratio to an anchor of the same run; `better` says which way is faster. */
export const ratio = (
  name: string,
  value: number,
  better: 'more' | 'less',
  more: Pick<Figure, 'target' | 'peer'> = {},
): Figure => ({ name, value, unit: '×', better, ...more });

/** Milliseconds since `work` began when it ended. */
export async function took(work: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await work();
  return performance.now() - begin;
}

/** Whether two samples of durations can be told apart, without a bound in seconds. */

export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** The share of pairs in which `a` takes longer than `b`: 0.5 for equal work (Mann and Whitney's U divided by all pairs). */
export function shareLonger(a: readonly number[], b: readonly number[]): number {
  const points = a.flatMap((one) => b.map((other): number => (one > other ? 1 : one === other ? 0.5 : 0)));
  return points.reduce((sum, point) => sum + point, 0) / points.length;
}

/**
 * Of equal durations the share deviates from a half by this much as a rule (standard deviation of U). Five of them are exceeded by
 * chance once in a million comparisons. With 200 tries that is a share of 0.64, which a shift by half the standard deviation of
 * a call exceeds: an append (milliseconds) does, and argon2 (tens of milliseconds) leaves hardly a pair undecided. With 20 tries
 * it is 0.96: only what is as large as argon2 is seen.
 */
const DEVIATIONS = 5;

export function areTold(a: readonly number[], b: readonly number[]): boolean {
  const deviation = Math.sqrt((a.length + b.length + 1) / (12 * a.length * b.length));
  return Math.abs(shareLonger(a, b) - 0.5) > DEVIATIONS * deviation;
}

/** The two forms of a repeating test: short in `npm test`, full in `npm run test:long`. */

/** True in `npm run test:long`. */
export const isLong = process.env['TEST_LONG'] === '1';

/** The number of repeats or the duration of the load: the first in `npm test`, the second in the long run. */
export const timesOf = (short: number, long: number): number => (isLong ? long : short);

/** The prefix of a printed figure; the run collects these lines and shows them beside the test's result. */
export const FIGURE = 'figure: ';

/** Prints one measured line for people; no test depends on it. */
export function figure(text: string): void {
  process.stdout.write(`${FIGURE}${text}\n`);
}

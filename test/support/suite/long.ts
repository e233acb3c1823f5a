/** The two forms of a test that repeats something: short in `npm test`, whole in `npm run test:long`. */

/** True in `npm run test:long`. */
export const isLong = process.env['TEST_LONG'] === '1';

/** How often to repeat, how long to load: the first in `npm test`, the second in the long run. */
export const timesOf = (short: number, long: number): number => (isLong ? long : short);

/** How a printed figure begins; the run collects these lines and shows them beside the test's result. */
export const FIGURE = 'figure: ';

/** Prints one measured line, for people; nothing is decided by it. */
export function figure(text: string): void {
  process.stdout.write(`${FIGURE}${text}\n`);
}

/** Progress for a terminal, one line at a time: also readable in the log of a timer that runs the command. */
import type { Report } from './row-tally.ts';

const EVERY_MS = 2_000;
const MB = 1_000_000;

/** Says where a table is every two seconds, and once when it is done. `now` is in milliseconds. */
export function progressLines(say: (line: string) => void, now: () => number): Report {
  let saidAt = now();
  return ({ table, rows, bytes, isDone }) => {
    if (!isDone && now() - saidAt < EVERY_MS) return;
    saidAt = now();
    const count = `${rows.toLocaleString('en')} rows, ${(bytes / MB).toFixed(1)} MB`;
    say(`${table}: ${count}${isDone ? '' : ' …'}`);
  };
}

import type { Log } from '../../../commands/ports/ports.ts';

/** A log for parts whose lines a test does not read. */
export const silentLog: Log = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

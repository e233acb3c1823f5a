/** The answer of a 204: no field at all. */
import { z } from 'zod';

export const Nothing = z.object({});
export type Nothing = z.output<typeof Nothing>;

/** Replay of a write that answers nothing; one that was cut off runs again. */
export const replayNothing = (
  _targetId: string,
  _input: unknown,
  _context: unknown,
  settled: boolean,
): Promise<Nothing | null> => Promise.resolve(settled ? {} : null);

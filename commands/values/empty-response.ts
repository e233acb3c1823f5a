/** The response of a 204: no fields. */
import { z } from 'zod';

export const Nothing = z.object({});
export type Nothing = z.output<typeof Nothing>;

/** Replay of a write without output; an interrupted one runs again. */
export const replayNothing = (
  _targetId: string,
  _input: unknown,
  _context: unknown,
  settled: boolean,
): Promise<Nothing | null> => Promise.resolve(settled ? {} : null);

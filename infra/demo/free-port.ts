import { isFree } from '../platform/reserved-port.ts';

/** The port when nobody has it, else 0, which takes any. */
export const freeOrAny = async (port: number | undefined): Promise<number> =>
  port !== undefined && port !== 0 && (await isFree('127.0.0.1', port)) ? port : 0;

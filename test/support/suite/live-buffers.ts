/** What lives is told from what only waits to be collected. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Bytes of the buffers of this process that something still holds. */
export async function liveBuffers(): Promise<number> {
  collectGarbage();
  // The memory of buffers is given back a turn later.
  await nextTurn();
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}

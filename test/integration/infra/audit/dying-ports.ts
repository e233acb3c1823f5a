/** Ports of a process that dies between two steps. */
import type { Sql } from '../../../../commands/ports/ports.ts';
import type { SealPorts } from '../../../../infra/audit/sealer.ts';
import { memoryLeases } from '../../../support/worlds/memory-gateway.ts';

export class Died extends Error {}

/** Every query, transaction and append is a step; the process dies directly before or after one of them. */
export function dyingAt(
  ports: SealPorts,
  at: number,
  isDone: boolean,
): { ports: SealPorts; died: () => boolean } {
  let steps = 0;
  let died = false;
  const step = async <T>(work: () => Promise<T>): Promise<T> => {
    if (died) throw new Died();
    steps += 1;
    died = steps === at;
    if (died && !isDone) throw new Died();
    const result = await work();
    // Read by the closure above, too.
    if (steps >= at) throw new Died();
    return result;
  };
  const sqlOf = (sql: Sql): Sql => ({
    query: (text, parameters) => step(() => sql.query(text, parameters)),
    transaction: (work) => step(() => sql.transaction((inside) => work(sqlOf(inside)))),
  });
  const { events } = ports;
  const append: typeof events.append = (stream, expected, given) =>
    step(() => events.append(stream, expected, given));
  return {
    ports: {
      ...ports,
      sql: sqlOf(ports.sql),
      events: {
        append,
        readStream: (stream, from) => events.readStream(stream, from),
        readLast: (stream) => events.readLast(stream),
        headPosition: () => events.headPosition(),
        readAll: (after, most) => events.readAll(after, most),
        subscribeToAll: (from, signal, filter) => events.subscribeToAll(from, signal, filter),
      },
      leases: memoryLeases(`run_${String(at)}`),
    },
    died: () => died,
  };
}

/** The ports of a process that dies directly before or after the append that holds an event of some type. */
import type { Ports } from '../../../commands/ports/ports.ts';
import type { NewEvent } from '../../../commands/values/event.ts';
import { ProcessGone } from './breaking-mailbox.ts';

/** No later append is written either. */
export const dyingBefore = (ports: Ports, types: RegExp): Ports => dying(ports, types, false);

export const dyingAfter = (ports: Ports, types: RegExp): Ports => dying(ports, types, true);

/** At the append of that number, counted from 0. */
export function dyingAt(ports: Ports, index: number, isWritten: boolean): Ports {
  let count = -1;
  return dyingWhen(ports, () => (count += 1) === index, isWritten);
}

const dying = (ports: Ports, types: RegExp, isWritten: boolean): Ports =>
  dyingWhen(ports, (events) => events.some(({ type }) => types.test(type)), isWritten);

function dyingWhen(ports: Ports, isEnd: (events: readonly NewEvent[]) => boolean, isWritten: boolean): Ports {
  let isGone = false;
  const { events: store } = ports;
  const append: Ports['events']['append'] = async (stream, expected, events: readonly NewEvent[]) => {
    if (isGone) throw new ProcessGone();
    isGone = isEnd(events);
    const appended = !isGone || isWritten ? await store.append(stream, expected, events) : null;
    if (isGone || appended === null) throw new ProcessGone();
    return appended;
  };
  const events: Ports['events'] = {
    append,
    readStream: (stream, from) => store.readStream(stream, from),
    readLast: (stream) => store.readLast(stream),
    headPosition: () => store.headPosition(),
    readAll: (after, most) => store.readAll(after, most),
    subscribeToAll: (from, signal, filter) => store.subscribeToAll(from, signal, filter),
  };
  return { ...ports, events };
}

/** Ports with which something happens before and after each append, before its writer continues. */
import type { Ports } from '../../../commands/ports/ports.ts';

type Happening = (stream: string) => Promise<void>;
const nothing: Happening = () => Promise.resolve();

export function aroundAppends(ports: Ports, before: Happening, after: Happening): Ports {
  const { events: store } = ports;
  const events: Ports['events'] = {
    append: async (stream, expected, facts) => {
      await before(stream);
      const appended = await store.append(stream, expected, facts);
      await after(stream);
      return appended;
    },
    readStream: (stream, from) => store.readStream(stream, from),
    readLast: (stream) => store.readLast(stream),
    headPosition: () => store.headPosition(),
    readAll: (position, most) => store.readAll(position, most),
    subscribeToAll: (from, signal, filter) => store.subscribeToAll(from, signal, filter),
  };
  return { ...ports, events };
}

export const afterAppends = (ports: Ports, happening: Happening): Ports =>
  aroundAppends(ports, nothing, happening);

/** A TCP proxy that can fall silent or cut its connections: what a frozen machine or a torn cable looks like. */
import { once } from 'node:events';
import { createConnection, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

export interface FreezableProxy {
  readonly port: number;
  /** Swallows nothing, but passes nothing on either: both ways, or the answers only. */
  freeze(what: 'all' | 'answers'): void;
  thaw(): void;
  /** Resets every connection. */
  cut(): void;
  close(): Promise<void>;
}

export async function freezableProxy(targetPort: number): Promise<FreezableProxy> {
  const pairs = new Set<{ near: Socket; far: Socket }>();
  let frozen: 'all' | 'answers' | null = null;
  const apply = ({ near, far }: { near: Socket; far: Socket }): void => {
    if (frozen === null) {
      near.pipe(far);
      far.pipe(near);
      return;
    }
    far.unpipe(near).pause();
    if (frozen === 'all') near.unpipe(far).pause();
  };
  const server = createServer((near) => {
    const pair = { near, far: createConnection({ port: targetPort, host: '127.0.0.1' }) };
    pairs.add(pair);
    for (const socket of [pair.near, pair.far]) {
      socket.on('error', () => undefined);
      socket.on('close', () => {
        pairs.delete(pair);
        pair.near.destroy();
        pair.far.destroy();
      });
    }
    apply(pair);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = (): void => {
    for (const { near, far } of pairs) {
      near.resetAndDestroy();
      far.resetAndDestroy();
    }
  };
  return {
    port: (server.address() as AddressInfo).port,
    freeze: (what) => {
      frozen = what;
      pairs.forEach(apply);
    },
    thaw: () => {
      frozen = null;
      pairs.forEach(apply);
    },
    cut,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      cut();
      await closed;
    },
  };
}

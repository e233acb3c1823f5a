/**
 * A relay before a mail server that notes when the server tells of new mail. The gateway connects through it: another client beside it
 * is told at other times, because Dovecot gathers news for half a second on each connection.
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

const EXISTS = /^\* (\d+) EXISTS\r$/gm;

export interface IdleLine extends AsyncDisposable {
  readonly port: number;
  /** From now on, messages beyond this number in a folder are new. */
  begin(messages: number): void;
  /** When each new message was told, as `Date.now()`. */
  readonly told: readonly number[];
}

export async function openIdleLine(target: number): Promise<IdleLine> {
  const told: number[] = [];
  const sockets = new Set<Socket>();
  let known = Infinity;
  const note = (text: string): void => {
    for (const [, count] of text.matchAll(EXISTS))
      for (; known < Number(count); known += 1) told.push(Date.now());
  };
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ host: '127.0.0.1', port: target, noDelay: true });
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
      from.on('data', (chunk) => to.write(chunk));
    }
    upstream.on('data', (chunk: Buffer) => {
      note(chunk.toString('latin1'));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    told,
    begin: (messages) => {
      known = messages;
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

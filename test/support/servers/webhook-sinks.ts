/** Endpoints on loopback that receive webhooks: well-behaved ones, and one for each way to misbehave. */
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';

export interface Sink extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** Connections accepted so far. */
  readonly accepted: () => number;
}

async function listening(server: net.Server, scheme: 'http' | 'https'): Promise<Sink> {
  const sockets = new Set<net.Socket>();
  let accepted = 0;
  server.on('connection', (socket: net.Socket) => {
    accepted += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `${scheme}://127.0.0.1:${String(port)}/hook`,
    accepted: () => accepted,
    [Symbol.asyncDispose]: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}

export interface Received {
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

export type Answer = (request: Received, response: http.ServerResponse) => void;

const handler =
  (answer: Answer): http.RequestListener =>
  (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      answer({ headers: request.headers, body: Buffer.concat(chunks).toString() }, response);
    });
  };

/** An HTTP server that answers as it is told. */
export const httpSink = (answer: Answer): Promise<Sink> =>
  listening(http.createServer(handler(answer)), 'http');

export const httpsSink = (
  answer: Answer,
  tls: { readonly key: string; readonly cert: string },
): Promise<Sink> => listening(https.createServer(tls, handler(answer)), 'https');

/** A TCP server for what HTTP servers do not do. */
export const tcpSink = (onSocket: (socket: net.Socket) => void): Promise<Sink> =>
  listening(net.createServer(onSocket), 'http');

/** Writes `text` again and again, until the other side has had enough. */
export function drip(socket: net.Socket, text: string, everyMs: number): void {
  const timer = setInterval(() => socket.write(text), everyMs);
  socket.once('close', () => {
    clearInterval(timer);
  });
}

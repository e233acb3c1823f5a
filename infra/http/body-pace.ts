/** Bounds the time a request's body may take by what of it has come, so that a slow line is told from a silent client. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '../../commands/values/errors.ts';
import { refuseRequest } from './refuse-request.ts';

export interface BodyPace {
  /** Any body may take this long. */
  readonly graceMs: number;
  /** What comes faster than this may take longer. */
  readonly bytesPerSecond: number;
}

/** An upload of 25 MiB over a line of 128 kbit/s goes through, in 27 minutes; JSON of 1 MiB has two minutes. */
export const BODY_PACE: BodyPace = { graceMs: 60_000, bytesPerSecond: 16 * 1024 };

/** How long a body may take of which so many bytes have come. */
export const timeForMs = ({ graceMs, bytesPerSecond }: BodyPace, bytes: number): number =>
  graceMs + (bytes / bytesPerSecond) * 1_000;

/** Ends the connection of a request whose body falls behind: 408 (RFC 9110 15.5.9) where nothing was answered yet. */
export function holdToPace(request: IncomingMessage, response: ServerResponse, pace: BodyPace): void {
  const { socket, headers } = request;
  // Without either there is no body (RFC 9112 6.3).
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return;
  const begin = performance.now();
  const before = socket.bytesRead;
  const look = (): void => {
    if (request.complete || socket.destroyed) return;
    // What still comes behind its answer is read by nobody and earns no time.
    const bytes = response.headersSent ? 0 : socket.bytesRead - before;
    const leftMs = timeForMs(pace, bytes) - (performance.now() - begin);
    if (leftMs > 0) timer = setTimeout(look, leftMs).unref();
    else end(response);
  };
  // A body nobody reads closes with its connection: the timer must not be what keeps an ended process alive.
  let timer = setTimeout(look, pace.graceMs).unref();
  request.once('close', () => {
    clearTimeout(timer);
  });
}

function end(response: ServerResponse): void {
  const { socket } = response.req;
  if (response.headersSent) {
    socket.destroy();
    return;
  }
  response.once('finish', () => socket.destroy());
  refuseRequest(response, new GatewayError('request_timeout', 'The body came too slowly; send it again.'));
}

/** Aborts when the client disconnects. */
import type { ServerResponse } from 'node:http';

/** Aborts when the connection of an answer closes, sent or not. */
export function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  const note = (): void => {
    gone.abort();
  };
  if (response.closed) note();
  else response.once('close', note);
  return gone.signal;
}

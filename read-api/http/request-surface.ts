/** The surface of a REST request, as events name it: the gateway's own pages are the console. */
import type { IncomingMessage } from 'node:http';

/**
 * `console` for a person's request that a page of this origin sent: browsers say so in `Sec-Fetch-Site`, which no script may
 * set (Fetch Metadata). Whatever else says it is taken at its word: it is a note, and no right rests on it.
 */
export const surfaceOf = ({ headers }: IncomingMessage, isOfPerson: boolean): 'rest' | 'console' =>
  isOfPerson && headers['sec-fetch-site'] === 'same-origin' ? 'console' : 'rest';

/** A SEARCH in the open folder, with typed refusals. */
import type { SearchObject } from 'imapflow';
import { GatewayError } from '../../commands/values/errors.ts';
import type { ImapConnection } from './imap-connection.ts';

const REFUSED = 'search_refused';
/** imapflow's codes for a query it cannot express in IMAP. */
const UNSPEAKABLE = new Set([
  'InvalidStringValue',
  'InvalidTokenValue',
  'InvalidSearchQuery',
  'InvalidTextValue',
]);

/** UIDs found, lowest first. Throws `filter_unsupported` when the server does not understand or allow the search. */
export async function searchUids(
  connection: ImapConnection,
  query: SearchObject,
): Promise<readonly number[]> {
  const found = await connection.run(async (client) => {
    try {
      return await client.search(query, { uid: true });
    } catch (error) {
      // Nothing was sent: the connection is well.
      if (isUnspeakable(error)) return false;
      throw error;
    }
  });
  if (Array.isArray(found)) return found;
  throw new GatewayError(
    'filter_unsupported',
    'The mail server cannot search for this; leave body_contains and header out, or change their value.',
    { details: { reason: REFUSED, server_code: connection.lastRefusal } },
  );
}

/** True for the error of `searchUids` when the server refuses a search. */
export const isRefusedSearch = (error: unknown): boolean =>
  error instanceof GatewayError && error.details['reason'] === REFUSED;

const isUnspeakable = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && UNSPEAKABLE.has(error.code);

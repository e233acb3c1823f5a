/** STATUS (RFC 9051 6.3.11) where a folder may be gone. */
import type { ImapFlow, StatusObject, StatusQuery } from 'imapflow';

/** The status of a folder without opening it; false when the folder is gone, or the server does not report it. */
export async function askStatus(
  client: Pick<ImapFlow, 'status'>,
  path: string,
  query: StatusQuery,
): Promise<StatusObject | false> {
  try {
    return await client.status(path, query);
  } catch (error) {
    // Opening the folder gives the exact error.
    if (error instanceof Error && 'code' in error && error.code === 'NotFound') return false;
    throw error;
  }
}

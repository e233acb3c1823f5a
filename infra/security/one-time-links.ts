/** The `OneTimeLinks` port: tokens of 256 random bits, their SHA-256 in `work.one_time_link` until they are used. */
import { createHash, randomBytes } from 'node:crypto';
import type { Clock, Sql } from '../../commands/kernel/ports.ts';
import type { OneTimeLinks } from '../../commands/kernel/sign-in-port.ts';

/** A link is handed over by a person, not by mail, so it may wait for a day. */
const GOOD_FOR_MS = 24 * 60 * 60_000;

export function createOneTimeLinks({
  sql,
  clock,
}: {
  readonly sql: Sql;
  readonly clock: Clock;
}): OneTimeLinks {
  return {
    make: async (purpose, subject) => {
      const token = randomBytes(32).toString('base64url');
      const now = clock.now();
      await sql.query('delete from work.one_time_link where expires_at <= $1', [now]);
      await sql.query(
        'insert into work.one_time_link (token_sha256, purpose, subject, expires_at) values ($1, $2, $3, $4)',
        [hashOf(token), purpose, subject, new Date(now.getTime() + GOOD_FOR_MS)],
      );
      return token;
    },
    take: async (purpose, token) => {
      // One statement: of two requests with the same token, one gets the row.
      const [row] = await sql.query<{ subject: string | null }>(
        `delete from work.one_time_link where token_sha256 = $1 and purpose = $2 and expires_at > $3
         returning subject`,
        [hashOf(token), purpose, clock.now()],
      );
      if (row === undefined) return null;
      // One that was asked for twice is not left lying about.
      await sql.query('delete from work.one_time_link where purpose = $1 and subject = $2', [
        purpose,
        row.subject,
      ]);
      return row;
    },
  };
}

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();

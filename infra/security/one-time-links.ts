/** The `OneTimeLinks` port: tokens of 256 random bits, their SHA-256 in `work.one_time_link` until they are used. */
import { createHash, randomBytes } from 'node:crypto';
import { routeKey } from '../../commands/values/ids.ts';
import { writePassword } from './secrets.ts';
import type { Clock, Row, Sql } from '../../commands/ports/ports.ts';
import type { OneTimeLinks } from '../../commands/ports/sign-in-port.ts';

/** A person hands a link over, not mail, so it may take a day. */
const GOOD_FOR_MS = 24 * 60 * 60_000;

export function createOneTimeLinks({
  sql,
  clock,
}: {
  readonly sql: Sql;
  readonly clock: Clock;
}): OneTimeLinks {
  return {
    make: async (purpose, subject, orgId) => {
      const token = `${orgId === null ? '' : routeKey(orgId)}${randomBytes(32).toString('base64url')}`;
      const now = clock.now();
      await sql.query('delete from work.one_time_link where expires_at <= $1', [now]);
      await sql.query(
        'insert into work.one_time_link (token_sha256, purpose, subject, expires_at) values ($1, $2, $3, $4)',
        [hashOf(token), purpose, subject, new Date(now.getTime() + GOOD_FOR_MS)],
      );
      return token;
    },
    find: async (purpose, token) => {
      const [row] = await sql.query<LinkRow>(FIND, [hashOf(token), purpose, clock.now()]);
      return row === undefined ? null : { subject: row.subject };
    },
    takeForPassword: (token, password) =>
      sql.transaction(async (transaction) => {
        const hash = hashOf(token);
        const rows = await transaction.query<LinkRow>(TAKE, [hash, 'password', clock.now()]);
        const userId = rows.find(({ token_sha256 }) => hash.equals(token_sha256))?.subject ?? null;
        if (userId === null) return null;
        await writePassword(transaction, userId, password);
        return { userId };
      }),
  };
}

interface LinkRow extends Row {
  readonly token_sha256: Buffer;
  readonly subject: string | null;
}

const FIND = `select token_sha256, subject from work.one_time_link
  where token_sha256 = $1 and purpose = $2 and expires_at > $3`;

/**
 * One statement, so that of two requests with the same token only one gets the row. It also deletes the person's other
 * links, so that a link requested twice does not stay valid. Rows are locked in order, because two links may be used at
 * once.
 */
const TAKE = `with good as (${FIND}), held as (
    select token_sha256 from work.one_time_link
    where purpose = $2 and subject in (select subject from good)
    order by token_sha256 for update
  )
  delete from work.one_time_link as link using held where link.token_sha256 = held.token_sha256
  returning link.token_sha256, link.subject`;

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();

/** The `OneTimeLinks` port: tokens of 256 random bits, their SHA-256 in `work.one_time_link` until they are used. */
import { createHash, randomBytes } from 'node:crypto';
import { routeKey } from '../../commands/values/ids.ts';
import { writePassword } from './secrets.ts';
import type { Clock, Row, Sql } from '../../commands/ports/ports.ts';
import type { LinkPurpose, OneTimeLinks } from '../../commands/ports/sign-in-port.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** A link that a person hands over, or that waits in a mailbox, may take a day; one that opens an account must not. */
const GOOD_FOR_MS: Readonly<Record<LinkPurpose, number>> = {
  setup: DAY_MS,
  password: DAY_MS,
  reset: 30 * MINUTE_MS,
  verify: DAY_MS,
  invite: 7 * DAY_MS,
};

/** Both set a password. */
const FOR_A_PASSWORD: readonly LinkPurpose[] = ['password', 'reset'];

export function createOneTimeLinks({
  sql,
  clock,
}: {
  readonly sql: Sql;
  readonly clock: Clock;
}): OneTimeLinks {
  return {
    make: async (purpose, subject, orgId, endsAt) => {
      const token = `${orgId === null ? '' : routeKey(orgId)}${randomBytes(32).toString('base64url')}`;
      const now = clock.now();
      const end = endsAt ?? new Date(now.getTime() + GOOD_FOR_MS[purpose]);
      await sql.query('delete from work.one_time_link where expires_at <= $1', [now]);
      await sql.query(MAKE, [hashOf(token), purpose, subject, end]);
      return token;
    },
    find: async (purpose, token) => {
      const [row] = await sql.query<LinkRow>(FIND, [hashOf(token), [purpose], clock.now()]);
      return row === undefined ? null : { subject: row.subject };
    },
    take: async (purpose, token) => {
      const [row] = await sql.query<LinkRow>(TAKE, [hashOf(token), [purpose], clock.now()]);
      return row === undefined ? null : { subject: row.subject };
    },
    takeForPassword: (token, password) =>
      sql.transaction(async (transaction) => {
        const hash = hashOf(token);
        const rows = await transaction.query<LinkRow>(TAKE_ALL, [hash, FOR_A_PASSWORD, clock.now()]);
        const userId = rows.find(({ token_sha256 }) => hash.equals(token_sha256))?.subject ?? null;
        if (userId === null) return null;
        await writePassword(transaction, userId, password);
        return { userId };
      }),
    withdraw: async (subject) => {
      await sql.query('delete from work.one_time_link where subject = $1', [subject]);
    },
  };
}

interface LinkRow extends Row {
  readonly token_sha256: Buffer;
  readonly subject: string | null;
}

/** Null subjects are all different: such a link replaces none. */
const MAKE = `insert into work.one_time_link (token_sha256, purpose, subject, expires_at) values ($1, $2, $3, $4)
  on conflict (purpose, subject) do update set token_sha256 = excluded.token_sha256, expires_at = excluded.expires_at`;

const THIS_ONE = 'token_sha256 = $1 and purpose = any($2) and expires_at > $3';

const FIND = `select token_sha256, subject from work.one_time_link where ${THIS_ONE}`;

/** One statement, so that of two requests with the same token only one gets the row. */
const TAKE = `delete from work.one_time_link where ${THIS_ONE} returning token_sha256, subject`;

/**
 * As `TAKE`; it also deletes the person's other links for a password, so that none of them stays valid. Rows are locked in
 * order, because two links may be used at once.
 */
const TAKE_ALL = `with good as (${FIND}), held as (
    select token_sha256 from work.one_time_link
    where purpose = any($2) and subject in (select subject from good)
    order by token_sha256 for update
  )
  delete from work.one_time_link as link using held where link.token_sha256 = held.token_sha256
  returning link.token_sha256, link.subject`;

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();

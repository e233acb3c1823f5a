/** The `AttemptLimits` port over `work.sign_in_attempt`, so that all replicas count together. */
import { GatewayError } from '../../commands/kernel/errors.ts';
import type { Clock, Row, Sql } from '../../commands/kernel/ports.ts';
import type { Attempt, AttemptLimits } from '../../commands/kernel/sign-in-port.ts';

export interface SignInAttemptsOptions {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly perMinute: number;
}

/** Failures in a row before the pauses begin. Many people may share an address, so it is given more. */
const FREE_FAILURES = { account: 3, source: 10 } as const;
/** The pause doubles from two seconds up to this: a delay, never a lock-out. */
const LONGEST_PAUSE_SECONDS = 900;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

interface Place {
  readonly key: string;
  readonly freeFailures: number;
}

export function createSignInAttempts({ sql, clock, perMinute }: SignInAttemptsOptions): AttemptLimits {
  const enter = async ({ key }: Place): Promise<void> => {
    const now = clock.now();
    const [row] = await sql.query<PlaceRow>(ENTER, [key, now]);
    const { in_minute = 1, minute_began_at = now, not_before = null } = row ?? {};
    const waitMs = Math.max(
      in_minute > perMinute ? minute_began_at.getTime() + MINUTE_MS - now.getTime() : 0,
      (not_before?.getTime() ?? 0) - now.getTime(),
    );
    if (waitMs > 0) throw tooOften(waitMs);
  };
  return {
    admit: async ({ account, source }): Promise<Attempt> => {
      const known = source === null ? null : `known ${account} ${source}`;
      const isKnown = known !== null && (await sql.query(FIND, [known])).length > 0;
      const own = { key: isKnown ? known : `account ${account}`, freeFailures: FREE_FAILURES.account };
      const places: Place[] = [own];
      // Many sit behind one address: what others do there keeps out nobody who has come from there before.
      if (source !== null && !isKnown)
        places.push({ key: `source ${source}`, freeFailures: FREE_FAILURES.source });
      for (const place of places) await enter(place);
      return {
        failed: async () => {
          for (const { key, freeFailures } of places) {
            await sql.query(FAIL, [key, clock.now(), freeFailures, LONGEST_PAUSE_SECONDS]);
          }
        },
        // The failures of an address stay: whoever owns one account must not clear the way to others by it.
        succeeded: async () => {
          const now = clock.now();
          await sql.query(SUCCEED, [own.key]);
          if (known !== null) await sql.query(REMEMBER, [known, now]);
          await sql.query(FORGET, [new Date(now.getTime() - DAY_MS), new Date(now.getTime() - 30 * DAY_MS)]);
        },
      };
    },
  };
}

interface PlaceRow extends Row {
  readonly in_minute: number;
  readonly minute_began_at: Date;
  readonly not_before: Date | null;
}

const FIND = 'select 1 from work.sign_in_attempt where key = $1';

const ENTER = `insert into work.sign_in_attempt as held (key, minute_began_at, in_minute) values ($1, $2, 1)
  on conflict (key) do update set
    in_minute = case when held.minute_began_at <= $2::timestamptz - interval '1 minute' then 1 else held.in_minute + 1 end,
    minute_began_at =
      case when held.minute_began_at <= $2::timestamptz - interval '1 minute' then $2 else held.minute_began_at end
  returning in_minute, minute_began_at, not_before`;

/** After an hour without a failure the count begins anew. */
const FAIL = `update work.sign_in_attempt set
    failures = counted.failures,
    failed_at = $2,
    not_before = case when counted.failures > $3::integer then
      $2::timestamptz + make_interval(secs => least(power(2, least(counted.failures - $3::integer, 20)), $4::integer)) end
  from (
    select key, case when failed_at < $2::timestamptz - interval '1 hour' then 1 else failures + 1 end as failures
    from work.sign_in_attempt where key = $1 for update
  ) counted
  where sign_in_attempt.key = counted.key`;

const SUCCEED = 'update work.sign_in_attempt set failures = 0, not_before = null where key = $1';

const REMEMBER = `insert into work.sign_in_attempt (key, minute_began_at, in_minute) values ($1, $2, 1)
  on conflict (key) do nothing`;

const FORGET = `delete from work.sign_in_attempt
  where minute_began_at < $1 and (key not like 'known %' or minute_began_at < $2)`;

const tooOften = (waitMs: number): GatewayError =>
  new GatewayError('rate_limited', 'Passwords were tried too often here; wait before the next one.', {
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)),
    details: { limit: 'sign_ins_per_minute' },
  });

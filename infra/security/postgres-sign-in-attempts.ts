/** The `AttemptLimits` port over `work.sign_in_attempt`, so that all replicas count together. */
import { setTimeout as delay } from 'node:timers/promises';
import { GatewayError } from '../../commands/values/errors.ts';
import type { AttemptLimits, AttemptOn } from '../../commands/ports/sign-in-port.ts';
import type { Clock, Row, Sql } from '../../commands/ports/ports.ts';

export interface SignInAttemptsOptions extends PlaceLimits {
  /** Delay before a refused try from a source is answered, from its arrival; one second by default. */
  readonly refusedAfterMs?: number;
}

/**
 * Longer than a password check behind a full queue: a person known here is checked before being refused, a stranger is not,
 * and the timing must not show which.
 */
const REFUSED_AFTER_MS = 1_000;
/** Independent of their outcome, so that failing clients cannot fill the table. */
const TRIES_PER_SWEEP = 50;

export function createSignInAttempts(options: SignInAttemptsOptions): AttemptLimits {
  let tries = 0;
  return {
    attempt: async (on, check) => {
      const refuseAt = performance.now() + (options.refusedAfterMs ?? REFUSED_AFTER_MS);
      tries += 1;
      if (tries % TRIES_PER_SWEEP === 1) await forgetOldPlaces(options);
      const places = new AttemptPlaces(options, on);
      const refuse = async (waitMs: number): Promise<never> => {
        if (on.source !== null) await delay(Math.max(0, refuseAt - performance.now()));
        throw tooOften(waitMs);
      };
      // A known person is judged as a stranger too, but after the check: the database is asked the same either way.
      const isKnown = await places.enterKnown();
      const strangersWaitMs = isKnown ? 0 : await places.enter();
      if (strangersWaitMs > 0) return await refuse(strangersWaitMs);
      const lateWaitMs = async (): Promise<number> => (isKnown ? await places.enter() : 0);
      const result = await check().catch(async (error: unknown) => {
        const waitMs = await lateWaitMs();
        if (waitMs > 0) return await refuse(waitMs);
        throw error;
      });
      if (result !== null) {
        await places.succeed(isKnown);
        return result;
      }
      const waitMs = await lateWaitMs();
      await places.fail({ isKnown, isLetIn: waitMs === 0 });
      return waitMs > 0 ? await refuse(waitMs) : null;
    },
  };
}

const tooOften = (waitMs: number): GatewayError =>
  new GatewayError('rate_limited', 'Too many attempts from here; wait before the next one.', {
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)),
    details: { limit: 'sign_ins_per_minute' },
  });

/** The places in `work.sign_in_attempt` where one try is counted. */
export interface PlaceLimits {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly perMinute: number;
}

/** Failures in a row before the pauses begin. Many people may share an address, so it gets more. */
const FREE_FAILURES = { account: 3, source: 10 } as const;
/** The pause doubles from two seconds up to this: a delay, never a lock-out. */
const LONGEST_PAUSE_SECONDS = 900;
const MINUTE_MS = 60_000;
/** After an hour a place is forgotten. */
const PLACE_KEPT_MS = 2 * 60 * MINUTE_MS;
const KNOWN_KEPT_MS = 30 * 24 * 60 * MINUTE_MS;

interface Place {
  readonly key: string;
  readonly freeFailures: number;
}

/** Where one try is counted. */
export class AttemptPlaces {
  readonly #options: PlaceLimits;
  /** Entered in order: a refusal by the first leaves no trace in the second, nor a row for a made-up account. */
  readonly #strangers: readonly Place[];
  readonly #account: Place;
  readonly #known: Place | null;

  constructor(options: PlaceLimits, { account, source }: AttemptOn) {
    this.#options = options;
    const { account: freeFailures } = FREE_FAILURES;
    this.#account = { key: `account ${account}`, freeFailures };
    this.#known = source === null ? null : { key: `known ${account} ${source}`, freeFailures };
    const here = source === null ? [] : [{ key: `source ${source}`, freeFailures: FREE_FAILURES.source }];
    this.#strangers = [...here, this.#account];
  }

  /** True where the account's person has signed in before and is admitted for that. */
  async enterKnown(): Promise<boolean> {
    if (this.#known === null) return false;
    const now = this.#options.clock.now();
    const [row] = await this.#options.sql.query<PlaceRow>(ENTER_KNOWN, [this.#known.key, now]);
    return row !== undefined && this.#waitMs(row, now) === 0;
  }

  /** How long a client that is not known here has to wait, in milliseconds; 0 = admitted. */
  async enter(): Promise<number> {
    for (const { key } of this.#strangers) {
      const now = this.#options.clock.now();
      const [row] = await this.#options.sql.query<PlaceRow>(ENTER, [key, now]);
      const waitMs = row === undefined ? 0 : this.#waitMs(row, now);
      if (waitMs > 0) return waitMs;
    }
    return 0;
  }

  /** A failure where the person is known counts for every client, like a stranger's; otherwise it would reveal who is known. */
  async fail({ isKnown, isLetIn }: { readonly isKnown: boolean; readonly isLetIn: boolean }): Promise<void> {
    const places = [...(isLetIn ? this.#strangers : []), ...(isKnown && this.#known ? [this.#known] : [])];
    await this.#options.sql.query(FAIL, [
      places.map(({ key }) => key),
      this.#options.clock.now(),
      places.map(({ freeFailures }) => freeFailures),
      LONGEST_PAUSE_SECONDS,
    ]);
  }

  /** The failures of a source stay: the owner of one account must not clear the way to others with it. */
  async succeed(isKnown: boolean): Promise<void> {
    const { sql, clock } = this.#options;
    const own = [...(isKnown ? [] : [this.#account]), ...(this.#known ? [this.#known] : [])];
    await sql.query(SUCCEED, [own.map(({ key }) => key)]);
    if (this.#known !== null) await sql.query(REMEMBER, [this.#known.key, clock.now()]);
  }

  #waitMs({ in_minute, minute_began_at, failed_at, not_before }: PlaceRow, now: Date): number {
    const isFull = in_minute > this.#options.perMinute;
    // A failure in the future was recorded before the clock was set back: its pause is over.
    const pauses = failed_at !== null && failed_at.getTime() <= now.getTime() + MINUTE_MS;
    return Math.max(
      0,
      isFull ? minute_began_at.getTime() + MINUTE_MS - now.getTime() : 0,
      pauses && not_before !== null ? not_before.getTime() - now.getTime() : 0,
    );
  }
}

/** Without this, a client that only fails, at ever new addresses, would fill the table. */
export async function forgetOldPlaces({ sql, clock }: Pick<PlaceLimits, 'sql' | 'clock'>): Promise<void> {
  const now = clock.now().getTime();
  await sql.query(FORGET, [new Date(now - PLACE_KEPT_MS), new Date(now - KNOWN_KEPT_MS)]);
}

interface PlaceRow extends Row {
  readonly in_minute: number;
  readonly minute_began_at: Date;
  readonly failed_at: Date | null;
  readonly not_before: Date | null;
}

/**
 * All replicas count here, with slightly different clocks; a minute beginning later than that was counted before a clock
 * was set back.
 */
const IN_MINUTE = `held.minute_began_at > $2::timestamptz - interval '1 minute'
      and held.minute_began_at <= $2::timestamptz + interval '1 minute'`;

const COUNT = `
    in_minute = case when ${IN_MINUTE} then held.in_minute + 1 else 1 end,
    minute_began_at = case when ${IN_MINUTE} then held.minute_began_at else $2 end`;

const ENTER = `insert into work.sign_in_attempt as held (key, minute_began_at, in_minute) values ($1, $2, 1)
  on conflict (key) do update set ${COUNT}
  returning in_minute, minute_began_at, failed_at, not_before`;

const ENTER_KNOWN = `update work.sign_in_attempt as held set ${COUNT} where key = $1
  returning in_minute, minute_began_at, failed_at, not_before`;

/** After an hour without a failure the count restarts. */
const FAIL = `update work.sign_in_attempt set
    failures = counted.failures,
    failed_at = $2,
    not_before = case when counted.failures > counted.free then
      $2::timestamptz + make_interval(secs => least(power(2, least(counted.failures - counted.free, 20)), $4::integer)) end
  from (
    select held.key, place.free,
      case when held.failed_at < $2::timestamptz - interval '1 hour' then 1 else held.failures + 1 end as failures
    from work.sign_in_attempt held join unnest($1::text[], $3::integer[]) as place (key, free) on place.key = held.key
    order by held.key for update of held
  ) counted
  where sign_in_attempt.key = counted.key`;

const SUCCEED = 'update work.sign_in_attempt set failures = 0, not_before = null where key = any($1)';

const REMEMBER = `insert into work.sign_in_attempt (key, minute_began_at, in_minute) values ($1, $2, 1)
  on conflict (key) do nothing`;

const FORGET = `delete from work.sign_in_attempt
  where minute_began_at < $1 and (key not like 'known %' or minute_began_at < $2)`;

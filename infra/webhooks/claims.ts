/**
 * Which run makes which attempt: rows of `work.delivery_claim`, taken in one transaction at a time by all runs together.
 *
 * Nothing is claimed before the read model has reached `work.delivery_progress.highest`: while `read` or `work` is rebuilt,
 * rows look due whose outcome is further on in the log.
 */
import type { EventStore } from '../../commands/ports/event-store.ts';
import type { Log, Row, Sql } from '../../commands/ports/ports.ts';
import type { DeliveryRow } from '../../commands/ports/webhook-records.ts';
import type { Position } from '../../commands/values/position.ts';
import { checkpointKey, tableName } from '../../projections/projection.ts';
import { type EndpointRow, readDelivery, readEndpoint, type Stored } from '../../projections/webhook-rows.ts';
import { webhooks } from '../../projections/webhooks.ts';
import { IS_QUIET, type ModelTables, OLDEST_DUE, type Picking, TAKE } from './claims-sql.ts';

export interface Claim {
  readonly delivery: DeliveryRow;
  readonly endpoint: EndpointRow;
}

export interface Claims {
  /** Claims of this run that exist no more. */
  readonly over: readonly string[];
  readonly due: readonly Claim[];
  /** Of a run that died before it recorded an outcome: whether it sent anything is not known. */
  readonly interrupted: readonly Claim[];
  /** Queued longer ago than payloads are kept. */
  readonly expired: readonly Claim[];
}

const NONE: Claims = { over: [], due: [], interrupted: [], expired: [] };

/** The lease of a run that makes attempts; its claims are as alive as this. */
export const WORKER_LEASE = 'webhook-worker-';

export interface ClaimOptions {
  readonly sql: Sql;
  readonly events: Pick<EventStore, 'headPosition'>;
  readonly log: Log;
  readonly runId: string;
}

/** Which deliveries may be sent. */
export type Allowed = Pick<Picking, 'now' | 'expiredBefore' | 'exceptOrganisations'>;

/** What a run wants of a pass. */
export interface Wanted extends Picking {
  /** Claims of this run whose outcome is in the log; each stays until the model shows that it ended. */
  readonly recorded: readonly string[];
  /** Claims of this run that sent nothing. */
  readonly released: readonly string[];
  /** Claims of this run whose request failed, in the log already or not. */
  readonly failed: readonly string[];
  /** Claims of this run that are being worked on. */
  readonly underWay: readonly Claim[];
}

interface Pass extends Row {
  readonly position: string;
  readonly over: readonly string[];
  readonly abandoned: readonly { readonly id: string; readonly run: string; readonly open: boolean }[];
  readonly picked: readonly (readonly [kind: 'due' | 'expired', id: string])[];
}

export class DeliveryClaims {
  readonly #options: ClaimOptions;
  readonly #tables: ModelTables = {
    deliveries: tableName('webhook_delivery', webhooks),
    due: tableName('webhook_due', webhooks),
    endpoints: tableName('webhook_endpoint', webhooks),
  };
  /** Dead run → the end of the log after its death was seen. */
  readonly #dead = new Map<string, Position>();
  #isRaised = false;

  constructor(options: ClaimOptions) {
    this.#options = options;
  }

  /** Before the next pass, `highest` is set from the log again: Postgres may have lost what it knew. */
  distrust(): void {
    this.#isRaised = false;
  }

  /** One pass. Throws `store_unavailable`. */
  async take(wanted: Wanted): Promise<Claims> {
    if (!this.#isRaised) await this.#raise(wanted);
    const { claims, dead } = await this.#options.sql.transaction((sql) => this.#takeInside(sql, wanted));
    if (dead.length > 0) {
      const head = await this.#options.events.headPosition();
      for (const run of dead) this.#dead.set(run, head);
    }
    return claims;
  }

  /** For how long something that is due has waited, in seconds. */
  async lagSeconds({ now, expiredBefore, exceptOrganisations }: Allowed): Promise<number> {
    const [row] = await this.#options.sql.query<{ oldest: Date | null }>(OLDEST_DUE(this.#tables), [
      checkpointKey(webhooks),
      now,
      expiredBefore,
      exceptOrganisations,
    ]);
    return row?.oldest == null ? 0 : Math.max(0, (now.getTime() - row.oldest.getTime()) / 1_000);
  }

  /** False when a pass may find something until `now`, beside what this run knows of. */
  async isQuiet({ now, expiredBefore, exceptOrganisations }: Allowed): Promise<boolean> {
    const [row] = await this.#options.sql.query<{ quiet: boolean }>(IS_QUIET(this.#tables), [
      now,
      expiredBefore,
      exceptOrganisations,
    ]);
    return row?.quiet === true;
  }

  async #raise(wanted: Wanted): Promise<void> {
    const { sql, events, log, runId } = this.#options;
    const head = await events.headPosition();
    await sql.transaction(async (inside) => {
      await inside.query('insert into work.delivery_progress (highest) values ($1) on conflict do nothing', [
        String(head),
      ]);
      const [row] = await inside.query<{ highest: string }>(
        'select highest from work.delivery_progress for update',
      );
      await mendOwn(inside, runId, wanted);
      if (row !== undefined && BigInt(row.highest) > head) {
        // Read after the lock: another run may have seen more since.
        const now = await events.headPosition();
        if (BigInt(row.highest) > now)
          log.error('webhooks: the log ends before deliveries that were made; it was restored', {
            highest: row.highest,
            head: String(now),
          });
        else return;
      }
      await inside.query('update work.delivery_progress set highest = $1', [String(head)]);
    });
    this.#isRaised = true;
  }

  async #takeInside(sql: Sql, wanted: Wanted): Promise<{ claims: Claims; dead: readonly string[] }> {
    const { runId } = this.#options;
    // Its own statement, first: the others then see what the previous claimer wrote.
    const [progress] = await sql.query<{ highest: string }>(
      "select highest, set_config('synchronous_commit', 'on', true) from work.delivery_progress for update",
    );
    if (progress === undefined) {
      this.#isRaised = false;
      return { claims: NONE, dead: [] };
    }
    const [pass] = await sql.query<Pass>(TAKE(this.#tables), [
      checkpointKey(webhooks),
      progress.highest,
      runId,
      [...wanted.recorded, ...wanted.released],
      wanted.released,
      WORKER_LEASE,
      wanted.now,
      Math.max(0, wanted.limit),
      wanted.ofOneOrganisation,
      wanted.expiredBefore,
      wanted.exceptEndpoints,
      wanted.healthyRoom,
      wanted.exceptOrganisations,
      wanted.failed,
    ]);
    if (pass === undefined) return { claims: NONE, dead: [] };
    const taken = pass.abandoned.length > 0 ? await this.#takeOver(sql, pass) : [];
    const claims = await this.#read(sql, [...taken, ...pass.picked.map(([, id]) => id)]);
    const ofKind = (kind: string): readonly Claim[] =>
      pass.picked.filter((each) => each[0] === kind).flatMap(([, id]) => claims.get(id) ?? []);
    return {
      claims: {
        over: pass.over,
        due: ofKind('due'),
        expired: ofKind('expired'),
        interrupted: taken.flatMap((id) => claims.get(id) ?? []),
      },
      dead: [...new Set(pass.abandoned.map(({ run }) => run))].filter((run) => !this.#dead.has(run)),
    };
  }

  /** The claims of dead runs: gone where the model shows the end, else of this run. */
  async #takeOver(sql: Sql, { position, abandoned }: Pass): Promise<readonly string[]> {
    const isSeen = (run: string): boolean => {
      const end = this.#dead.get(run);
      return end !== undefined && end <= BigInt(position);
    };
    const left = abandoned.filter(({ run }) => isSeen(run));
    const ended = left.filter(({ open }) => !open).map(({ id }) => id);
    const taken = left.filter(({ open }) => open).map(({ id }) => id);
    await sql.query('delete from work.delivery_claim where delivery_id = any($1::text[])', [ended]);
    await sql.query('update work.delivery_claim set run_id = $2 where delivery_id = any($1::text[])', [
      taken,
      this.#options.runId,
    ]);
    return taken;
  }

  async #read(sql: Sql, ids: readonly string[]): Promise<ReadonlyMap<string, Claim>> {
    if (ids.length === 0) return new Map();
    const deliveries = (
      await sql.query<Stored>(`select * from ${this.#tables.deliveries} where id = any($1::text[])`, [ids])
    ).map(readDelivery);
    const endpointIds = [...new Set(deliveries.map(({ endpointId }) => endpointId))];
    const endpoints = new Map(
      (
        await sql.query<Stored>(`select * from ${this.#tables.endpoints} where id = any($1::text[])`, [
          endpointIds,
        ])
      ).map((row) => [row['id'], readEndpoint(row)]),
    );
    return new Map(
      deliveries.flatMap((delivery) => {
        const endpoint = endpoints.get(delivery.endpointId);
        return endpoint ? [[delivery.id, { delivery, endpoint }] as const] : [];
      }),
    );
  }
}

/** The claims of this run as it knows them: a commit may have been done without an answer, or lost with `work`. */
async function mendOwn(sql: Sql, runId: string, { recorded, released, underWay }: Wanted): Promise<void> {
  const ids = underWay.map(({ delivery }) => delivery.id);
  await sql.query('delete from work.delivery_claim where run_id = $1 and delivery_id <> all($2::text[])', [
    runId,
    [...recorded, ...released, ...ids],
  ]);
  await sql.query(
    `insert into work.delivery_claim (delivery_id, endpoint_id, org_id, run_id)
     select *, $4 from unnest($1::text[], $2::text[], $3::text[]) on conflict do nothing`,
    [
      ids,
      underWay.map(({ delivery }) => delivery.endpointId),
      underWay.map(({ delivery }) => delivery.orgId ?? ''),
      runId,
    ],
  );
}

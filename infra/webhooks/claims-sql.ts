/** The statements of `DeliveryClaims`. Tables of the read model by their versioned names: a view may name an older one. */

/** What one pass may take. */
export interface Picking {
  readonly now: Date;
  /** Attempts that this run has room for. */
  readonly limit: number;
  /** Beyond this, an organisation gets only room that no other wants. */
  readonly ofOneOrganisation: number;
  readonly expiredBefore: Date;
  readonly exceptEndpoints: readonly string[];
  readonly exceptOrganisations: readonly string[];
  /** Attempts at once to an endpoint that answers. */
  readonly healthyRoom: number;
}

/**
 * Attempts at once to an endpoint whose last attempt failed, whether the model shows it or this run knows it, and to one that rests between attempts. There an attempt counts
 * until the model shows its outcome: it may begin the next rest.
 */
const FAILING_ROOM = 2;
const PROBES = 1;
const MOST_EXPIRED = 100;

export interface ModelTables {
  readonly deliveries: string;
  readonly due: string;
  readonly endpoints: string;
}

const isDue = ({ due }: ModelTables): string => `exists (select from ${due} d where d.id = k.delivery_id)`;

const UNCLAIMED = 'not exists (select from work.delivery_claim k where k.delivery_id = d.id)';

/** What this run knows to be over, with what the model shows. One search by id for each, however much is due: `limit` keeps it so. */
const overOf = ({ due }: ModelTables): string => `
  select o.id, r.id is not null as is_released, d.is_due is not null as is_due
  from unnest($4::text[]) as o(id) left join unnest($5::text[]) as r(id) on r.id = o.id
  left join lateral (select true as is_due from ${due} d where d.id = o.id limit 1) d on true`;

/**
 * Claims that count. Of this run: those under way, those claimed ahead, and those that are over and whose end the model does
 * not show yet. Of other runs every claim counts as running, also where the outcome is in the log and not in the model yet:
 * which of theirs are over only they know.
 */
const BUSY = `
  select k.endpoint_id, k.org_id, o.id is null as is_running, f.id is not null as has_failed
  from work.delivery_claim k left join own_over o on o.id = k.delivery_id
  left join unnest($14::text[]) as f(id) on f.id = k.delivery_id
  where o.id is null or (o.is_due and not o.is_released)`;

/** An endpoint whose organisation is none of these. */
const isServed = (except: string): string => `(e.org_id = any(${except}::text[])) is not true`;

/** An endpoint that may be called at `now`. */
const isOpen = (now: string): string =>
  `e.status in ('active', 'failing') and (e.not_before is null or e.not_before <= ${now})`;

/**
 * $1 a moment, $2 expired before, $3 except organisations. Nothing may be sent until then, nothing has expired, and there are
 * no claims, which could be of a run that died.
 */
export const IS_QUIET = ({ due, endpoints }: ModelTables): string => `
  select not exists (select from work.delivery_claim)
    and not exists (select from ${due} d where d.queued_at < $2)
    and not exists (select from ${endpoints} e where ${isOpen('$1')} and ${isServed('$3')}
      and exists (select from ${due} d where d.endpoint_id = e.id and d.due_at <= $1)) as quiet`;

/** The parameters of `TAKE`. Endpoints that may be called, each with what is due and not claimed; oldest first. */
const dueOf = ({ due, endpoints }: ModelTables): string => `
  select d.*, e.org_id, e.busy_org from (
    select e.id, e.org_id, coalesce(o.claims, 0) as busy_org,
      case when e.rests > 0 then ${String(PROBES)} - coalesce(b.unseen, 0)
        when e.status = 'failing' or b.has_failed then ${String(FAILING_ROOM)} - coalesce(b.unseen, 0)
        else $12::int - coalesce(b.claims, 0) end as room
    from ${endpoints} e
    left join (select endpoint_id, count(*) filter (where is_running)::int as claims, count(*)::int as unseen,
        bool_or(has_failed) as has_failed
      from busy group by 1) b on b.endpoint_id = e.id
    left join (select org_id, count(*)::int as claims from busy where is_running group by 1) o on o.org_id = e.org_id
    where ${isOpen('$7')}
      and e.id <> all($11::text[]) and ${isServed('$13')}
  ) e cross join lateral (
    select d.id, d.endpoint_id, d.due_at, row_number() over (order by d.due_at, d.sequence) as nth
    from (
      select d.id, d.endpoint_id, d.due_at, d.sequence from ${due} d
      where d.endpoint_id = e.id and d.due_at <= $7 and d.queued_at >= $10 and ${UNCLAIMED}
      order by d.due_at, d.sequence limit greatest(least(e.room, $8::int), 0)
    ) d
  ) d`;

/**
 * One pass, in one statement, so that all its parts see the same claims and the same model: removes the claims of this run that
 * are over, finds those of runs that died, and claims what is due. While the model is behind, only those that sent nothing are removed.
 *
 * $1 checkpoint, $2 least position, $3 this run, $4 its attempts that are over, $5 of these, those that sent nothing, $6 prefix
 * of the workers' leases, $7 now, $8 limit, $9 of one organisation, $10 expired before, $11 except endpoints, $12 room of a
 * healthy endpoint, $13 except organisations, $14 attempts of this run that failed. In turns by endpoint and by organisation: the first
 * of each, then the second.
 */
export const TAKE = (tables: ModelTables): string => `
  with gate as (select position from read.checkpoint where projection = $1 and position >= $2::bigint),
  own_over as materialized (${overOf(tables)}),
  busy as (${BUSY}),
  removed as (
    delete from work.delivery_claim k using own_over o where k.run_id = $3 and k.delivery_id = o.id
      and (o.is_released or exists (select from gate) and not o.is_due)
  ),
  progress as (update work.delivery_progress set highest = gate.position from gate where gate.position > highest),
  ranked as (
    select *, busy_org + row_number() over (partition by org_id order by nth, due_at) as of_org
    from (${dueOf(tables)}) d
  ),
  chosen as (
    (select 'due' as kind, id, endpoint_id, org_id, nth, due_at from ranked
      order by of_org > $9::int, nth, due_at, id limit $8::int)
    union all
    (select 'expired', d.id, d.endpoint_id, d.org_id, 0, d.queued_at from ${tables.due} d
      where $8::int > 0 and d.queued_at < $10 and ${UNCLAIMED} order by d.queued_at limit ${String(MOST_EXPIRED)})
  ),
  inserted as (
    insert into work.delivery_claim (delivery_id, endpoint_id, org_id, run_id)
    select c.id, c.endpoint_id, coalesce(c.org_id, ''), $3 from chosen c, gate
    on conflict do nothing returning delivery_id
  )
  select gate.position,
    coalesce((select array_agg(o.id) from own_over o where o.is_released or not o.is_due), '{}') as over,
    coalesce((select json_agg(json_build_object('id', k.delivery_id, 'run', k.run_id, 'open', ${isDue(tables)}))
      from work.delivery_claim k
      where k.run_id <> $3
        and not exists (select from work.lease l where l.name = $6 || k.run_id and l.until > now())), '[]') as abandoned,
    coalesce((select json_agg(json_build_array(c.kind, c.id) order by c.nth, c.due_at, c.id)
      from chosen c join inserted i on i.delivery_id = c.id), '[]') as picked
  from gate`;

/** $1 checkpoint, $2 now, $3 expired before, $4 except organisations. Since when what may be sent has waited; null when nothing does, or the model is behind. */
export const OLDEST_DUE = ({ due, endpoints }: ModelTables): string => `
  select min(d.due_at) as oldest from read.checkpoint c, work.delivery_progress p, ${endpoints} e
  cross join lateral (
    select d.due_at from ${due} d
    where d.endpoint_id = e.id and d.due_at <= $2 and d.queued_at >= $3 and ${UNCLAIMED}
    order by d.due_at, d.sequence limit 1
  ) d
  where c.projection = $1 and c.position >= p.highest
    and ${isOpen('$2')} and ${isServed('$4')}`;

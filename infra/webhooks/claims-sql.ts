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
  /** Attempts at once to an endpoint that answers. */
  readonly healthyRoom: number;
}

/**
 * Attempts at once to an endpoint whose last attempt failed, and to one that rests between attempts. There an attempt counts
 * until the model shows its outcome: it may begin the next rest.
 */
const FAILING_ROOM = 2;
const PROBES = 1;
const MOST_EXPIRED = 100;

/**
 * $1 checkpoint, $2 prefix of the workers' leases, $3 this run. The claims that are over, and those of runs that died, read with
 * the position of the model they are read from.
 */
export const SURVEY = (deliveries: string): string => `
  select c.position,
    coalesce((select array_agg(k.delivery_id) from work.delivery_claim k
      where k.recorded and not ${isOpen(deliveries)}), '{}') as ended,
    coalesce((select json_agg(json_build_object('id', k.delivery_id, 'run', k.run_id, 'open', ${isOpen(deliveries)}))
      from work.delivery_claim k
      where not k.recorded and k.run_id <> $3
        and not exists (select from work.lease l where l.name = $2 || k.run_id and l.until > now())), '[]') as abandoned
  from read.checkpoint c where c.projection = $1`;

const isOpen = (deliveries: string): string =>
  `exists (select from ${deliveries} d where d.id = k.delivery_id and d.status = 'scheduled')`;

const UNCLAIMED = 'not exists (select from work.delivery_claim k where k.delivery_id = d.id)';

export interface ModelTables {
  readonly deliveries: string;
  readonly endpoints: string;
}

/** The parameters of `PICK`. Endpoints that may be called, each with what is due and not claimed; oldest first. */
const dueOf = ({ deliveries, endpoints }: ModelTables): string => `
  select d.*, e.org_id, e.busy_org from (
    select e.id, e.org_id, coalesce(o.claims, 0) as busy_org,
      case when e.rests > 0 then ${String(PROBES)} - coalesce(b.unseen, 0)
        when e.status = 'failing' then ${String(FAILING_ROOM)} - coalesce(b.unseen, 0)
        else $9::int - coalesce(b.claims, 0) end as room
    from ${endpoints} e
    left join (select endpoint_id, count(*) filter (where not recorded)::int as claims, count(*)::int as unseen
      from work.delivery_claim group by 1) b
      on b.endpoint_id = e.id
    left join (select org_id, count(*)::int as claims from work.delivery_claim where not recorded group by 1) o
      on o.org_id = e.org_id
    where e.status in ('active', 'failing') and (e.not_before is null or e.not_before <= $4)
      and e.id <> all($8::text[])
  ) e cross join lateral (
    select d.id, d.endpoint_id, d.due_at, row_number() over (order by d.due_at, d.sequence) as nth
    from (
      select d.id, d.endpoint_id, d.due_at, d.sequence from ${deliveries} d
      where d.endpoint_id = e.id and d.status = 'scheduled' and d.due_at <= $4 and d.queued_at >= $7 and ${UNCLAIMED}
      order by d.due_at, d.sequence limit greatest(e.room, 0)
    ) d
  ) d`;

/**
 * $1 checkpoint, $2 least position, $3 this run, $4 now, $5 limit, $6 of one organisation, $7 expired before, $8 except
 * endpoints, $9 room of a healthy endpoint. In turns by endpoint and by organisation: the first of each, then the second.
 */
export const PICK = (tables: ModelTables): string => `
  with gate as (select from read.checkpoint where projection = $1 and position >= $2::bigint),
  ranked as (
    select *, busy_org + row_number() over (partition by org_id order by nth, due_at) as of_org
    from (${dueOf(tables)}) d
  ),
  chosen as (
    (select 'due' as kind, id, endpoint_id, org_id, nth, due_at from ranked
      order by of_org > $6::int, nth, due_at, id limit $5::int)
    union all
    (select 'expired', d.id, d.endpoint_id, d.org_id, 0, d.queued_at from ${tables.deliveries} d
      where d.status = 'scheduled' and d.queued_at < $7 and ${UNCLAIMED} order by d.queued_at limit ${String(MOST_EXPIRED)})
  ),
  inserted as (
    insert into work.delivery_claim (delivery_id, endpoint_id, org_id, run_id)
    select c.id, c.endpoint_id, coalesce(c.org_id, ''), $3 from chosen c, gate
    on conflict do nothing returning delivery_id
  )
  select c.id, c.kind from chosen c join inserted i on i.delivery_id = c.id order by c.nth, c.due_at, c.id`;

/** $1 checkpoint, $2 now, $3 expired before. Since when what may be sent has waited; null when nothing does, or the model is behind. */
export const OLDEST_DUE = ({ deliveries, endpoints }: ModelTables): string => `
  select min(d.due_at) as oldest from read.checkpoint c, work.delivery_progress p, ${endpoints} e
  cross join lateral (
    select d.due_at from ${deliveries} d
    where d.endpoint_id = e.id and d.status = 'scheduled' and d.due_at <= $2 and d.queued_at >= $3 and ${UNCLAIMED}
    order by d.due_at, d.sequence limit 1
  ) d
  where c.projection = $1 and c.position >= p.highest
    and e.status in ('active', 'failing') and (e.not_before is null or e.not_before <= $2)`;

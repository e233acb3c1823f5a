/**
 * Gauges read when Prometheus scrapes: the roles and read models of this process, and the states of the
 * mailboxes.
 */
import type { Directory } from '../../commands/ports/directory.ts';
import type { Metrics } from './metrics.ts';

export interface Watched {
  readonly directory: Pick<Directory, 'state' | 'untilCurrent'>;
  readonly mail: { readonly connections: number };
  readonly projector: {
    status(): { readonly leader: boolean; readonly models: readonly WatchedModel[] };
  };
}

interface WatchedModel {
  readonly name: string;
  readonly lagEvents: number;
  readonly lagSeconds: number;
  readonly parked: number;
}

const asNumber = (value: boolean): number => (value ? 1 : 0);

/** Call once per process: a name can be watched only once. */
export function watchGateway(
  metrics: Pick<Metrics, 'watch' | 'watchEach'>,
  { directory, projector, mail }: Watched,
): void {
  metrics.watch('gateway_projector_leader', '1 while this process keeps the read models.', () =>
    asNumber(projector.status().leader),
  );
  const models = (read: (model: WatchedModel) => number) => () =>
    new Map(projector.status().models.map((model) => [model.name, read(model)]));
  metrics.watchEach(
    {
      name: 'gateway_projector_lag_events',
      help: 'Events stored and not applied to the read model; at most 100 are counted.',
      label: 'projection',
    },
    models(({ lagEvents }) => lagEvents),
  );
  metrics.watchEach(
    {
      name: 'gateway_projector_lag_seconds',
      help: 'Age of the oldest event not applied; while stores are unavailable, at least the time since then.',
      label: 'projection',
    },
    models(({ lagSeconds }) => lagSeconds),
  );
  metrics.watchEach(
    {
      name: 'gateway_events_parked',
      help: 'Events the read model is without now, because it could not apply them.',
      label: 'projection',
    },
    models(({ parked }) => parked),
  );
  metrics.watch('gateway_directory_current', '0 while this process may lack a change of rights.', async () =>
    asNumber(await directory.untilCurrent()),
  );
  metrics.watch(
    'gateway_imap_connections',
    'Connections of this process to mail servers.',
    () => mail.connections,
  );
  const mailboxes = { name: 'gateway_mailboxes', help: 'Mailboxes by state.', label: 'state' };
  metrics.watchEach(mailboxes, () => {
    const counts = new Map<string, number>();
    for (const { state } of directory.state.mailboxes.values())
      counts.set(state, (counts.get(state) ?? 0) + 1);
    return counts;
  });
}

/** Call once in a process that delivers webhooks. */
export function watchDeliveries(
  metrics: Pick<Metrics, 'watch'>,
  worker: { readonly inFlight: number; lagSeconds(): Promise<number> },
): void {
  metrics.watch(
    'gateway_webhooks_in_flight',
    'Attempts to deliver a webhook that this process makes now.',
    () => worker.inFlight,
  );
  // A gauge that cannot be read is left out: a scrape must not fail with the database.
  metrics.watch(
    'gateway_webhook_lag_seconds',
    'For how long a webhook that is due has waited for an attempt.',
    () => worker.lagSeconds().catch(() => null),
  );
}

/** Call once per process. */
export function watchSealing(
  metrics: Pick<Metrics, 'watch'>,
  seals: { state(): Promise<'ok' | 'behind' | 'broken'> },
): void {
  metrics.watch(
    'gateway_audit_sealing',
    '1 while audit trails are sealed in time, 0 while none was for ten times the interval, -1 while one is not what was signed.',
    async () => ({ ok: 1, behind: 0, broken: -1 })[await seals.state()],
  );
}

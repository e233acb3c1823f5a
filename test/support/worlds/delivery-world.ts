/** Workers that deliver webhooks from a real database and a log in memory to a sink on loopback. */
import type { DirectoryState, GrantEntry, MailboxEntry } from '../../../commands/ports/directory.ts';
import type { Ports, Sql } from '../../../commands/ports/ports.ts';
import type { WebhookSecrets, WebhookSender } from '../../../commands/ports/webhook-port.ts';
import { createEgressGuard, WEBHOOK_EGRESS } from '../../../infra/egress/egress-guard.ts';
import { systemClock } from '../../../infra/platform/system-clock.ts';
import { type RunningLeases, startLeases } from '../../../infra/postgres/leases.ts';
import type { Projector } from '../../../infra/projector/projector.ts';
import { type DeliveryStream, openDeliveryLog } from '../../../infra/webhooks/delivery-log.ts';
import { DeliveryWorker } from '../../../infra/webhooks/delivery-worker.ts';
import { PooledWebhookSender } from '../../../infra/webhooks/post-webhook.ts';
import { webhookRecords } from '../../../projections/webhook-queries.ts';
import { webhooks } from '../../../projections/webhooks.ts';
import { openRig, type Rig } from '../../integration/infra/projector/projector-rig.ts';
import { MemoryWebhookSecrets, WEBHOOK_TIMES } from '../fakes/memory-webhooks.ts';
import { silentLog } from '../fakes/silent-log.ts';
import { happened, openSample, randomIds, sampleAuthor, sealSample } from '../samples/event-author.ts';
import { memberEntry, membershipsWith, orgEntry, personEntry } from './people.ts';

export const ORG = 'org_a';
export const OTHER_ORG = 'org_b';

/** Where a worker is killed in its first attempt. */
export type Step = 'before claim' | 'after claim' | 'after POST' | 'after append' | 'before recorded';
export const STEPS: readonly Step[] = [
  'before claim',
  'after claim',
  'after POST',
  'after append',
  'before recorded',
];

export interface WorkerRun {
  readonly worker: DeliveryWorker;
  readonly killed: () => boolean;
  stop(): Promise<void>;
}

export interface DeliveryWorld extends AsyncDisposable {
  readonly rig: Rig;
  readonly projector: Projector;
  /** Creates an endpoint with a secret, of `ORG` by default. */
  endpoint(id: string, url: string, orgId?: string): Promise<void>;
  /** Queues events `from`…`to` for each of the endpoints, of `ORG` by default. */
  queue(endpointIds: readonly string[], from: number, to: number, orgId?: string): Promise<void>;
  /** Starts a worker; `dieAt` kills it there, as a process dies: nothing of it goes on. An attempt may take `deadlineMs`. */
  run(options?: {
    readonly dieAt?: Step;
    readonly ports?: Partial<Ports>;
    readonly deadlineMs?: number;
  }): WorkerRun;
  rows(): Promise<
    readonly { id: string; event_id: string; endpoint_id: string; status: string; attempt: number }[]
  >;
}

const grant = {
  id: 'grt_1',
  mailboxId: 'mbx_1',
  principalId: 'usr_1',
  principalKind: 'user',
  scopes: ['messages:read', 'drafts:read'],
  folderRoles: null,
  expiresAt: null,
  quotas: null,
  position: '2',
} as unknown as GrantEntry;

export const directoryState = (changes: Partial<DirectoryState> = {}): DirectoryState =>
  ({
    organisations: new Map([ORG, OTHER_ORG].map((org) => [org, orgEntry(org)])),
    people: new Map([['usr_1', personEntry('usr_1')]]),
    ...membershipsWith(...[ORG, OTHER_ORG].map((org) => memberEntry(org, 'usr_1', 'owner'))),
    mailboxes: new Map([
      [
        'mbx_1',
        { id: 'mbx_1', orgId: ORG, state: 'connected', number: 1, folders: [] } as unknown as MailboxEntry,
      ],
    ]),
    grants: new Map([[grant.id, grant]]),
    grantIds: new Map([['mbx_1', new Map([['usr_1', grant.id]])]]),
    ...changes,
  }) as unknown as DirectoryState;

const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

export async function openDeliveryWorld(): Promise<DeliveryWorld> {
  const rig = await openRig();
  const projector = await rig.start({ projections: [webhooks] });
  const secrets = new MemoryWebhookSecrets();
  const runs: WorkerRun[] = [];
  const leasesOf: RunningLeases[] = [];
  const run: DeliveryWorld['run'] = ({ dieAt, ports: changes = {}, deadlineMs = 2_000 } = {}) => {
    const leases = startLeases(rig.sql, silentLog);
    leasesOf.push(leases);
    let isDead = false;
    const die = <T>(): Promise<T> => {
      isDead = true;
      void leases.close();
      return never<T>();
    };
    const unlessDead = <T>(value: T): Promise<T> => (isDead ? never<T>() : Promise.resolve(value));
    let hasRecorded = false;
    const sql: Sql = {
      query: (...query) => (isDead ? never() : rig.sql.query(...query)),
      transaction: (work) => {
        if (isDead) return never();
        if (dieAt === 'before claim' || (dieAt === 'before recorded' && hasRecorded)) return die();
        return rig.sql.transaction(work);
      },
    };
    const real = new PooledWebhookSender({
      guard: createEgressGuard(['127.0.0.1/32:*'], undefined, WEBHOOK_EGRESS),
      clock: systemClock,
      deadlineMs,
      userAgent: 'mailbox-gateway/test',
    });
    const webhookSender: WebhookSender = {
      vet: (url) => real.vet(url),
      post: async (request) => {
        if (isDead) return await never();
        const response = await real.post(request);
        if (dieAt === 'after POST') return await die();
        return await unlessDead(response);
      },
    };
    const webhookSecrets: WebhookSecrets = {
      create: (id) => secrets.create(id),
      erase: (id) => secrets.erase(id),
      read: (id, ids) => (isDead ? never() : dieAt === 'after claim' ? die() : secrets.read(id, ids)),
    };
    const stream = openDeliveryLog({
      events: rig.events,
      ids: randomIds,
      clock: systemClock,
      runId: leases.runId,
    });
    const deliveryLog: DeliveryStream = {
      record: (entry) => stream.record(entry),
      keep: async (entry) => {
        if (isDead) {
          await never();
          return;
        }
        await stream.keep(entry);
        if (dieAt === 'after append') await die();
        hasRecorded = true;
      },
      get isAway() {
        return stream.isAway;
      },
      close: () => stream.close(),
    };
    const ports = {
      clock: systemClock,
      ids: randomIds,
      events: rig.events,
      sql,
      leases: { ...leases, acquire: (name: string) => (isDead ? never() : leases.acquire(name)) },
      personal: { seal: (_: string, text: string) => Promise.resolve(sealSample(text)), open: openSample },
      directory: {
        state: directoryState(),
        version: 1,
        isCurrent: true,
        untilCurrent: () => Promise.resolve(true),
        waitFor: () => Promise.resolve(),
      },
      webhookSender,
      webhookSecrets,
      deliveryLog,
      readModels: projector.readModels,
      webhookRecords: webhookRecords(rig.sql),
      log: silentLog,
      server: { webhookTimes: { ...WEBHOOK_TIMES, deadlineMs: 2_000 } },
      ...changes,
    } as unknown as Ports;
    const worker = new DeliveryWorker({ ports, deliveryLog, directUrl: rig.url, concurrency: 40 });
    const stopping = new AbortController();
    const running = worker.run(stopping.signal);
    const started: WorkerRun = {
      worker,
      killed: () => isDead,
      stop: async () => {
        stopping.abort();
        // A dead one does not end.
        if (!isDead) await running;
        await real.close();
        if (!isDead) await stream.close();
      },
    };
    runs.push(started);
    return started;
  };
  return {
    rig,
    projector,
    run,
    endpoint: async (id, url, orgId = ORG) => {
      const { id: secretId } = await secrets.create(id);
      await happened(
        rig.events,
        `webhookEndpoint-${id}`,
        [
          {
            type: 'WebhookEndpointCreated',
            data: {
              url: sealSample(url),
              description: null,
              event_types: ['message.received'],
              mailbox_ids: ['mbx_1'],
              payload: 'thin',
              rights_of: 'usr_1',
              created_by: 'usr_1',
              secret_id: secretId,
              secret_hint: sealSample('abcd'),
            },
          },
        ],
        sampleAuthor(orgId),
      );
    },
    queue: async (endpointIds, from, to, orgId = ORG) => {
      const at = new Date().toISOString();
      const numbers = Array.from({ length: to - from + 1 }, (_, index) => from + index);
      await happened(
        rig.events,
        'webhookQueue-all',
        [
          {
            type: 'WebhookDeliveriesQueued',
            data: {
              after: '0',
              notifications: numbers.map((n) => ({
                event_id: `evt_${String(n)}`,
                event_type: 'message.received',
                mailbox_id: 'mbx_1',
                folders: [1],
                occurred_at: at,
                data: { mailbox_id: 'mbx_1', message_id: `msg_${String(n)}` },
              })),
              deliveries: numbers.flatMap((n, notification) =>
                endpointIds.map((endpoint_id) => ({ notification, endpoint_id, sequence: n })),
              ),
            },
          },
        ],
        sampleAuthor(orgId),
      );
    },
    rows: async () => {
      await rig.settle(projector);
      return await rig.sql.query(
        'select id, event_id, endpoint_id, status, attempt from read.webhook_delivery order by sequence, attempt',
      );
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(runs.map((each) => each.stop()));
      await Promise.all(leasesOf.map((leases) => leases.close().catch(() => undefined)));
      await rig[Symbol.asyncDispose]();
    },
  };
}

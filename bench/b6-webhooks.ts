/**
 * B6: event → queue → signed POST → outcome in the log, on a gateway and a sink of their own processes: how
 * many a second, and how much an endpoint that hangs delays 49 others.
 */
import { createSecretKey, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { PolicyDenied } from '../commands/kernel/access-events.ts';
import { appendFacts, systemAuthor } from '../commands/kernel/decide-and-append.ts';
import { eventCatalogue } from '../commands/event-catalogue.ts';
import type { ExpectedRevision } from '../commands/ports/event-store.ts';
import type { WebhookEventType } from '../commands/values/webhook-event.ts';
import type { Fact } from '../commands/values/event.ts';
import { openForAdmin, openForRebuild } from '../infra/admin/open-for-command.ts';
import { createJsonLog } from '../infra/observability/json-log.ts';
import { type Config, loadConfig } from '../infra/process/config.ts';
import type { CorePorts } from '../infra/process/composition.ts';
import { createIds } from '../infra/security/random-ids.ts';
import type { Log } from '../commands/ports/ports.ts';
import { measureNewMail } from './b6/new-mail.ts';
import { type CpuTimes, cpuTimes } from './cpu-time.ts';
import { type Figure, percentile, ratio } from './figures.ts';
import { type DemoFacts, endChild, startScript } from './processes.ts';

const ENDPOINTS = 50;
const EVENTS = 400;
const PER_APPEND = 100;
/**
 * Of the comparison: events a second, well below what the gateway can do, and the seconds of a round. A hanging
 * request does not reach its deadline.
 */
const RATE = 8;
const SECONDS = 5;
/** A round with and one without. Several, in turns: one pause of the process makes all webhooks of an event late. */
const PAIRS = 4;
/** POSTs of a bare client, and how many of them at once. */
const BARE = { posts: 10_000, atOnce: 50 };
const END_WITHIN_MS = 120_000;

interface Seen {
  readonly latencies: readonly number[];
  readonly arrivals: readonly number[];
  readonly lastAt: number;
}

interface Stage {
  readonly ports: Pick<CorePorts, 'events' | 'sql' | 'ids' | 'clock'>;
  readonly sink: string;
  readonly orgId: string;
  /** The CPU time of the processes that take part, since they started. */
  readonly cpu: () => CpuTimes;
}

interface Site {
  readonly ports: CorePorts;
  readonly sink: string;
  readonly orgId: string;
  readonly personId: string;
}

export async function measureWebhooks(
  facts: DemoFacts,
  { pid, dataDir }: { readonly pid: number; readonly dataDir: string },
): Promise<readonly Figure[]> {
  const { child, line } = await startScript('bench/b6/sink.ts', []);
  try {
    const config = loadConfig({ DATA_DIR: dataDir });
    const log = createJsonLog('error');
    const sink = `http://127.0.0.1:${line}`;
    const { ofNewMail, ...owner } = await setUp(config, log, sink);
    // Without a directory, which would follow the log: another reader is no part of what is measured.
    await using stores = await openForRebuild(config, log);
    const ports = { ...stores, ids: createIds(createSecretKey(randomBytes(32)), stores.clock) };
    const cpu = () => cpuTimes(pid, { 'the endpoints': child.pid ?? 0, 'the benchmark': process.pid });
    const stage = { ports, sink, ...owner, cpu };
    const first = await newMail(facts, stage, ofNewMail);
    return [...first, ...(await throughput(stage)), ...(await besideOneThatHangs(stage))];
  } finally {
    await endChild(child);
  }
}

/** The owner of the demo, an endpoint for new mail, and those for everything else. */
async function setUp(config: Config, log: Log, sink: string) {
  await using core = await openForAdmin(config, log);
  const { ports } = core;
  const [owner = ''] = [...ports.directory.state.members].flatMap(([key, { role }]) =>
    role === 'owner' ? [key] : [],
  );
  const [orgId = '', personId = ''] = owner.split('/');
  const site = { ports, sink, orgId, personId };
  const ofNewMail = await addEndpoint(site, { eventType: 'message.received' });
  await addEndpoint(site, { path: '/at-times' });
  for (let n = 1; n < ENDPOINTS; n += 1) await addEndpoint(site);
  return { orgId, ofNewMail };
}

/** Its endpoint hears of nothing else afterwards, so that the other figures count theirs alone. */
async function newMail(facts: DemoFacts, stage: Stage, endpointId: string): Promise<readonly Figure[]> {
  const figures = await measureNewMail(facts, async () => (await statsOf(stage)).arrivals);
  const last = await stage.ports.events.readLast(`webhookEndpoint-${endpointId}`);
  await append(
    stage.ports,
    stage.orgId,
    { stream: `webhookEndpoint-${endpointId}`, expected: last?.revision ?? 'no-stream' },
    [{ type: 'WebhookEndpointRemoved', data: {} }],
  );
  return figures;
}

async function throughput(stage: Stage): Promise<readonly Figure[]> {
  // Connections and code are warm before anything is measured.
  await deny(stage, PER_APPEND);
  await ended(stage, PER_APPEND * ENDPOINTS);
  await statsOf(stage);
  const before = stage.cpu();
  const from = Date.now();
  for (let n = 0; n < EVENTS; n += PER_APPEND) await deny(stage, PER_APPEND);
  const total = (PER_APPEND + EVENTS) * ENDPOINTS;
  await ended(stage, total);
  const seconds = (Date.now() - from) / 1_000;
  const used = [...stage.cpu()].map(([role, time]) => [role, time - (before.get(role) ?? 0)] as const);
  const { lastAt } = await statsOf(stage);
  const count = EVENTS * ENDPOINTS;
  const perSecond = count / seconds;
  const bare = await barePosts(stage);
  const name = 'B6 webhooks: event → POST → outcome';
  return [
    { name, value: perSecond, unit: '/s', target: { atLeast: 2_000 } },
    { name: 'B6 webhooks: POSTs of a bare client', value: bare, unit: '/s' },
    ratio(`${name} ÷ bare`, perSecond / bare, 'more'),
    { name: 'B6 webhooks: event → POST', value: count / ((lastAt - from) / 1_000), unit: '/s' },
    ...used.map(([role, time]) => ({
      name: `B6 webhooks: CPU per delivery, ${role}`,
      value: (time * 1_000) / count,
      unit: 'ms',
    })),
  ];
}

/** The anchor: POSTs a second to the same endpoints, without signature, queue or outcome. */
async function barePosts({ sink }: Stage): Promise<number> {
  let left = BARE.posts;
  const begin = performance.now();
  const posting = async (): Promise<void> => {
    for (; left > 0; left -= 1) {
      const answer = await fetch(`${sink}/at-times`, { method: 'POST', body: '{"type":"policy.denied"}' });
      await answer.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: BARE.atOnce }, posting));
  return (BARE.posts / (performance.now() - begin)) * 1_000;
}

async function besideOneThatHangs(stage: Stage): Promise<readonly Figure[]> {
  const healthy: number[] = [];
  const beside: number[] = [];
  // Not counted: what was measured before has left garbage in the process and dead rows in Postgres.
  await round(stage, false);
  for (let pair = 0; pair < PAIRS; pair += 1)
    for (const hangs of pair % 2 === 0 ? [false, true] : [true, false])
      (hangs ? beside : healthy).push(...(await round(stage, hangs)));
  const title = (what: string): string => `B6 webhooks: event → POST, ${what}`;
  return [
    { name: title('p50'), value: percentile(healthy, 0.5), unit: 'ms' },
    { name: title('p99'), value: percentile(healthy, 0.99), unit: 'ms' },
    { name: title('p50 while one of 50 hangs'), value: percentile(beside, 0.5), unit: 'ms' },
    { name: title('p99 while one of 50 hangs'), value: percentile(beside, 0.99), unit: 'ms' },
    ratio(
      title('p99 while one hangs ÷ without'),
      percentile(beside, 0.99) / percentile(healthy, 0.99),
      'less',
      { target: { atMost: 1.1 } },
    ),
  ];
}

/**
 * The latencies of all endpoints but the one that hangs at times, at a steady rate. Afterwards nothing is under
 * way.
 */
async function round(stage: Stage, hangs: boolean): Promise<readonly number[]> {
  if (hangs) await fetch(`${stage.sink}/hang`);
  await statsOf(stage);
  for (let n = 0; n < RATE * SECONDS; n += 1) {
    await deny(stage, 1);
    await sleep(1_000 / RATE);
  }
  const wanted = RATE * SECONDS * (ENDPOINTS - 1);
  const latencies: number[] = [];
  const until = Date.now() + END_WITHIN_MS;
  while (latencies.length < wanted && Date.now() < until) {
    latencies.push(...(await statsOf(stage)).latencies);
    await sleep(50);
  }
  if (latencies.length !== wanted)
    throw new Error(`${String(latencies.length)} of ${String(wanted)} webhooks came`);
  await fetch(`${stage.sink}/release`);
  await ended(stage, 0);
  return latencies;
}

async function statsOf({ sink }: Stage): Promise<Seen> {
  return (await (await fetch(`${sink}/stats`)).json()) as Seen;
}

async function addEndpoint(
  { ports, sink, orgId, personId }: Site,
  { eventType = 'policy.denied', path = '/ok' }: { eventType?: WebhookEventType; path?: string } = {},
): Promise<string> {
  const id = ports.ids.newId('whk');
  const { id: secretId } = await ports.webhookSecrets.create(id);
  await append(ports, orgId, { stream: `webhookEndpoint-${id}`, expected: 'no-stream' }, [
    {
      type: 'WebhookEndpointCreated',
      data: {
        url: await ports.personal.seal(personId, `${sink}${path}`),
        description: null,
        event_types: [eventType],
        mailbox_ids: ['*'],
        payload: 'thin',
        rights_of: personId,
        created_by: personId,
        secret_id: secretId,
        secret_hint: await ports.personal.seal(personId, 'abcd'),
      },
    },
  ]);
  return id;
}

let denials: { readonly stream: string; revision: ExpectedRevision } | null = null;

async function deny({ ports, orgId }: Stage, count: number): Promise<void> {
  denials ??= { stream: `access-${ports.ids.newUuid()}-2026010100`, revision: 'no-stream' };
  const policy = { decision: 'deny', rule_id: 'bench', version: 1 };
  const data = { capability: 'archive', mailbox_id: null, code: 'policy_denied', policy };
  const facts = Array.from({ length: count }, () => ({ type: PolicyDenied.type, data }));
  denials.revision = await append(
    ports,
    orgId,
    { stream: denials.stream, expected: denials.revision },
    facts,
  );
}

async function append(
  ports: Stage['ports'],
  orgId: string,
  to: { readonly stream: string; readonly expected: ExpectedRevision },
  facts: readonly (Fact | { readonly type: string; readonly data: unknown })[],
): Promise<bigint> {
  const author = systemAuthor(ports, orgId);
  return (await appendFacts(ports, author, { ...to, catalogue: eventCatalogue, facts })).revision;
}

/** Waits until the outcomes of so many attempts are in the log and in the read model. */
async function ended({ ports }: Stage, count: number): Promise<void> {
  const until = Date.now() + END_WITHIN_MS;
  for (;;) {
    // Cheap, so that asking does not slow what is measured.
    const [row] = await ports.sql.query<{ queued: string; open: boolean }>(
      `select (select coalesce(sum(last_sequence), 0) from read.webhook_endpoint) as queued,
         exists (select from read.webhook_due) as open`,
    );
    if (Number(row?.queued) >= count && row?.open === false) return;
    if (Date.now() > until) throw new Error(`not all of ${String(count)} webhooks were recorded`);
    await sleep(50);
  }
}

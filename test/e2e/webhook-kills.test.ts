import { expect } from 'chai';
import { setTimeout as delay } from 'node:timers/promises';
import { PolicyDenied } from '../../commands/kernel/access-events.ts';
import { appendFacts, systemAuthor } from '../../commands/kernel/decide-and-append.ts';
import { eventCatalogue } from '../../commands/event-catalogue.ts';
import { openForAdmin } from '../../infra/admin/open-for-command.ts';
import type { Core } from '../../infra/process/composition.ts';
import { loadConfig } from '../../infra/process/config.ts';
import { silentLog } from '../support/fakes/silent-log.ts';
import { httpSink, type Sink } from '../support/servers/webhook-sinks.ts';
import { eventually } from '../support/suite/eventually.ts';
import { verifies } from '../support/suite/verifies.ts';
import { GatewayProcess } from '../support/worlds/gateway-process.ts';
import { ReplicaSet } from '../support/worlds/replica-set.ts';

const EVENTS = 120;
const SETTINGS = { EGRESS_ALLOW_WEBHOOKS: '127.0.0.1/32:*', LEASE_SECONDS: '2' };

describe('kill -9 while webhooks are delivered', function () {
  this.timeout(120_000);
  let set: ReplicaSet;
  let core: Core;
  let sink: Sink;
  let received: string[];
  let orgId: string;
  const processes: GatewayProcess[] = [];

  before(async () => {
    received = [];
    sink = await httpSink(({ headers }, response) => {
      received.push(String(headers['webhook-id']));
      setTimeout(() => response.end(), 20);
    });
    set = await ReplicaSet.start({}, () =>
      ['projector', 'webhooks', 'webhooks'].map((ROLES) => ({ ROLES, ...SETTINGS })),
    );
    processes.push(...set.replicas);
    core = await openForAdmin(loadConfig({ DATA_DIR: set.dataDir }), silentLog);
    await addEndpoint();
  });
  after(async () => {
    await Promise.all(processes.map((each) => each.kill()));
    await core[Symbol.asyncDispose]();
    await set.remove();
    await sink[Symbol.asyncDispose]();
  });

  const append = (stream: string, facts: readonly { readonly type: string; readonly data: unknown }[]) =>
    appendFacts(core.ports, systemAuthor(core.ports, orgId), {
      stream,
      expected: 'no-stream',
      catalogue: eventCatalogue,
      facts,
    });

  const addEndpoint = async (): Promise<void> => {
    const { ids, personal, webhookSecrets, directory } = core.ports;
    const [owner = ''] = [...directory.state.members].flatMap(([key, { role }]) =>
      role === 'owner' ? [key] : [],
    );
    const [org = '', personId = ''] = owner.split('/');
    orgId = org;
    const id = ids.newId('whk');
    const secret = await webhookSecrets.create(id);
    await append(`webhookEndpoint-${id}`, [
      {
        type: 'WebhookEndpointCreated',
        data: {
          url: await personal.seal(personId, sink.url),
          description: null,
          event_types: ['policy.denied'],
          mailbox_ids: [],
          payload: 'thin',
          rights_of: personId,
          created_by: personId,
          secret_id: secret.id,
          secret_hint: await personal.seal(personId, 'abcd'),
        },
      },
    ]);
  };

  const deny = (): Promise<unknown> => {
    const policy = { decision: 'deny', rule_id: 'kills', version: 1 };
    const data = { capability: 'archive', mailbox_id: null, code: 'policy_denied', policy };
    return append(
      `access-${core.ports.ids.newUuid()}-2026010100`,
      Array.from({ length: EVENTS }, () => ({ type: PolicyDenied.type, data })),
    );
  };
  const restart = async (index: number, ROLES: string): Promise<void> => {
    processes[index] = GatewayProcess.spawn({ env: set.settings({ ROLES, ...SETTINGS }) });
    await processes[index].ready();
  };
  const rows = () =>
    core.ports.sql.query<{ event_id: string; status: string }>(
      'select event_id, status from read.webhook_delivery order by sequence, attempt',
    );

  const PARTS: readonly (readonly [part: string, kill: () => Promise<void>])[] = [
    [
      'a worker',
      async () => {
        await processes[1]?.kill();
        await restart(1, 'webhooks');
      },
    ],
    [
      'the leader of the queue',
      async () => {
        await processes[0]?.kill();
        await restart(0, 'projector');
      },
    ],
    [
      'the stores',
      async () => {
        await set.stores.kill();
        await set.restartStores();
      },
    ],
  ];
  for (const [index, [part, kill]] of PARTS.entries()) {
    it(`delivers everything, each under one id, when ${part} is killed ${verifies('contract:11:at-least-once')}`, async () => {
      const before = received.length;
      await deny();
      await eventually(() => received.length >= before + 10, 20_000);
      await kill();
      const wanted = EVENTS * (index + 1);
      await eventually(() => new Set(received).size >= wanted, 40_000);
      await eventually(
        async () =>
          (await rows().catch(() => [])).filter(({ status }) => status === 'succeeded').length >= wanted,
        30_000,
      );
      await delay(200);
      const all = await rows();
      expect(new Set(received).size).to.equal(wanted);
      expect(new Set(all.map(({ event_id }) => event_id))).to.deep.equal(new Set(received));
      expect(all.filter(({ status }) => !['succeeded', 'interrupted'].includes(status))).to.deep.equal([]);
    });
  }
});

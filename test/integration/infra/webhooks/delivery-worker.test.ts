import { expect } from 'chai';
import { tableName } from '../../../../projections/projection.ts';
import { webhooks } from '../../../../projections/webhooks.ts';
import {
  directoryState,
  type DeliveryWorld,
  openDeliveryWorld,
  STEPS,
} from '../../../support/worlds/delivery-world.ts';
import { httpSink, type Received, type Sink } from '../../../support/servers/webhook-sinks.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import type { Sql } from '../../../../commands/ports/ports.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import { happened } from '../../../support/samples/event-author.ts';
import { systemClock } from '../../../../infra/platform/system-clock.ts';
import { memberEntry, membershipsWith, personEntry } from '../../../support/worlds/people.ts';

const FOREVER_MS = 2 ** 31 - 1;

const CURRENT = { isCurrent: true, untilCurrent: () => Promise.resolve(true) };

describe('the worker that delivers webhooks', function () {
  this.timeout(90_000);
  let world: DeliveryWorld;
  let sink: Sink;
  let received: Received[];
  let answer: (request: Received) => number;
  beforeEach(async () => {
    received = [];
    answer = () => 200;
    world = await openDeliveryWorld();
    sink = await httpSink((request, response) => {
      received.push(request);
      response.writeHead(answer(request)).end('ok');
    });
  });
  afterEach(async () => {
    await world[Symbol.asyncDispose]();
    await sink[Symbol.asyncDispose]();
  });

  const ids = (): string[] => received.map(({ headers }) => String(headers['webhook-id']));
  const numbers = (from: number, to: number): string[] =>
    Array.from({ length: to - from + 1 }, (_, index) => `evt_${String(from + index)}`);
  const allEnded = (): Promise<void> =>
    eventually(async () => (await world.rows()).every(({ status }) => status !== 'scheduled'));
  const statuses = async (): Promise<string[]> =>
    (await world.rows()).map(({ event_id, attempt, status }) => `${event_id}.${String(attempt)} ${status}`);

  it('sends what is due, once, under its number, and records how it ended', async () => {
    await world.endpoint('whk_1', sink.url);
    await world.queue(['whk_1'], 1, 60);
    world.run();
    await allEnded();
    expect(ids().toSorted()).to.deep.equal(numbers(1, 60).toSorted());
    const first = received.find(({ headers }) => headers['webhook-id'] === 'evt_7');
    expect(JSON.parse(first?.body ?? '')).to.deep.include({
      type: 'message.received',
      sequence: 7,
      data: { mailbox_id: 'mbx_1', message_id: 'msg_7' },
    });
    expect(new Set((await world.rows()).map(({ status }) => status))).to.deep.equal(new Set(['succeeded']));
    await eventually(
      async () => (await world.rig.sql.query('select 1 from work.delivery_claim')).length === 0,
    );
  });

  it('begins within a moment of what is queued', async () => {
    // Unasked it looks only every half minute.
    const sleep: typeof systemClock.sleep = (ms, signal) => systemClock.sleep(60 * ms, signal);
    await world.endpoint('whk_1', sink.url);
    world.run({ ports: { clock: { ...systemClock, sleep } } });
    await eventually(
      async () => (await world.rig.sql.query('select 1 from work.delivery_progress')).length > 0,
    );
    await systemClock.sleep(100);
    for (let n = 1; n <= 5; n += 1) {
      await world.queue(['whk_1'], n, n);
      await eventually(() => received.length === n);
    }
  });

  it('claims what is told at once, also when a pass has just ended', async () => {
    // No pause ends by itself: the clock stands still.
    const clock = {
      ...systemClock,
      elapsedMs: () => 0,
      sleep: (_: number, signal?: AbortSignal) => systemClock.sleep(FOREVER_MS, signal),
    };
    await world.endpoint('whk_1', sink.url);
    world.run({ ports: { clock } });
    for (let n = 1; n <= 3; n += 1) {
      await world.queue(['whk_1'], n, n);
      await eventually(() => received.length === n);
    }
    await allEnded();
  });

  it('makes the next attempt of what failed, under the same webhook-id', async () => {
    answer = () => (received.length === 1 ? 500 : 200);
    await world.endpoint('whk_1', sink.url);
    await world.queue(['whk_1'], 1, 1);
    world.run();
    await eventually(async () => (await statuses()).length === 2);
    await eventually(() => received.length === 2);
    await allEnded();
    expect(await statuses()).to.deep.equal(['evt_1.1 failed', 'evt_1.2 succeeded']);
    expect(ids()).to.deep.equal(['evt_1', 'evt_1']);
  });

  it(`disables an endpoint that is gone, before anything else goes to it ${verifies('contract:11:gone')}`, async () => {
    answer = () => 410;
    await world.endpoint('whk_1', sink.url);
    await world.queue(['whk_1'], 1, 1);
    world.run();
    await allEnded();
    await world.queue(['whk_1'], 2, 3);
    await world.rows();
    await systemClock.sleep(700);
    expect(ids()).to.deep.equal(['evt_1']);
    expect(await statuses()).to.deep.equal(['evt_1.1 failed', 'evt_2.1 cancelled', 'evt_3.1 cancelled']);
    const types = world.rig.events.all.map(({ type }) => type);
    expect(types.indexOf('WebhookEndpointDisabled')).to.be.lessThan(types.indexOf('WebhookDeliveryEnded'));
  });

  it('withholds what the person may not see, and disables an endpoint without its person', async () => {
    const directory = (state: ReturnType<typeof directoryState>) =>
      ({ ...CURRENT, state, version: 1, waitFor: () => Promise.resolve() }) as never;
    await world.endpoint('whk_1', sink.url);
    await world.queue(['whk_1'], 1, 1);
    const blind = world.run({ ports: { directory: directory(directoryState({ grantIds: new Map() })) } });
    await allEnded();
    await blind.stop();
    expect(JSON.parse(received[0]?.body ?? '')).to.deep.equal({
      type: 'message.received',
      sequence: 1,
      withheld: true,
    });
    await world.queue(['whk_1'], 2, 2);
    world.run({ ports: { directory: directory(directoryState(membershipsWith())) } });
    await allEnded();
    expect(received).to.have.length(1);
    expect(world.rig.events.all.find(({ type }) => type === 'WebhookEndpointDisabled')?.data).to.deep.equal({
      reason: 'rights_gone',
    });
  });

  it(`leaves an endpoint that hangs to itself ${verifies('contract:11:fair-share')}`, async () => {
    const silent = await httpSink(() => undefined);
    await world.endpoint('whk_1', silent.url);
    await world.endpoint('whk_2', sink.url);
    await world.queue(['whk_1', 'whk_2'], 1, 100);
    world.run({ deadlineMs: 25_000 });
    // Before an attempt at the silent one has ended.
    await eventually(() => received.length === 100, 20_000);
    await silent[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
    world = await openDeliveryWorld();
  });

  it(`makes each attempt once with two workers ${verifies('contract:11:at-least-once')}`, async () => {
    const endpoints = ['whk_1', 'whk_2', 'whk_3'];
    for (const id of endpoints) await world.endpoint(id, sink.url);
    world.run();
    world.run();
    for (let n = 0; n < 4; n += 1) await world.queue(endpoints, n * 25 + 1, n * 25 + 25);
    await allEnded();
    expect(received).to.have.length(300);
    for (const count of Object.values(Object.groupBy(ids(), (id) => id))) expect(count).to.have.length(3);
    expect(
      (await world.rows()).every(({ status, attempt }) => status === 'succeeded' && attempt === 1),
    ).to.equal(true);
  });

  for (const dieAt of STEPS) {
    it(`loses nothing when it is killed ${dieAt}: another ends what it began ${verifies('contract:11:at-least-once')}`, async () => {
      await world.endpoint('whk_1', sink.url);
      await world.queue(['whk_1'], 1, 5);
      const first = world.run({ dieAt });
      await eventually(() => first.killed());
      world.run();
      await allEnded();
      expect(new Set(ids())).to.deep.equal(new Set(numbers(1, 5)));
      const rows = await world.rows();
      for (const id of numbers(1, 5)) {
        const attempts = rows.filter(({ event_id }) => event_id === id).map(({ status }) => status);
        expect(attempts.at(-1), id).to.equal('succeeded');
        expect(
          attempts.slice(0, -1).every((status) => status === 'interrupted'),
          id,
        ).to.equal(true);
        // Sent again only where nobody knows whether it was sent: others of that worker were under way when it died.
        const sent = ids().filter((each) => each === id).length;
        expect(sent, id).to.be.at.most(dieAt === 'before claim' || dieAt === 'after claim' ? 1 : 2);
        expect(sent === 2 ? attempts.length : 2, id).to.equal(2);
      }
      const ended = world.rig.events.all.filter(({ type }) => type === 'WebhookDeliveryEnded');
      expect(new Set(ended.map(({ id }) => id)).size).to.equal(ended.length);
    });
  }

  it(`repeats nothing when work is lost or the read model starts again while it runs ${verifies('contract:11:rebuild')}`, async () => {
    await world.endpoint('whk_1', sink.url);
    await world.queue(['whk_1'], 1, 100);
    world.run();
    await eventually(() => received.length >= 20);
    await world.rig.sql.query('truncate work.delivery_progress, work.delivery_claim');
    await eventually(() => received.length >= 50);
    await world.projector.close();
    await world.rig.sql.transaction(async (sql) => {
      await sql.query('select highest from work.delivery_progress for update');
      await sql.query(`truncate ${webhooks.tables.map((table) => tableName(table, webhooks)).join(', ')}`);
      await sql.query("update read.checkpoint set position = -1 where projection like 'webhooks%'");
    });
    const again = await world.rig.start({ projections: [webhooks] });
    await world.queue(['whk_1'], 101, 120);
    await world.rig.settle(again);
    await eventually(() => new Set(ids()).size === 120);
    await systemClock.sleep(300);
    expect(ids().toSorted()).to.deep.equal(numbers(1, 120).toSorted());
  });

  it(`disables an endpoint that only failed for five days ${verifies('contract:11:failing-disabled')}`, async () => {
    answer = () => 500;
    await world.endpoint('whk_1', sink.url);
    await world.queue(['whk_1'], 1, 2);
    const first = world.run();
    await eventually(async () => (await statuses()).length === 4);
    expect(world.rig.events.all.some(({ type }) => type === 'WebhookEndpointDisabled')).to.equal(false);
    await first.stop();
    // Read models keep when the failures began; this one is told five days ago.
    await world.rig.sql.query(
      `update read.webhook_endpoint_v${String(webhooks.version)} set first_failure_at = now() - interval '121 hours'`,
    );
    await world.rig.sql.query(`update read.webhook_due_v${String(webhooks.version)} set due_at = now()`);
    world.run();
    await allEnded();
    expect(world.rig.events.all.find(({ type }) => type === 'WebhookEndpointDisabled')?.data).to.deep.equal({
      reason: 'failing',
    });
  });

  it('delays what it has no secret for, and never sends it unsigned', async () => {
    await world.endpoint('whk_1', sink.url);
    await world.queue(['whk_1'], 1, 1);
    const none = { read: () => Promise.resolve([]) } as never;
    const unsigned = world.run({ ports: { webhookSecrets: none } });
    await systemClock.sleep(700);
    expect(received).to.have.length(0);
    expect(await statuses()).to.deep.equal(['evt_1.1 scheduled']);
    await unsigned.stop();
    world.run();
    await allEnded();
    expect(received).to.have.length(1);
  });

  it('ends what waited for longer than payloads are kept', async () => {
    await world.endpoint('whk_1', sink.url);
    await world.queue(['whk_1'], 1, 1);
    await world.rows();
    await world.rig.sql.query(
      `update read.webhook_due_v${String(webhooks.version)} set queued_at = now() - interval '31 days'`,
    );
    world.run();
    await allEnded();
    expect(received).to.have.length(0);
    const rows = await world.rig.sql.query('select status, error_code from read.webhook_delivery');
    expect(rows).to.deep.equal([{ status: 'cancelled', error_code: 'expired' }]);
  });

  it('waits for a person who paused the endpoint', async () => {
    await world.endpoint('whk_1', sink.url);
    await happened(world.rig.events, 'webhookEndpoint-whk_1', [{ type: 'WebhookEndpointPaused', data: {} }]);
    await world.queue(['whk_1'], 1, 3);
    world.run();
    await world.rows();
    await systemClock.sleep(700);
    expect(received).to.have.length(0);
    await happened(world.rig.events, 'webhookEndpoint-whk_1', [{ type: 'WebhookEndpointResumed', data: {} }]);
    await allEnded();
    expect(received).to.have.length(3);
  });

  it('makes the attempts of a claim whose commit was not answered', async () => {
    await world.endpoint('whk_1', sink.url);
    await world.queue(['whk_1'], 1, 3);
    await world.rows();
    let isLost = false;
    const { sql } = world.rig;
    const transaction: Sql['transaction'] = async (work) => {
      const result = await sql.transaction(work);
      const claimed = await sql.query('select 1 from work.delivery_claim');
      if (isLost || claimed.length === 0) return result;
      isLost = true;
      throw new GatewayError('store_unavailable', 'the connection was lost');
    };
    world.run({ ports: { sql: { query: (...query) => sql.query(...query), transaction } } });
    await allEnded();
    expect(isLost).to.equal(true);
    expect(ids().toSorted()).to.deep.equal(numbers(1, 3));
    expect(await statuses()).to.deep.equal(numbers(1, 3).map((id) => `${id}.1 succeeded`));
  });

  it('delivers for a person who took over the endpoint while an attempt for another was prepared', async () => {
    await world.endpoint('whk_1', sink.url);
    await world.queue(['whk_1'], 1, 1);
    // The worker reads the endpoint once more before it disables it.
    const { events } = world.rig;
    const readStream = events.readStream.bind(events);
    events.readStream = async (...asked) => {
      events.readStream = readStream;
      await happened(events, 'webhookEndpoint-whk_1', [
        { type: 'WebhookEndpointChanged', data: { rights_of: 'usr_2' } },
      ]);
      return await readStream(...asked);
    };
    const state = directoryState({
      ...membershipsWith(memberEntry('org_a', 'usr_2', 'owner')),
      people: new Map([['usr_2', personEntry('usr_2')]]),
    });
    world.run({
      ports: {
        directory: { ...CURRENT, state, version: 1, waitFor: () => Promise.resolve() } as never,
      },
    });
    await allEnded();
    expect(ids()).to.deep.equal(['evt_1']);
    expect(await statuses()).to.deep.equal(['evt_1.1 succeeded']);
  });

  it('keeps the next attempt of an endpoint that was paused before it could be disabled', async () => {
    const pausing = await httpSink((_, response) => {
      void happened(world.rig.events, 'webhookEndpoint-whk_1', [
        { type: 'WebhookEndpointPaused', data: {} },
      ]).then(() => response.writeHead(500).end());
    });
    await world.endpoint('whk_1', pausing.url);
    await world.queue(['whk_1'], 1, 1);
    await world.rows();
    await world.rig.sql.query(
      `update read.webhook_endpoint_v${String(webhooks.version)} set first_failure_at = now() - interval '121 hours'`,
    );
    const running = world.run();
    await eventually(async () => (await statuses()).includes('evt_1.1 failed'));
    expect(await statuses()).to.deep.equal(['evt_1.1 failed', 'evt_1.2 scheduled']);
    await running.stop();
    await pausing[Symbol.asyncDispose]();
  });

  it('gives each of the attempts to one endpoint its whole time', async () => {
    const slow = await httpSink((_, response) => {
      setTimeout(() => response.end(), 1_200);
    });
    await world.endpoint('whk_1', slow.url);
    await world.queue(['whk_1'], 1, 20);
    await world.rows();
    const running = world.run();
    await allEnded();
    expect(new Set((await world.rows()).map(({ status }) => status))).to.deep.equal(new Set(['succeeded']));
    await running.stop();
    await slow[Symbol.asyncDispose]();
  });

  it('makes no attempt again that was under way when work was lost, while the read model is behind', async () => {
    const held = Promise.withResolvers<undefined>();
    const slow = await httpSink((request, response) => {
      received.push(request);
      void held.promise.then(() => response.end());
    });
    await world.endpoint('whk_1', slow.url);
    await world.queue(['whk_1'], 1, 3);
    world.run();
    await eventually(() => received.length === 3);
    await world.rows();
    await world.projector.close();
    await world.queue(['whk_2'], 4, 4);
    const head = await world.rig.events.headPosition();
    await world.rig.sql.query('truncate work.delivery_progress, work.delivery_claim');
    await eventually(
      async () => (await world.rig.sql.query('select 1 from work.delivery_progress')).length > 0,
    );
    held.resolve(undefined);
    await eventually(
      () => world.rig.events.all.filter(({ type }) => type === 'WebhookDeliveryEnded').length === 3,
    );
    // The read model reaches what was in the log when the loss was found, and not yet the outcomes.
    await world.rig.sql.query("update read.checkpoint set position = $1 where projection like 'webhooks%'", [
      String(head),
    ]);
    await systemClock.sleep(1_200);
    expect(ids().toSorted()).to.deep.equal(numbers(1, 3));
    await world.rig.start({ projections: [webhooks] });
    await eventually(
      async () => (await world.rig.sql.query('select 1 from work.delivery_claim')).length === 0,
    );
    expect(ids().toSorted()).to.deep.equal(numbers(1, 3));
    await slow[Symbol.asyncDispose]();
  });
});

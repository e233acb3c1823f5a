import { expect } from 'chai';
import type { Ports } from '../../../../commands/ports/ports.ts';
import type { WebhookSender } from '../../../../commands/ports/webhook-port.ts';
import { systemClock } from '../../../../infra/platform/system-clock.ts';
import { CONNECTIONS } from '../../../../infra/webhooks/post-webhook.ts';
import { webhooks } from '../../../../projections/webhooks.ts';
import { samplePersonal, sealSample } from '../../../support/samples/event-author.ts';
import { httpSink, type Sink } from '../../../support/servers/webhook-sinks.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { type DeliveryWorld, openDeliveryWorld, OTHER_ORG } from '../../../support/worlds/delivery-world.ts';

const DUE = `read.webhook_due_v${String(webhooks.version)}`;
const ENDPOINTS = `read.webhook_endpoint_v${String(webhooks.version)}`;

describe('the worker that delivers webhooks, among endpoints and with failures', function () {
  this.timeout(90_000);
  let world: DeliveryWorld;
  let sink: Sink;
  /** The `webhook-id` of each request, as they arrived. */
  let received: string[];
  /** Requests that are not answered yet, and the most of them at once. */
  let load: { open: number; most: number };
  let answer: (id: string) => { readonly status?: number; readonly afterMs?: number };
  beforeEach(async () => {
    received = [];
    const counted = { open: 0, most: 0 };
    load = counted;
    answer = () => ({});
    world = await openDeliveryWorld();
    sink = await httpSink(({ headers }, response) => {
      const id = String(headers['webhook-id']);
      received.push(id);
      counted.open += 1;
      counted.most = Math.max(counted.most, counted.open);
      const { status = 200, afterMs = 0 } = answer(id);
      setTimeout(() => {
        counted.open -= 1;
        response.writeHead(status).end('ok');
      }, afterMs).unref();
    });
  });
  afterEach(async () => {
    await world[Symbol.asyncDispose]();
    await sink[Symbol.asyncDispose]();
  });

  const numbers = (from: number, to: number): string[] =>
    Array.from({ length: to - from + 1 }, (_, index) => `evt_${String(from + index)}`);
  const statuses = async (): Promise<string[]> =>
    (await world.rows()).map(({ event_id, attempt, status }) => `${event_id}.${String(attempt)} ${status}`);
  const ofWhk1 = (changes: string): Promise<unknown> =>
    world.rig.sql.query(`update ${ENDPOINTS} set ${changes} where id = 'whk_1'`);
  const disabled = (): boolean => world.rig.events.all.some(({ type }) => type === 'WebhookEndpointDisabled');

  it(`delays no organisation by a thousand deliveries of another ${verifies('contract:11:fair-share')}`, async () => {
    answer = () => ({ afterMs: 100 });
    const many = Array.from({ length: 100 }, (_, index) => `whk_many_${String(index)}`);
    for (const id of many) await world.endpoint(id, sink.url);
    await world.endpoint('whk_other', sink.url, OTHER_ORG);
    await world.queue(many, 1, 10);
    await world.rows();
    world.run();
    await eventually(() => received.length >= 50);
    await world.queue(['whk_other'], 5_001, 5_001, OTHER_ORG);
    const before = received.length;
    await eventually(() => received.includes('evt_5001'));
    // Those under way, and what was begun until it was queued.
    expect(received.indexOf('evt_5001') - before).to.be.lessThan(150);
    expect(received.length).to.be.lessThan(1_000);
  });

  it('makes no more attempts than at once to an endpoint that fails while the model does not show it', async () => {
    answer = () => ({ status: 500 });
    await world.endpoint('whk_1', sink.url);
    await world.queue(['whk_1'], 1, 60);
    await world.rows();
    await world.projector.close();
    world.run();
    await eventually(() => received.length >= 10);
    await systemClock.sleep(1_000);
    expect(received.length).to.be.at.most(CONNECTIONS);
  });

  it(`probes an endpoint that rests with one attempt at a time, and drops nothing ${verifies('contract:11:rests')}`, async () => {
    answer = () => ({ status: 500, afterMs: 300 });
    await world.endpoint('whk_1', sink.url);
    await world.queue(['whk_1'], 1, 30);
    await world.rows();
    const rest = "status = 'failing', consecutive_failures = 10, rests = 1";
    await ofWhk1(`${rest}, not_before = now() + interval '1 hour'`);
    world.run();
    await systemClock.sleep(1_000);
    expect(received).to.deep.equal([]);
    await ofWhk1("not_before = now() - interval '1 second'");
    await eventually(() => received.length > 0);
    await systemClock.sleep(1_000);
    expect([received.length, load.most]).to.deep.equal([1, 1]);
    answer = () => ({ afterMs: 20 });
    await ofWhk1("not_before = now() - interval '1 second'");
    await eventually(() => new Set(received).size === 30);
    expect(disabled()).to.equal(false);
  });

  it('ends what it began when it is asked to end, and leaves the rest to another', async () => {
    answer = (id) => ({ afterMs: id === 'evt_1' ? 60_000 : 800 });
    await world.endpoint('whk_1', sink.url);
    await world.queue(['whk_1'], 1, 30);
    await world.rows();
    const first = world.run();
    await eventually(() => received.length === 20);
    const from = performance.now();
    await first.stop();
    // The deadline of an attempt in this world is two seconds.
    expect(performance.now() - from).to.be.lessThan(20_000);
    expect(received).to.have.length(20);
    const ended = world.rig.events.all.filter(({ type }) => type === 'WebhookDeliveryEnded');
    const outcomes = Object.groupBy(ended, ({ data }) => String(data['status']));
    expect([outcomes['succeeded']?.length, outcomes['failed']?.length]).to.deep.equal([19, 1]);
    expect(outcomes['failed']?.[0]?.data).to.deep.include({ event_id: 'evt_1', error: { code: 'timeout' } });
    answer = () => ({});
    world.run();
    await eventually(() => new Set(received).size === 30);
    await eventually(
      async () => (await statuses()).filter((one) => one.endsWith('1 succeeded')).length === 29,
    );
    // What the first had not seen in the model yet was over all the same: it is removed, not made again.
    await eventually(
      async () => (await world.rig.sql.query('select 1 from work.delivery_claim')).length === 0,
      10_000,
    );
    expect((await statuses()).filter((one) => one.includes('interrupted'))).to.deep.equal([]);
    expect(received.filter((id) => id !== 'evt_1').toSorted()).to.deep.equal(numbers(2, 30).toSorted());
  });

  it(`tells an attempt whose outcome could not be recorded, and makes the next after growing pauses ${verifies('contract:11:interrupted')}`, async () => {
    let failures = 3;
    const times: number[] = [];
    const personal: Ports['personal'] = {
      ...samplePersonal,
      erase: () => Promise.resolve(),
      isErased: () => Promise.resolve(false),
      seal: (_, text) => {
        times.push(performance.now());
        failures -= 1;
        return failures >= 0 ? Promise.reject(new RangeError('broken')) : Promise.resolve(sealSample(text));
      },
    };
    await world.endpoint('whk_1', sink.url);
    await world.queue(['whk_1'], 1, 1);
    world.run({ ports: { personal } });
    await eventually(async () => (await statuses()).includes('evt_1.4 succeeded'));
    expect(await statuses()).to.deep.equal([
      'evt_1.1 interrupted',
      'evt_1.2 interrupted',
      'evt_1.3 interrupted',
      'evt_1.4 succeeded',
    ]);
    expect(received).to.deep.equal(['evt_1', 'evt_1', 'evt_1', 'evt_1']);
    const [a = 0, b = 0, c = 0, d = 0] = times;
    expect(b - a).to.be.greaterThan(790);
    expect(c - b).to.be.greaterThan(1_590);
    expect(d - c).to.be.greaterThan(3_190);
  });

  it('tells an attempt of which nobody knows whether its request was made', async () => {
    let posted = 0;
    const webhookSender: WebhookSender = {
      vet: () => Promise.resolve(),
      post: () => {
        posted += 1;
        if (posted === 1) return Promise.reject(new RangeError('broken'));
        return Promise.resolve({
          startedAt: systemClock.now(),
          durationMs: 1,
          status: 'succeeded',
          httpStatus: 200,
          error: null,
          excerpt: '',
          retryAfterSeconds: null,
        });
      },
    };
    await world.endpoint('whk_1', sink.url);
    await world.queue(['whk_1'], 1, 1);
    world.run({ ports: { webhookSender } });
    await eventually(async () => (await statuses()).includes('evt_1.2 succeeded'));
    expect(await statuses()).to.deep.equal(['evt_1.1 interrupted', 'evt_1.2 succeeded']);
    expect(posted).to.equal(2);
  });

  it('keeps the pause of an endpoint while outcomes without a request are recorded', async () => {
    const times: number[] = [];
    const read = () => {
      times.push(performance.now());
      return Promise.resolve([]);
    };
    await world.endpoint('whk_1', sink.url);
    await world.queue(['whk_1'], 1, 1);
    world.run({ ports: { webhookSecrets: { read } as never } });
    await eventually(() => times.length === 2);
    await world.queue(['whk_1'], 2, 2);
    await world.rows();
    await world.rig.sql.query(`update ${DUE} set queued_at = now() - interval '31 days' where sequence = 2`);
    await eventually(async () => (await statuses()).includes('evt_2.1 cancelled'));
    await eventually(() => times.length === 3);
    const [, b = 0, c = 0] = times;
    expect(c - b).to.be.greaterThan(1_590);
  });

  it('leaves an endpoint active that answered again while the attempt that failed was under way', async () => {
    answer = (id) => (id === 'evt_1' ? { status: 500, afterMs: 1_000 } : {});
    await world.endpoint('whk_1', sink.url);
    await world.queue(['whk_1'], 1, 2);
    await world.rows();
    await ofWhk1("first_failure_at = now() - interval '121 hours'");
    world.run();
    await eventually(async () => (await statuses()).includes('evt_1.1 failed'));
    expect(await statuses()).to.include.members(['evt_1.2 scheduled', 'evt_2.1 succeeded']);
    expect(disabled()).to.equal(false);
  });
});

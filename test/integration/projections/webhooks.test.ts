import { expect } from 'chai';
import { deliveryId } from '../../../commands/webhooks/delivery-events.ts';
import type { Sealed } from '../../../commands/values/sealed.ts';
import { openDirectConnection } from '../../../infra/postgres/direct-connection.ts';
import { systemClock } from '../../../infra/platform/system-clock.ts';
import { rebuildModels } from '../../../infra/projector/rebuild-read-models.ts';
import type { Projector } from '../../../infra/projector/projector.ts';
import { countReplayable, findEndpoint, listDeliveries } from '../../../projections/webhook-queries.ts';
import { endpointStatus } from '../../../commands/webhooks/endpoint.ts';
import { webhooks } from '../../../projections/webhooks.ts';
import { happened } from '../../support/samples/event-author.ts';
import { silentLog } from '../../support/fakes/silent-log.ts';
import { SAMPLE_EVENTS } from '../../support/samples/sample-events.ts';
import { verifies } from '../../support/suite/verifies.ts';
import { openRig, personal, type Rig, rowsOf } from '../infra/projector/projector-rig.ts';

const AT = '2026-01-01T00:00:00.000Z';
const LATER = '2026-01-01T00:05:00.000Z';
const ENDPOINT = 'whk_1';
const STREAM = `webhookEndpoint-${ENDPOINT}`;
const idOf = (n: number): string => deliveryId(new Date(AT), ENDPOINT, [`evt_${String(n)}`]);

describe('the read model of webhooks', () => {
  let rig: Rig;
  let projector: Projector;
  beforeEach(async () => {
    rig = await openRig();
    projector = await rig.start({ projections: [webhooks] });
    await happened(rig.events, STREAM, [
      {
        type: 'WebhookEndpointCreated',
        data: { ...SAMPLE_EVENTS.WebhookEndpointCreated, url: 'sealed:u' as Sealed },
      },
    ]);
  });
  afterEach(async () => {
    await rig[Symbol.asyncDispose]();
  });

  const queue = (from: number, to: number): Promise<unknown> => {
    const numbers = Array.from({ length: to - from + 1 }, (_, index) => from + index);
    const [sample] = SAMPLE_EVENTS.WebhookDeliveriesQueued.notifications;
    if (sample === undefined) throw new Error('no sample');
    return happened(rig.events, 'webhookQueue-all', [
      {
        type: 'WebhookDeliveriesQueued',
        data: {
          after: '0',
          notifications: numbers.map((n) => ({ ...sample, event_id: `evt_${String(n)}`, occurred_at: AT })),
          deliveries: numbers.map((n, notification) => ({
            notification,
            endpoint_id: ENDPOINT,
            sequence: n,
          })),
        },
      },
    ]);
  };
  type Ended = (typeof SAMPLE_EVENTS)['WebhookDeliveryEnded'];
  const end = (delivery_id: string, changes: Partial<Ended> = {}): Promise<unknown> =>
    happened(rig.events, 'webhookDeliveries-run-1', [
      {
        type: 'WebhookDeliveryEnded',
        data: { ...SAMPLE_EVENTS.WebhookDeliveryEnded, delivery_id, next: null, ...changes },
      },
    ]);
  const ask = (fact: Parameters<typeof happened>[2][number]): Promise<unknown> =>
    happened(rig.events, STREAM, [fact]);
  const rows = async () => {
    await rig.settle(projector);
    const all = { endpointId: null, status: null, eventType: null, from: null, to: null, before: null };
    return await listDeliveries(rig.sql, { ...all, orgId: 'org_a', limit: 100 });
  };
  const statuses = async (): Promise<readonly string[]> =>
    (await rows())
      .toSorted((a, b) => (a.sequence ?? 0) - (b.sequence ?? 0) || a.attempt - b.attempt)
      .map(
        ({ sequence, attempt, trigger, status }) =>
          `${String(sequence)}.${String(attempt)} ${trigger} ${status}`,
      );

  it('adds the next attempt that a failed one names, with the same webhook-id and number', async () => {
    await queue(1, 1);
    await end(idOf(1), { next: { delivery_id: 'obx_next', due_at: LATER } });
    expect(await statuses()).to.deep.equal(['1.1 event failed', '1.2 retry scheduled']);
    const [retry] = (await rows()).filter(({ id }) => id === 'obx_next');
    expect(retry).to.deep.include({ eventId: 'evt_1', dueAt: LATER, failures: 1, httpStatus: null });
    await end('obx_next', { status: 'succeeded', http_status: 204, error: null });
    expect(await statuses()).to.deep.equal(['1.1 event failed', '1.2 retry succeeded']);
  });

  it(`keeps the first outcome of a delivery when a second one is recorded ${verifies('contract:11:at-least-once')}`, async () => {
    await queue(1, 1);
    await end(idOf(1), { status: 'succeeded' });
    await end(idOf(1), { status: 'interrupted', next: { delivery_id: 'obx_again', due_at: AT } });
    expect(await statuses()).to.deep.equal(['1.1 event succeeded']);
  });

  it('has as due exactly what is scheduled, whichever way it ends', async () => {
    const due = async () =>
      (await rig.sql.query<{ sequence: string }>('select sequence from read.webhook_due')).map(
        ({ sequence }) => sequence,
      );
    const scheduled = async () =>
      (await rows()).filter(({ status }) => status === 'scheduled').map(({ sequence }) => String(sequence));
    await queue(1, 4);
    await end(idOf(1), { status: 'succeeded' });
    await rig.settle(projector);
    await end(idOf(2), { next: { delivery_id: 'obx_next', due_at: LATER } });
    await end(idOf(3));
    expect((await scheduled()).toSorted()).to.deep.equal(['2', '4']);
    expect((await due()).toSorted()).to.deep.equal(['2', '4']);
    await ask({ type: 'WebhookEndpointDisabled', data: { reason: 'failing' } });
    await queue(5, 5);
    await end(idOf(4), { next: { delivery_id: 'obx_more', due_at: LATER } });
    expect(await scheduled()).to.deep.equal([]);
    expect(await due()).to.deep.equal([]);
  });

  it('shows an endpoint as failing until an attempt succeeds', async () => {
    await queue(1, 2);
    const shown = async () => {
      await rig.settle(projector);
      const row = await findEndpoint(rig.sql, ENDPOINT);
      return (
        row && [
          endpointStatus(row.state, row.health),
          row.health.consecutiveFailures,
          row.health.lastSequence,
        ]
      );
    };
    await end(idOf(1));
    expect(await shown()).to.deep.equal(['failing', 1, 2]);
    await end(idOf(2), { status: 'succeeded' });
    expect(await shown()).to.deep.equal(['active', 0, 2]);
  });

  it('records a test without counting it for the endpoint', async () => {
    await end('obx_test', { trigger: 'test', sequence: null, event_type: 'webhook_endpoint.test' });
    expect(await statuses()).to.deep.equal(['null.1 test failed']);
    const row = await findEndpoint(rig.sql, ENDPOINT);
    expect(row?.health.consecutiveFailures).to.equal(0);
  });

  it(`cancels what is scheduled when its endpoint is removed, but keeps the outcome of an attempt under way ${verifies('contract:11:paused')}`, async () => {
    await queue(1, 2);
    await ask({ type: 'WebhookEndpointRemoved', data: {} });
    await end(idOf(1), { next: { delivery_id: 'obx_next', due_at: AT } });
    expect(await statuses()).to.deep.equal(['1.1 event failed', '2.1 event cancelled']);
    expect(await findEndpoint(rig.sql, ENDPOINT)).to.equal(null);
  });

  it(`replays one delivery, or the latest of each event since a time ${verifies('contract:11:replay-since')}`, async () => {
    await queue(1, 3);
    await end(idOf(1), { next: { delivery_id: 'obx_retry', due_at: AT } });
    await end('obx_retry', { attempt: 2, status: 'succeeded' });
    await end(idOf(2));
    await end(idOf(3), { status: 'succeeded' });
    await rig.settle(projector);
    const since = { endpointId: ENDPOINT, since: AT };
    expect(await countReplayable(rig.sql, { ...since, status: 'failed' })).to.equal(1);
    expect(await countReplayable(rig.sql, { ...since, status: null })).to.equal(3);
    await ask({
      type: 'WebhookReplayRequested',
      data: { since: AT, status: 'failed', count: 1, claim_id: 'req_1' },
    });
    await ask({ type: 'WebhookDeliveryReplayed', data: { delivery_id: 'obx_replay', replay_of: idOf(3) } });
    expect((await statuses()).filter((line) => line.includes('replay'))).to.deep.equal([
      '2.1 replay scheduled',
      '3.1 replay scheduled',
    ]);
    const replayed = (await rows()).filter(({ trigger }) => trigger === 'replay');
    expect(new Set(replayed.map(({ eventId }) => eventId))).to.deep.equal(new Set(['evt_2', 'evt_3']));
  });

  it(`is the same after a rebuild, whatever batches its events came in ${verifies('contract:11:rebuild')}`, async () => {
    await queue(1, 4);
    await end(idOf(1), { next: { delivery_id: 'obx_next', due_at: LATER } });
    await rig.settle(projector);
    await ask({ type: 'WebhookEndpointPaused', data: {} });
    await ask({ type: 'WebhookEndpointResumed', data: {} });
    await end(idOf(2), { status: 'blocked', error: { code: 'redirect' } });
    await ask({
      type: 'WebhookReplayRequested',
      data: { since: AT, status: null, count: 4, claim_id: 'req_2' },
    });
    await ask({ type: 'WebhookEndpointDisabled', data: { reason: 'failing' } });
    await queue(5, 5);
    await rig.settle(projector);
    const tables = ['read.webhook_endpoint', 'read.webhook_delivery', 'read.webhook_due'];
    const before = await Promise.all(tables.map((table) => rowsOf(rig.sql, table)));
    await projector.close();
    await rebuildModels({
      sql: rig.sql,
      events: rig.events,
      personal,
      clock: systemClock,
      log: silentLog,
      projections: [webhooks],
      directConnection: () => openDirectConnection(rig.url, 'rebuild under test'),
      signal: new AbortController().signal,
    });
    expect(await Promise.all(tables.map((table) => rowsOf(rig.sql, table)))).to.deep.equal(before);
  });
});

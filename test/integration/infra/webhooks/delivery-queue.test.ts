import { expect } from 'chai';
import { QUEUE_STREAM } from '../../../../commands/webhooks/delivery-events.ts';
import type { Sealed } from '../../../../commands/values/sealed.ts';
import { openDirectConnection } from '../../../../infra/postgres/direct-connection.ts';
import { systemClock } from '../../../../infra/platform/system-clock.ts';
import type { Projector } from '../../../../infra/projector/projector.ts';
import { rebuildModels } from '../../../../infra/projector/rebuild-read-models.ts';
import { runDeliveryQueue } from '../../../../infra/webhooks/delivery-queue.ts';
import type { ListedDelivery } from '../../../../commands/ports/webhook-records.ts';
import { listDeliveries } from '../../../../projections/webhook-queries.ts';
import { tableName } from '../../../../projections/projection.ts';
import { webhooks } from '../../../../projections/webhooks.ts';
import { happened, randomIds, sampleAuthor } from '../../../support/samples/event-author.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { openRig, personal, type Rig } from '../projector/projector-rig.ts';

const sealed = 'sealed:x' as Sealed;
const settings = {
  url: sealed,
  description: null,
  event_types: ['message.received' as const, 'token.revoked' as const],
  mailbox_ids: ['mbx_1'],
  payload: 'thin' as const,
  created_by: 'usr_1',
  rights_of: 'usr_1',
  secret_id: 'whs_1',
  secret_hint: sealed,
};

describe('the queue of webhook deliveries', () => {
  let rig: Rig;
  let projector: Projector;
  let errors: string[];
  const leaders: { readonly ending: AbortController; readonly ended: Promise<void> }[] = [];

  beforeEach(async () => {
    errors = [];
    rig = await openRig();
    projector = await rig.start({ projections: [webhooks] });
  });
  afterEach(async () => {
    for (const { ending } of leaders) ending.abort();
    await Promise.all(leaders.splice(0).map(({ ended }) => ended));
    await rig[Symbol.asyncDispose]();
  });

  const lead = (): void => {
    const ending = new AbortController();
    const ended = runDeliveryQueue(
      {
        events: rig.events,
        sql: rig.sql,
        ids: randomIds,
        clock: systemClock,
        log: { ...silentLog, error: (message) => void errors.push(message) },
        readModels: projector.readModels,
        directConnection: () => openDirectConnection(rig.url, 'queue under test'),
      },
      ending.signal,
    );
    leaders.push({ ending, ended });
  };
  const endpoint = (id: string, orgId = 'org_a'): Promise<unknown> =>
    happened(
      rig.events,
      `webhookEndpoint-${id}`,
      [{ type: 'WebhookEndpointCreated', data: settings }],
      sampleAuthor(orgId),
    );
  const change = (id: string, fact: Parameters<typeof happened>[2][number]): Promise<unknown> =>
    happened(rig.events, `webhookEndpoint-${id}`, [fact]);
  const revoke = (n: number): Promise<unknown> =>
    happened(rig.events, `token-tok_${String(n)}`, [{ type: 'TokenRevoked', data: {} }]);
  const receive = (mailboxId: string, count: number): Promise<unknown> =>
    happened(rig.events, `mailFeed-${mailboxId}-20260101`, [
      {
        type: 'MailboxChangesObserved',
        data: {
          mailbox_id: mailboxId,
          folder: 1,
          uid_validity: 1,
          changes: Array.from({ length: count }, (_, index) => ({
            kind: 'received' as const,
            locator: `msg_${String(index)}`,
            flags: [],
          })),
        },
      },
    ]);
  const queued = async (endpointId: string): Promise<readonly ListedDelivery[]> => {
    await rig.settle(projector);
    const all = { status: null, eventType: null, from: null, to: null, before: null, limit: 1_000 };
    const rows = await listDeliveries(rig.sql, { ...all, orgId: 'org_a', endpointId });
    return rows.toSorted((a, b) => (a.sequence ?? 0) - (b.sequence ?? 0));
  };
  const begun = (): Promise<unknown> =>
    eventually(async () => (await rig.events.readLast(QUEUE_STREAM)) !== null);
  const eventuallyQueued = (endpointId: string, count: number): Promise<void> =>
    eventually(async () => (await queued(endpointId)).length >= count);

  it(`numbers what an endpoint subscribes to, from 1 without gaps ${verifies('contract:11:sequence')}`, async () => {
    lead();
    await begun();
    await revoke(1);
    await endpoint('whk_1');
    await endpoint('whk_2', 'org_b');
    await receive('mbx_1', 3);
    await receive('mbx_2', 5);
    await revoke(2);
    await eventuallyQueued('whk_1', 4);
    const rows = await queued('whk_1');
    expect(rows.map(({ sequence, eventType }) => `${String(sequence)} ${eventType}`)).to.deep.equal([
      '1 message.received',
      '2 message.received',
      '3 message.received',
      '4 token.revoked',
    ]);
    expect(new Set(rows.map(({ eventId }) => eventId)).size).to.equal(4);
    expect(
      rows.every(
        ({ status, attempt, trigger }) => status === 'scheduled' && attempt === 1 && trigger === 'event',
      ),
    ).to.equal(true);
  });

  it('continues exactly where another leader ended, with the endpoints as they were there', async () => {
    lead();
    await begun();
    await endpoint('whk_1');
    await revoke(1);
    await eventuallyQueued('whk_1', 1);
    for (const { ending, ended } of leaders.splice(0)) {
      ending.abort();
      await ended;
    }
    // While no process leads: events before and after a change of what the endpoint asks for.
    await revoke(2);
    await change('whk_1', { type: 'WebhookEndpointChanged', data: { event_types: ['message.received'] } });
    await revoke(3);
    await receive('mbx_1', 2);
    lead();
    await eventuallyQueued('whk_1', 4);
    const rows = await queued('whk_1');
    expect(
      rows.map(({ sequence, data }) => [sequence, data['token_id'] ?? data['message_id']]),
    ).to.deep.equal([
      [1, 'tok_1'],
      [2, 'tok_2'],
      [3, 'msg_0'],
      [4, 'msg_1'],
    ]);
  });

  it('queues each event once while two processes want to lead', async () => {
    lead();
    lead();
    await begun();
    await endpoint('whk_1');
    for (let n = 1; n <= 20; n += 1) await revoke(n);
    await eventuallyQueued('whk_1', 20);
    const rows = await queued('whk_1');
    expect(rows.map(({ sequence }) => sequence)).to.deep.equal(Array.from({ length: 20 }, (_, n) => n + 1));
  });

  it('queues for a paused endpoint, cancels for a disabled one and begins again when it is resumed', async () => {
    lead();
    await begun();
    await endpoint('whk_1');
    await change('whk_1', { type: 'WebhookEndpointPaused', data: {} });
    await revoke(1);
    await eventuallyQueued('whk_1', 1);
    await change('whk_1', { type: 'WebhookEndpointDisabled', data: { reason: 'gone' } });
    await revoke(2);
    await change('whk_1', { type: 'WebhookEndpointResumed', data: {} });
    await revoke(3);
    await eventuallyQueued('whk_1', 2);
    const rows = await queued('whk_1');
    expect(rows.map(({ sequence, status, errorCode }) => [sequence, status, errorCode])).to.deep.equal([
      [1, 'cancelled', 'endpoint_disabled'],
      [2, 'scheduled', null],
    ]);
  });

  it('splits a large fan-out into events of at most 500 deliveries', async () => {
    lead();
    await begun();
    for (let n = 1; n <= 12; n += 1) await endpoint(`whk_${String(n)}`);
    await receive('mbx_1', 100);
    await eventuallyQueued('whk_12', 100);
    const stored = await rig.events.readStream(QUEUE_STREAM);
    const sizes = stored.map(({ data }) => (data['deliveries'] as readonly unknown[]).length);
    expect(Math.max(...sizes)).to.equal(500);
    expect(sizes.reduce((sum, size) => sum + size)).to.equal(1_200);
  });

  it('queues an event that tells much in several appends, and goes on inside it', async () => {
    const sizes: number[] = [];
    const { events } = rig;
    const append = events.append.bind(events);
    events.append = async (stream, expected, facts) => {
      if (stream === QUEUE_STREAM) {
        sizes.push(JSON.stringify(facts).length);
        // The leader ends inside the event.
        if (sizes.length === 3) throw new Error('the store is away');
      }
      return await append(stream, expected, facts);
    };
    lead();
    await begun();
    for (let n = 1; n <= 99; n += 1) await endpoint(`whk_${'0'.repeat(23)}${String(n)}`);
    await receive('mbx_1', 100);
    const last = `whk_${'0'.repeat(23)}99`;
    await eventually(async () => (await queued(last)).length >= 100);
    expect(Math.max(...sizes)).to.be.lessThan(512 * 1024);
    expect(sizes.length).to.be.greaterThan(3);
    const rows = await queued(last);
    expect(rows.map(({ sequence }) => sequence)).to.deep.equal(Array.from({ length: 100 }, (_, n) => n + 1));
    expect(rows.map(({ data }) => data['message_id'])).to.deep.equal(
      Array.from({ length: 100 }, (_, n) => `msg_${String(n)}`),
    );
    await revoke(1);
    await eventually(async () => (await queued(last)).length >= 101);
  });

  it('gives no number again that is missing in the read model, because its event is parked', async () => {
    const deliveries = `read.webhook_delivery_v${String(webhooks.version)}`;
    await rig.sql.query(`alter table ${deliveries} add constraint poison check (sequence <> 2)`);
    lead();
    await begun();
    await endpoint('whk_1');
    await revoke(1);
    await eventuallyQueued('whk_1', 1);
    await revoke(2);
    await eventually(async () => (await rig.sql.query('select 1 from work.parked_event')).length === 1);
    for (const { ending, ended } of leaders.splice(0)) {
      ending.abort();
      await ended;
    }
    lead();
    await revoke(3);
    await eventually(() => errors.length > 0);
    await systemClock.sleep(700);
    expect(errors).to.deep.equal(['webhook queue: nothing is queued until parked events are retried']);
    expect(await queued('whk_1')).to.have.length(1);
    await rig.sql.query(`alter table ${deliveries} drop constraint poison`);
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
    await eventuallyQueued('whk_1', 3);
    expect((await queued('whk_1')).map(({ sequence, data }) => [sequence, data['token_id']])).to.deep.equal(
      [1, 2, 3].map((n) => [n, `tok_${String(n)}`]),
    );
  });

  it('gives no number again while the read model is built anew beside it', async () => {
    lead();
    await begun();
    await endpoint('whk_1');
    await revoke(1);
    await eventuallyQueued('whk_1', 1);
    for (const { ending, ended } of leaders.splice(0)) {
      ending.abort();
      await ended;
    }
    await rig.settle(projector);
    await projector.close();
    await rig.sql.query(`truncate ${webhooks.tables.map((table) => tableName(table, webhooks)).join(', ')}`);
    await rig.sql.query("update read.checkpoint set position = -1 where projection like 'webhooks%'");
    lead();
    await revoke(2);
    await systemClock.sleep(700);
    projector = await rig.start({ projections: [webhooks] });
    await eventuallyQueued('whk_1', 2);
    expect((await queued('whk_1')).map(({ sequence }) => sequence)).to.deep.equal([1, 2]);
  });
});

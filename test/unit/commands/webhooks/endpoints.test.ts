import { expect } from 'chai';
import { loadAggregate } from '../../../../commands/kernel/decide-and-append.ts';
import { createMailbox } from '../../../../commands/mailboxes/manage-mailboxes.ts';
import { createToken } from '../../../../commands/organisation/manage-tokens.ts';
import type { ListedDelivery } from '../../../../commands/ports/webhook-records.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import { disableEndpoint } from '../../../../commands/webhooks/disable-endpoint.ts';
import { webhookEndpoint } from '../../../../commands/webhooks/endpoint.ts';
import type { WebhookEndpoint } from '../../../../commands/webhooks/endpoint-payload.ts';
import type { Delivery } from '../../../../commands/webhooks/delivery-payload.ts';
import {
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  updateWebhookEndpoint,
} from '../../../../commands/webhooks/manage-endpoints.ts';
import { rotateWebhookSecret } from '../../../../commands/webhooks/rotate-secret.ts';
import { replayDelivery, replayWebhookEndpoint } from '../../../../commands/webhooks/replay-deliveries.ts';
import { testWebhookEndpoint } from '../../../../commands/webhooks/test-endpoint.ts';
import { getWebhookEndpoint } from '../../../../read-api/webhooks/read-endpoints.ts';
import type { MemoryWebhookRecords } from '../../../support/fakes/memory-webhooks.ts';
import { IMAP, SMTP } from '../../../support/samples/mailbox-facts.ts';
import {
  type CallOptions,
  type MemoryGateway,
  startMemoryGateway,
} from '../../../support/worlds/memory-gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { invokeAs } from '../../../support/worlds/invoke-as.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const URL = 'https://hooks.example.com/mail';
const wanted = { url: URL, event_types: ['message.received'] };
const auth = { type: 'password', username: 'box', password: 'secret' };
const DAY = 86_400_000;

type Created = WebhookEndpoint & { readonly secret?: string; readonly secret_shown: boolean };

describe('webhook endpoints', () => {
  let gateway: MemoryGateway;
  let token: string;
  beforeEach(async () => {
    gateway = await startMemoryGateway();
    token = await gateway.signIn();
  });

  const create = (changes: object = {}, options: CallOptions = {}): Promise<Created> =>
    gateway.call<Created>(createWebhookEndpoint, { ...wanted, ...changes }, { token, ...options });
  const get = (id: string): Promise<WebhookEndpoint> =>
    gateway.call<WebhookEndpoint>(getWebhookEndpoint, { endpoint_id: id }, { token });
  const patch = (id: string, changes: object, options: CallOptions = {}): Promise<WebhookEndpoint> =>
    gateway.call<WebhookEndpoint>(
      updateWebhookEndpoint,
      { endpoint_id: id, ...changes },
      { token, ...options },
    );
  const mailbox = async (email = 'anna@example.com'): Promise<string> =>
    (await gateway.call<{ id: string }>(createMailbox, { email, imap: IMAP, smtp: SMTP, auth }, { token }))
      .id;
  const records = (): MemoryWebhookRecords => gateway.records;
  const texts = (): string => JSON.stringify(gateway.events.all.map(({ data }) => data));

  it(`shows the secret at creation only, and stores neither it nor the URL in clear ${verifies('contract:11:endpoint', 'contract:11:webhook-secret')}`, async () => {
    const made = await create({ description: 'Orders' });
    expect(made).to.deep.include({
      status: 'active',
      payload: 'thin',
      mailbox_ids: [],
      version: 1,
      secret_shown: true,
    });
    expect(made.secret).to.match(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(texts()).not.to.contain(made.secret);
    const shown = await get(made.id);
    expect(shown).not.to.have.property('secret');
    expect(shown).to.include({ url: URL, description: 'Orders', secret_hint: made.secret?.slice(-4) });
  });

  it('answers a repeat with the same key without the secret', async () => {
    const first = await create({}, { key: 'k' });
    const second = await create({}, { key: 'k' });
    expect(second).to.include({ id: first.id, secret_shown: false });
    expect(second).not.to.have.property('secret');
  });

  it(`lists the known event types when one is unknown ${verifies('contract:11:event-types')}`, async () => {
    const refused = await rejection(create({ event_types: ['message.recieved'] }));
    expect(refused).to.include({ code: 'invalid_request' });
    expect(JSON.stringify(refused)).to.contain('event_types').and.to.contain('message.received');
    expect(await rejection(create({ event_types: ['webhook_endpoint.test'] }))).to.include({
      code: 'invalid_request',
    });
  });

  it(`refuses a URL that may not be called before the key is used ${verifies('contract:11:endpoint-url')}`, async () => {
    gateway.sender.refusal = new GatewayError('target_blocked', 'Not a public address.');
    expect(await rejection(create({}, { key: 'k' }))).to.include({ code: 'target_blocked' });
    gateway.sender.refusal = null;
    expect((await create({}, { key: 'k' })).status).to.equal('active');
  });

  it(`sends events only of mailboxes that the caller may read ${verifies('contract:11:endpoint-mailboxes')}`, async () => {
    const id = await mailbox();
    expect((await create({ mailbox_ids: [id, id] })).mailbox_ids).to.deep.equal([id]);
    expect((await create({ mailbox_ids: ['*'] })).mailbox_ids).to.deep.equal(['*']);
    expect(await rejection(create({ mailbox_ids: ['mbx_unknown'] }))).to.include({ code: 'not_found' });
    expect(await rejection(create({ mailbox_ids: ['*', id] }))).to.include({ code: 'invalid_request' });
  });

  it(`requires a fresh password of a session ${verifies('contract:11:step-up')}`, async () => {
    const made = await create();
    gateway.clock.advance(16 * 60_000);
    for (const attempt of [
      create(),
      patch(made.id, { status: 'paused' }),
      gateway.call(deleteWebhookEndpoint, { endpoint_id: made.id }, { token }),
      gateway.call(rotateWebhookSecret, { endpoint_id: made.id }, { token }),
    ])
      expect(await rejection(attempt)).to.include({ code: 'step_up_required' });
  });

  it('changes what is sent, and compares If-Match with the version', async () => {
    const made = await create();
    const changed = await patch(made.id, { event_types: ['*'], description: null }, { ifMatch: '1' });
    expect(changed).to.deep.include({ event_types: ['*'], description: null, version: 2 });
    const refused = await rejection(patch(made.id, { status: 'paused' }, { ifMatch: '1' }));
    expect(refused).to.include({ code: 'version_conflict' });
    expect((await patch(made.id, { status: 'paused' })).status).to.equal('paused');
    expect((await patch(made.id, { status: 'active' })).status).to.equal('active');
    expect((await patch(made.id, { url: URL })).version).to.equal(4);
  });

  it('ends a deleted endpoint and erases its secrets', async () => {
    const made = await create();
    await gateway.call(deleteWebhookEndpoint, { endpoint_id: made.id }, { token });
    expect(await rejection(get(made.id))).to.include({ code: 'not_found' });
    const stored = gateway.events.all.find(({ type }) => type === 'WebhookEndpointCreated');
    const secretId = String(stored?.data['secret_id']);
    expect(await gateway.ports.webhookSecrets.read(made.id, [secretId])).to.deep.equal([]);
  });

  it(`signs with the previous secret for the overlap, and with three at most ${verifies('contract:11:rotate-overlap', 'contract:11:rotate')}`, async () => {
    const made = await create();
    const rotate = (input: object = {}) =>
      gateway.call<{ secret?: string; previous_secret_expires_at: string | null }>(
        rotateWebhookSecret,
        { endpoint_id: made.id, ...input },
        { token },
      );
    const second = await rotate();
    const tomorrow = gateway.clock.now().getTime() + DAY;
    expect(Date.parse(second.previous_secret_expires_at ?? '')).to.be.within(tomorrow - 1_000, tomorrow);
    const third = await rotate({ overlap_seconds: 3_600 });
    const delivered = await gateway.call<Delivery>(testWebhookEndpoint, { endpoint_id: made.id }, { token });
    expect(delivered.status).to.equal('succeeded');
    expect(gateway.sender.requests.at(-1)?.secrets).to.deep.equal([third.secret, second.secret, made.secret]);
    expect(await rejection(rotate())).to.include({ code: 'conflict' });
    const last = await rotate({ overlap_seconds: 0 });
    await gateway.call(testWebhookEndpoint, { endpoint_id: made.id }, { token });
    expect(gateway.sender.requests.at(-1)?.secrets).to.deep.equal([last.secret]);
    expect(await rejection(rotate({ overlap_seconds: 604_801 }))).to.include({ code: 'invalid_request' });
  });

  it(`sends a test without a sequence and answers with its outcome ${verifies('contract:11:test', 'contract:11:test-outcome')}`, async () => {
    const made = await create();
    gateway.sender.answer = () => ({
      status: 'failed',
      httpStatus: 500,
      error: 'http_status',
      excerpt: 'oops',
    });
    const outcome = await gateway.call<Delivery>(testWebhookEndpoint, { endpoint_id: made.id }, { token });
    expect(outcome).to.deep.include({
      trigger: 'test',
      event_type: 'webhook_endpoint.test',
      status: 'failed',
      http_status: 500,
      error: { code: 'http_status' },
      response_excerpt: 'oops',
    });
    const [request] = gateway.sender.requests;
    expect(request?.id).to.equal(outcome.event_id);
    expect(JSON.parse(request?.body ?? '')).to.deep.include({
      type: 'webhook_endpoint.test',
      data: { endpoint_id: made.id },
    });
    expect(JSON.parse(request?.body ?? '')).not.to.have.property('sequence');
    const ended = gateway.events.all.filter(({ type }) => type === 'WebhookDeliveryEnded');
    expect(ended.map(({ data }) => data['delivery_id'])).to.deep.equal([outcome.id]);
  });

  it(`sends a test again under the same webhook-id when its outcome was not recorded ${verifies('contract:11:webhook-id')}`, async () => {
    const made = await create();
    const test = () =>
      gateway.call<Delivery>(testWebhookEndpoint, { endpoint_id: made.id }, { token, key: 'k' });
    gateway.sender.answer = () => {
      gateway.events.away = true;
      return {};
    };
    expect(await rejection(test())).to.include({ code: 'store_unavailable' });
    gateway.sender.answer = () => ({});
    gateway.events.comeBack();
    gateway.clock.advance(2_000);
    const outcome = await test();
    expect(gateway.sender.requests.map(({ id }) => id)).to.deep.equal([outcome.event_id, outcome.event_id]);
  });

  describe('replays', () => {
    let endpointId: string;
    const sample = (): ListedDelivery => {
      const at = gateway.clock.now().toISOString();
      return {
        id: 'obx_1',
        endpointId,
        orgId: gateway.org.orgId,
        eventId: 'evt_1',
        eventType: 'message.received',
        mailboxId: null,
        folders: null,
        sequence: 7,
        trigger: 'event',
        attempt: 3,
        failures: 3,
        status: 'failed',
        dueAt: at,
        startedAt: at,
        durationMs: 5,
        httpStatus: 500,
        errorCode: 'http_status',
        responseExcerpt: null,
        withheld: false,
        endedPosition: 1n,
        replayOf: null,
        nextDeliveryId: null,
        occurredAt: at,
        queuedAt: at,
        data: { message_id: 'msg_1' },
      };
    };
    const delivery = (changes: Partial<ListedDelivery> = {}): void => {
      records().deliveries.set('obx_1', { ...sample(), ...changes });
    };
    const replay = (key = 'k', id = 'obx_1', as = token): Promise<Delivery> =>
      gateway.call<Delivery>(replayDelivery, { delivery_id: id }, { token: as, key });
    const replayed = async () =>
      (await gateway.events.readStream(`${webhookEndpoint.category}-${endpointId}`)).filter(({ type }) =>
        type.includes('Replay'),
      );

    beforeEach(async () => {
      endpointId = (await create()).id;
      delivery();
    });

    it(`queues the same event again, once for each key ${verifies('contract:11:replay', 'contract:11:delivery')}`, async () => {
      const again = await replay();
      expect(again).to.deep.include({
        event_id: 'evt_1',
        trigger: 'replay',
        attempt: 1,
        status: 'scheduled',
        replay_of: 'obx_1',
      });
      expect(again.payload.sequence).to.equal(7);
      records().deliveries.set(again.id, {
        ...sample(),
        id: again.id,
      });
      expect((await replay()).id).to.equal(again.id);
      expect(await replayed()).to.have.length(1);
    });

    it(`refuses one that has not ended, is a test, or is older than 30 days ${verifies('contract:11:replay')}`, async () => {
      for (const changes of [
        { status: 'scheduled' },
        { status: 'in_flight' },
        { trigger: 'test' },
        { occurredAt: new Date(gateway.clock.now().getTime() - 31 * DAY).toISOString() },
      ] as const) {
        delivery(changes);
        expect(await rejection(replay()), JSON.stringify(changes)).to.include({ code: 'conflict' });
      }
      delivery({ orgId: 'org_other' });
      expect(await rejection(replay())).to.include({ code: 'not_found' });
      expect(await replayed()).to.deep.equal([]);
    });

    it('refuses everything but PATCH while the endpoint is disabled, and names the way out', async () => {
      const { state } = await loadAggregate(gateway.events, webhookEndpoint, endpointId);
      const { orgId } = gateway.org;
      await disableEndpoint(gateway.ports, { id: endpointId, orgId }, 'gone', state);
      const since = gateway.clock.now().toISOString();
      const calls = [
        replay,
        () => gateway.call(replayWebhookEndpoint, { endpoint_id: endpointId, since }, { token, key: 'all' }),
        () => gateway.call(testWebhookEndpoint, { endpoint_id: endpointId }, { token }),
      ];
      for (const call of calls) {
        const refused = await rejection(call());
        expect(refused).to.include({ code: 'endpoint_disabled' });
        expect(refused.message).to.contain('active with PATCH');
      }
      expect(await replayed()).to.deep.equal([]);
      expect(gateway.sender.requests).to.deep.equal([]);
      await gateway.call(updateWebhookEndpoint, { endpoint_id: endpointId, status: 'active' }, { token });
      expect(await replay()).to.include({ status: 'scheduled' });
    });

    it('answers a repeat when the read model has the delivery, and not before', async () => {
      const again = await replay();
      const behind = { ...gateway.ports, readModels: { waitFor: () => Promise.resolve(false) } };
      const repeat = (ports: typeof gateway.ports) =>
        invokeAs(ports, gateway.callerOf(token), [replayDelivery, { delivery_id: 'obx_1' }], {
          idempotencyKey: 'k',
        });
      expect(await rejection(repeat(behind))).to.include({ code: 'idempotency_in_progress' });
      const waitFor = () => {
        records().deliveries.set(again.id, { ...sample(), id: again.id });
        return Promise.resolve(true);
      };
      const { output } = await repeat({ ...gateway.ports, readModels: { waitFor } });
      expect(output).to.include({ id: again.id });
      expect(await replayed()).to.have.length(1);
    });

    it('hides the delivery from a token that does not reach its endpoint, whatever its status', async () => {
      const [own, other] = [await mailbox(), await mailbox('berta@example.com')];
      await patch(endpointId, { mailbox_ids: [own] });
      const limited = await gateway.call<{ id: string }>(
        createToken,
        {
          name: 'L',
          surface: 'rest',
          scopes: ['deliveries:read', 'deliveries:replay'],
          mailbox_ids: [own],
          expires_at: '2026-03-10T00:00:00Z',
        },
        { token },
      );
      const { id } = await replay('r', 'obx_1', limited.id);
      records().deliveries.set(id, { ...sample(), id });
      await patch(endpointId, { mailbox_ids: [other] });
      expect(await rejection(replay('r', 'obx_1', limited.id))).to.include({ code: 'not_found' });
      const hidden = async (when: string) => {
        const unknown = await rejection(replay('u', 'obx_2', limited.id));
        const refused = await rejection(replay('l', 'obx_1', limited.id));
        expect(refused, when).to.include({ code: 'not_found', message: unknown.message });
      };
      await hidden('active');
      const { state } = await loadAggregate(gateway.events, webhookEndpoint, endpointId);
      await disableEndpoint(gateway.ports, { id: endpointId, orgId: gateway.org.orgId }, 'gone', state);
      await hidden('disabled');
      await gateway.call(deleteWebhookEndpoint, { endpoint_id: endpointId }, { token });
      await hidden('deleted');
    });

    it('refuses when the endpoint is deleted, and says so', async () => {
      await gateway.call(deleteWebhookEndpoint, { endpoint_id: endpointId }, { token });
      const refused = await rejection(replay());
      expect(refused).to.include({ code: 'endpoint_disabled' });
      expect(refused.message).to.contain('was deleted');
    });

    it(`replays everything since a time, and says how many also when repeated ${verifies('contract:11:replay-since')}`, async () => {
      records().replayable = 3;
      const since = new Date(gateway.clock.now().getTime() - DAY).toISOString();
      const ask = (input: object = {}) =>
        gateway.call<{ count: number }>(
          replayWebhookEndpoint,
          { endpoint_id: endpointId, since, status: 'failed', ...input },
          { token, key: 'k' },
        );
      expect(await ask()).to.deep.equal({ count: 3 });
      records().replayable = 9;
      expect(await ask()).to.deep.equal({ count: 3 });
      expect(await replayed()).to.have.length(1);
      records().replayable = 10_001;
      expect(await rejection(ask({ status: 'blocked' }))).to.include({ code: 'idempotency_key_reused' });
    });

    it('asks for a later time when too many would be replayed, or they are not kept', async () => {
      records().replayable = 10_001;
      const ask = (days: number) =>
        gateway.call(
          replayWebhookEndpoint,
          {
            endpoint_id: endpointId,
            since: new Date(gateway.clock.now().getTime() - days * DAY).toISOString(),
          },
          { token, key: 'k' },
        );
      for (const days of [1, 31]) {
        const refused = await rejection(ask(days));
        expect(refused).to.include({ code: 'invalid_request' });
        expect(JSON.stringify(refused)).to.contain('since');
      }
    });
  });
});

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { type DeliveriesQueued, QUEUE_STREAM } from '../../commands/webhooks/delivery-events.ts';
import { happened, sampleAuthor } from '../support/samples/event-author.ts';
import { sweepersOf } from '../../infra/background/sweepers.ts';
import { DELIVERY_REPORTS } from '../support/samples/delivery-reports.ts';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { appendMessages } from '../support/servers/mail-append.ts';
import { MailRelay } from '../support/servers/mail-relay.ts';
import { eventually } from '../support/worlds/gateway.ts';
import { SendingWorld } from '../support/worlds/sending-world.ts';
import { verifies } from '../support/suite/verifies.ts';

describe('delivery reports through the whole gateway', function () {
  this.timeout(120_000);
  let dovecot: TestDovecot;
  let relay: MailRelay;
  let world: SendingWorld;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    relay = await MailRelay.start(dovecot);
    world = await SendingWorld.open(dovecot, relay.port);
  });
  after(async () => {
    await world.stop();
    await relay.stop();
    await dovecot.dispose();
  });

  const ports = () => world.gateway.gateway.ports;
  const arrives = (raw: string, folder = 'INBOX'): Promise<void> =>
    appendMessages(dovecot.imap(), 'anna', [{ raw, folder }]);
  const sent = async (): Promise<{ readonly id: string; readonly messageId: string }> => {
    const { id } = await world.draft();
    const { body } = await world.send(id, randomUUID());
    const { message_id } = body.draft as { message_id: string };
    return { id, messageId: message_id.slice(1, -1) };
  };
  const reportsOf = async (id: string) =>
    (await ports().events.readStream(`draft-${id}`)).filter(({ type }) => type === 'DeliveryReportReceived');
  /** What the gateway does once a minute. */
  const search = async (): Promise<void> => {
    const sweeper = sweepersOf(ports()).find(({ name }) => name === 'delivery-reports');
    const room = { now: new Date(), limit: 10, except: [], ofOneMailbox: 1, busy: [] };
    for (const task of (await sweeper?.find(room)) ?? []) await sweeper?.settle(task);
  };
  const reported = (id: string, count: number): Promise<void> =>
    eventually(async () => {
      await search();
      expect((await reportsOf(id)).length).to.equal(count);
    }, 20_000);

  /** It is paused: what is told to it is queued and waits. */
  const listening = async (): Promise<string> => {
    const { personal, events, ids } = ports();
    const { orgId } = world.gateway.tokens;
    const id = ids.newId('whk');
    const sealed = await personal.seal(world.mailboxId, 'https://hooks.example.com/');
    const data = {
      url: sealed,
      description: null,
      event_types: ['message.bounced' as const],
      mailbox_ids: [world.mailboxId],
      payload: 'thin' as const,
      rights_of: 'usr_1',
      created_by: 'usr_1',
      secret_id: 'whs_1',
      secret_hint: sealed,
    };
    await happened(
      events,
      `webhookEndpoint-${id}`,
      [
        { type: 'WebhookEndpointCreated', data },
        { type: 'WebhookEndpointPaused', data: {} },
      ],
      sampleAuthor(orgId),
    );
    return id;
  };
  /** What was queued for the endpoint, in the order of its numbers. */
  const told = async (endpointId: string) => {
    const stored = await ports().events.readStream(QUEUE_STREAM);
    return stored.flatMap(({ data }) => {
      const { notifications, deliveries } = data as unknown as DeliveriesQueued;
      return deliveries
        .filter(({ endpoint_id }) => endpoint_id === endpointId)
        .map(({ notification, sequence }) => ({ sequence, ...notifications[notification] }));
    });
  };

  it(`are told once, with the draft that was sent ${verifies('contract:11:bounced')}`, async () => {
    const endpointId = await listening();
    const late = await sent();
    await arrives(DELIVERY_REPORTS.postfixDelayed(late.messageId));
    await reported(late.id, 1);
    const { id, messageId } = await sent();
    const raw = DELIVERY_REPORTS.postfix(messageId);
    await arrives(raw);
    await eventually(async () => {
      await search();
      expect((await told(endpointId)).length).to.equal(1);
    }, 20_000);
    const [event] = await reportsOf(id);
    const [delivery] = await told(endpointId);
    expect(delivery).to.deep.include({ event_type: 'message.bounced', sequence: 1 });
    expect(delivery?.data).to.deep.equal({
      mailbox_id: world.mailboxId,
      draft_id: id,
      message_id: event?.data['report_message_id'],
      recipients: [{ action: 'failed', status: '5.1.1' }],
      failed: 1,
    });
    const report = await world.gateway.rest(
      'GET',
      `/mailboxes/${world.mailboxId}/messages/${String(event?.data['report_message_id'])}`,
    );
    expect((report.body as { subject: string }).subject).to.equal('Undelivered Mail Returned to Sender');
    // The same report somewhere else, as when another client moves it.
    await arrives(raw, 'Sent');
    await arrives(DELIVERY_REPORTS.qmail(messageId));
    await reported(id, 2);
    await eventually(async () => {
      expect((await told(endpointId)).length).to.equal(2);
    });
    expect(JSON.stringify((await reportsOf(id)).map(({ data }) => data))).not.to.match(
      /bob@|robert|No such user|the_boundary/,
    );
  });

  it('stand in the draft, in words only for those who may read it', async () => {
    const { id, messageId } = await sent();
    await arrives(DELIVERY_REPORTS.gmail(messageId).replace('gmail@mx', `${randomUUID()}@mx`));
    await reported(id, 1);
    const { body } = await world.gateway.rest('GET', `/drafts/${id}`);
    expect(body.status).to.equal('sent');
    expect(body.delivery_reports).to.have.length(1);
    expect(body.delivery_reports[0]).to.deep.include({
      recipient: 'bob@example.net',
      action: 'failed',
      status: '5.1.1',
      diagnostic: '550-5.1.1 The email account that you tried to reach does not exist.',
      remote_mta: null,
    });
  });

  it('count for nothing when they name a message that the mailbox did not send', async () => {
    const { id, messageId } = await sent();
    await arrives(DELIVERY_REPORTS.exim(`${randomUUID()}@example.com`));
    // Searched after it, and so the end of the search.
    await arrives(DELIVERY_REPORTS.sendmail(messageId));
    await reported(id, 1);
    const bounced = (await ports().events.readStream(`draft-${id}`)).at(-1);
    expect(bounced?.data['recipients']).to.have.length(1);
  });
});

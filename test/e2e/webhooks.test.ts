import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { appendMessages } from '../support/servers/mail-append.ts';
import { httpSink, type Received, type Sink } from '../support/servers/webhook-sinks.ts';
import { eventually, type Json, startWithMailbox, type TestGateway } from '../support/worlds/gateway.ts';
import { signInNew, signInOwner, type SignedInPerson } from '../support/worlds/sign-in.ts';
import { verifies } from '../support/suite/verifies.ts';

const raw = (subject: string): string =>
  `From: Берта <berta@example.org>\r\nTo: anna@example.com\r\nSubject: ${subject}\r\nMessage-ID: <${subject}@example.org>\r\n\r\nThe secret body.\r\n`;

describe('webhooks over REST', function () {
  this.timeout(120_000);
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let mailboxId: string;
  let owner: SignedInPerson;
  let sink: Sink;
  let received: Received[] = [];
  let status = 200;
  before(async function () {
    dovecot = await requireTestDovecot(this);
    ({ gateway, mailboxId } = await startWithMailbox(dovecot, {
      env: { EGRESS_ALLOW_WEBHOOKS: '127.0.0.0/8:*', WEBHOOK_RETRY_AFTER_SECONDS: '1,1,1' },
    }));
    owner = await signInOwner(gateway);
    sink = await httpSink((request, response) => {
      received.push(request);
      response.writeHead(status).end('thanks <b>a lot</b>');
    });
  });
  after(async () => {
    await sink[Symbol.asyncDispose]();
    await gateway.stop();
    await dovecot.dispose();
  });
  beforeEach(() => {
    received = [];
    status = 200;
  });
  afterEach(async () => {
    const { body } = await owner.rest('GET', '/webhook-endpoints');
    for (const { id } of body.items as { id: string }[])
      await owner.rest('DELETE', `/webhook-endpoints/${id}`);
  });

  const create = async (changes: object = {}): Promise<Json> => {
    const wanted = { url: sink.url, event_types: ['*'], mailbox_ids: [mailboxId], ...changes };
    const { status: code, body, headers } = await owner.rest('POST', '/webhook-endpoints', wanted);
    expect(code, JSON.stringify(body)).to.equal(201);
    expect(headers.get('location')).to.contain(body.id);
    return body;
  };
  const arrive = (subject: string): Promise<unknown> =>
    appendMessages(dovecot.imap(), 'anna', [{ raw: raw(subject) }]);
  const payloads = (type: string): readonly Json[] =>
    received.map(({ body }) => JSON.parse(body)).filter((payload) => payload.type === type);
  const delivered = (type: string, count = 1): Promise<readonly Json[]> =>
    eventually(() => {
      const found = payloads(type);
      return found.length >= count
        ? Promise.resolve(found)
        : Promise.reject(new Error(`${String(found.length)} of ${type}`));
    });
  const deliveries = (query: string, count = 1): Promise<readonly Json[]> =>
    eventually(async () => {
      const { body } = await owner.rest('GET', `/deliveries?${query}`);
      if (body.items.length < count) throw new Error(`${String(body.items.length)} deliveries`);
      return body.items as Json[];
    });

  /** Resolves when a wait for this id has begun. */
  const watched = (id: string): Promise<void> => {
    const { feed } = gateway.gateway.ports;
    const watch = feed.watch.bind(feed);
    return new Promise((resolve) => {
      feed.watch = (ids, signal) => {
        if (ids.includes(id)) {
          feed.watch = watch;
          resolve();
        }
        return watch(ids, signal);
      };
    });
  };

  it(`sends a new mail once, signed, and lists the attempt ${verifies('contract:17:route-webhook-endpoints', 'contract:17:route-deliveries', 'contract:11:attempts', 'contract:11:deliveries')}`, async () => {
    const { id, secret } = await create();
    await arrive('first');
    const [payload] = await delivered('message.received');
    const [request] = received;
    if (request === undefined) throw new Error('nothing received');
    const headers = request.headers as Record<string, string>;
    expect(new Webhook(secret).verify(request.body, headers)).to.deep.equal(payload);
    expect(payload).to.include({ type: 'message.received', sequence: 1 });
    expect(payload.data).to.include({ mailbox_id: mailboxId });
    expect(request.body).not.to.contain('secret body').and.not.to.contain('berta');
    const [listed] = await deliveries(`endpoint_id=${id}&status=succeeded&event_type=message.received`);
    expect(listed).to.deep.include({
      endpoint_id: id,
      event_id: headers['webhook-id'],
      attempt: 1,
      trigger: 'event',
      status: 'succeeded',
      http_status: 200,
      response_excerpt: 'thanks <b>a lot</b>',
      next_delivery_id: null,
    });
    const one = await owner.rest('GET', `/deliveries/${String(listed.id)}`);
    expect(one.body).to.deep.equal(listed);
    const future = new Date(Date.now() + 3_600_000).toISOString();
    expect((await owner.rest('GET', `/deliveries?from=${future}`)).body.items).to.deep.equal([]);
    expect((await owner.rest('GET', `/deliveries?endpoint_id=whk_other`)).body.items).to.deep.equal([]);
    expect(payloads('message.received')).to.have.length(1);
    const shown = await owner.rest('GET', `/webhook-endpoints/${String(id)}`);
    expect(shown.headers.get('etag')).to.equal('"1"');
    const audit = await owner.rest('GET', `/audit?resource=${String(listed.id)}`);
    expect(audit.body.items.map(({ type }: Json) => type)).to.include('WebhookDeliveryEnded');
  });

  it(`adds sender and subject when the endpoint asks for a summary ${verifies('contract:11:payload')}`, async () => {
    await create({ payload: 'summary', event_types: ['message.received'] });
    await arrive('summary');
    const [payload] = await delivered('message.received');
    expect(payload.data.message).to.deep.include({ subject: 'summary' });
    expect(JSON.stringify(payload)).to.contain('berta@example.org').and.not.to.contain('secret body');
  });

  it(`retries until the endpoint succeeds, under one webhook-id and number ${verifies('contract:11:retries')}`, async () => {
    const { id } = await create({ event_types: ['message.received'] });
    status = 500;
    await arrive('retried');
    await delivered('message.received', 1);
    status = 204;
    await delivered('message.received', 2);
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).to.equal(1);
    const rows = await deliveries(`endpoint_id=${String(id)}&status=succeeded`);
    expect(rows[0]).to.include({ attempt: 2, trigger: 'retry', http_status: 204 });
    const [failed] = await deliveries(`endpoint_id=${String(id)}&status=failed`);
    expect(failed).to.deep.include({
      http_status: 500,
      error: { code: 'http_status' },
      next_delivery_id: rows[0].id,
    });
  });

  it(`replays a delivery and everything since a time ${verifies('contract:17:route-replay')}`, async () => {
    const { id } = await create({ event_types: ['message.received'] });
    const since = new Date(Date.now() - 60_000).toISOString();
    await arrive('again');
    const [row] = await deliveries(`endpoint_id=${String(id)}&status=succeeded`);
    const path = `/deliveries/${String(row.id)}/replay`;
    expect((await owner.rest('POST', path, {})).body.error.code).to.equal('idempotency_key_required');
    const again = await owner.rest('POST', path, {}, { key: 'replay-1' });
    expect(again.status).to.equal(201);
    expect(again.body).to.include({ replay_of: row.id, event_id: row.event_id, trigger: 'replay' });
    const [first, second] = await delivered('message.received', 2);
    expect(second).to.deep.equal(first);
    await deliveries(`endpoint_id=${String(id)}&status=succeeded`, 2);
    const all = await owner.rest(
      'POST',
      `/webhook-endpoints/${String(id)}/replay`,
      { since, status: 'succeeded' },
      { key: 'replay-2' },
    );
    expect([all.status, all.body]).to.deep.equal([202, { count: 1 }]);
    await delivered('message.received', 3);
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).to.equal(1);
  });

  it(`tests an endpoint, rotates its secret, pauses and resumes it ${verifies('contract:17:route-webhook-test', 'contract:17:route-rotate-secret', 'contract:11:paused')}`, async () => {
    const { id, secret } = await create({ event_types: ['message.received'] });
    const path = `/webhook-endpoints/${String(id)}`;
    const tested = await owner.rest('POST', `${path}/test`, {});
    expect(tested.body).to.include({ status: 'succeeded', trigger: 'test', http_status: 200 });
    const rotated = await owner.rest('POST', `${path}/rotate-secret`, { overlap_seconds: 60 });
    await owner.rest('POST', `${path}/test`, {});
    const last = received.at(-1);
    for (const key of [secret, rotated.body.secret as string])
      new Webhook(key).verify(last?.body ?? '', last?.headers as Record<string, string>);
    await owner.rest('PATCH', path, { status: 'paused' });
    await arrive('while paused');
    await deliveries(`endpoint_id=${String(id)}&status=scheduled`);
    expect(payloads('message.received')).to.deep.equal([]);
    await owner.rest('PATCH', path, { status: 'active' });
    await delivered('message.received');
  });

  it(`waits for the end of deliveries ${verifies('contract:11:await-delivery')}`, async () => {
    const { id } = await create({ event_types: ['message.received'] });
    await owner.rest('PATCH', `/webhook-endpoints/${String(id)}`, { status: 'paused' });
    await arrive('awaited');
    const [row] = await deliveries(`endpoint_id=${String(id)}&status=scheduled`);
    const ask = { for: 'delivery', delivery_ids: [row.id], timeout_seconds: 20 };
    const waiting = owner.rest('POST', `/mailboxes/${mailboxId}/email.await`, ask);
    await owner.rest('PATCH', `/webhook-endpoints/${String(id)}`, { status: 'active' });
    const answer = await waiting;
    expect(answer.body.status, JSON.stringify(answer.body)).to.equal('matched');
    expect(answer.body.items).to.have.length(1);
    expect(answer.body.items[0]).to.include({ id: row.id, status: 'succeeded' });
    const more = { ...ask, cursor: answer.body.cursor as string, timeout_seconds: 0 };
    const after = await owner.rest('POST', `/mailboxes/${mailboxId}/email.await`, more);
    expect(after.body).to.include({ status: 'timed_out' });
  });

  it('ends the wait for a delivery when its endpoint is deleted', async () => {
    const { id } = await create({ event_types: ['message.received'] });
    await owner.rest('PATCH', `/webhook-endpoints/${String(id)}`, { status: 'paused' });
    await arrive('never sent');
    const [row] = await deliveries(`endpoint_id=${String(id)}&status=scheduled`);
    const ask = { for: 'delivery', delivery_ids: [row.id], timeout_seconds: 20 };
    const begun = watched(String(row.id));
    const waiting = owner.rest('POST', `/mailboxes/${mailboxId}/email.await`, ask);
    await begun;
    await owner.rest('DELETE', `/webhook-endpoints/${String(id)}`);
    const { body } = await waiting;
    expect(body.status, JSON.stringify(body)).to.equal('matched');
    expect(body.items[0]).to.deep.include({ status: 'cancelled', error: { code: 'endpoint_removed' } });
  });

  it('refuses addresses that are not public, and people without the scope', async () => {
    for (const url of ['https://10.0.0.1/hook', 'https://[::ffff:169.254.169.254]/hook']) {
      const { status: code, body } = await owner.rest('POST', '/webhook-endpoints', {
        url,
        event_types: ['*'],
      });
      expect([code, body.error.code], url).to.deep.equal([422, 'target_blocked']);
    }
    for (const url of ['ftp://example.com', 'not a url', 'https://user:pass@example.com/']) {
      const { status: code, body } = await owner.rest('POST', '/webhook-endpoints', {
        url,
        event_types: ['*'],
      });
      expect([code, body.error.details.issues[0].path], url).to.deep.equal([400, 'url']);
    }
    const member = await signInNew(gateway, 'member');
    expect((await member.rest('GET', '/webhook-endpoints')).status).to.equal(403);
    expect((await member.rest('GET', '/deliveries')).status).to.equal(403);
  });
});

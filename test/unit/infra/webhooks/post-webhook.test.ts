import { expect } from 'chai';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import type { WebhookResponse } from '../../../../commands/ports/webhook-port.ts';
import { createEgressGuard, type Resolve, WEBHOOK_EGRESS } from '../../../../infra/egress/egress-guard.ts';
import { systemClock } from '../../../../infra/platform/system-clock.ts';
import { newWebhookSecret } from '../../../../infra/security/webhook-secrets.ts';
import { PooledWebhookSender } from '../../../../infra/webhooks/post-webhook.ts';
import { selfSigned } from '../../../support/servers/self-signed.ts';
import { drip, httpSink, httpsSink, type Received, tcpSink } from '../../../support/servers/webhook-sinks.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const DEADLINE_MS = 400;
const ID = 'evt_01h2xcejqtf2nbrexx3vqjhp41';

describe('one POST of a webhook', () => {
  const secret = newWebhookSecret();
  let sender: PooledWebhookSender;

  const open = (
    options: { allow?: string[]; resolve?: Resolve; extraCertificates?: string[]; deadlineMs?: number } = {},
  ): PooledWebhookSender => {
    const { allow = ['127.0.0.1/32:*'], resolve, ...rest } = options;
    return new PooledWebhookSender({
      guard: createEgressGuard(allow, resolve, WEBHOOK_EGRESS),
      clock: systemClock,
      deadlineMs: DEADLINE_MS,
      userAgent: 'mailbox-gateway/test',
      ...rest,
    });
  };
  const post = (url: string, body = '{"type":"message.received"}'): Promise<WebhookResponse> =>
    sender.post({ endpointId: 'whk_1', url, id: ID, body, secrets: [secret] });
  const inTime = async (url: string): Promise<WebhookResponse> => {
    const from = performance.now();
    const response = await post(url);
    expect(performance.now() - from).to.be.lessThan(DEADLINE_MS + 8_000);
    return response;
  };

  beforeEach(() => {
    sender = open();
  });
  afterEach(() => sender.close());

  it('carries body, id, time and signature, and keeps the connection', async () => {
    const received: Received[] = [];
    await using sink = await httpSink((request, response) => {
      received.push(request);
      response.end('thanks');
    });
    const body = JSON.stringify({ type: 'message.received', data: { subject: 'Grüße 日本語' } });
    const first = await post(sink.url, body);
    expect(first).to.include({ status: 'succeeded', httpStatus: 200, error: null, excerpt: 'thanks' });
    await turn();
    await post(sink.url, body);
    expect(sink.accepted()).to.equal(1);
    const [request] = received;
    expect(request?.body).to.equal(body);
    expect(request?.headers).to.include({
      'content-type': 'application/json',
      'user-agent': 'mailbox-gateway/test',
      'webhook-id': ID,
    });
    const headers = request?.headers as Record<string, string>;
    expect(new Webhook(secret).verify(body, headers)).to.deep.equal(JSON.parse(body));
  });

  it('is never sent without a signature', async () => {
    const error = await rejection(
      sender.post({ endpointId: 'whk_1', url: 'https://example.com', id: ID, body: '{}', secrets: [] }),
    );
    expect(error.message).to.include('without a signature');
  });

  for (const [status, expected] of [
    [204, { status: 'succeeded', error: null }],
    [301, { status: 'blocked', error: 'redirect' }],
    [410, { status: 'failed', error: 'http_status' }],
    [500, { status: 'failed', error: 'http_status' }],
  ] as const) {
    it(`is ${expected.status} with ${String(status)}`, async () => {
      await using sink = await httpSink((_, response) => response.writeHead(status).end());
      expect(await post(sink.url)).to.include({ ...expected, httpStatus: status });
    });
  }

  it('reads how long the endpoint asks for a pause', async () => {
    await using sink = await httpSink(({ body }, response) => {
      response.writeHead(503, { 'retry-after': body }).end();
    });
    expect((await post(sink.url, '120')).retryAfterSeconds).to.equal(120);
    const at = new Date(Date.now() + 90_000).toUTCString();
    expect((await post(sink.url, at)).retryAfterSeconds).to.be.within(85, 91);
    expect((await post(sink.url, 'soon')).retryAfterSeconds).to.equal(null);
  });

  it('takes what follows early hints as the answer', async () => {
    await using sink = await httpSink((_, response) => {
      response.writeEarlyHints({ link: '</style.css>; rel=preload' });
      response.writeHead(500).end('no');
    });
    expect(await post(sink.url)).to.include({ status: 'failed', httpStatus: 500, excerpt: 'no' });
  });

  it('keeps 1 KiB of the answer, without half a character', async () => {
    await using sink = await httpSink((_, response) => response.end('€'.repeat(1_000)));
    expect((await post(sink.url)).excerpt).to.equal('€'.repeat(341));
  });

  it(`follows no redirect, to this machine or elsewhere ${verifies('contract:11:no-redirects')}`, async () => {
    let asked = 0;
    await using target = await httpSink((_, response) => {
      asked += 1;
      response.end();
    });
    await using sink = await httpSink((_, response) =>
      response.writeHead(307, { location: target.url }).end(),
    );
    expect(await post(sink.url)).to.include({ status: 'blocked', error: 'redirect', httpStatus: 307 });
    expect(asked).to.equal(0);
  });

  describe('ends by its deadline when the endpoint', () => {
    it('accepts and says nothing', async () => {
      await using sink = await tcpSink(() => undefined);
      expect(await inTime(sink.url)).to.include({ status: 'failed', error: 'timeout', httpStatus: null });
    });

    it('sends its headers byte by byte', async () => {
      await using sink = await tcpSink((socket) => {
        socket.write('HTTP/1.1 200 OK\r\nx: ');
        drip(socket, 'y', 20);
      });
      expect(await inTime(sink.url)).to.include({ status: 'failed', error: 'timeout' });
    });

    it(`sends its body byte by byte ${verifies('contract:11:deadline')}`, async () => {
      await using sink = await tcpSink((socket) => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 60000\r\n\r\n');
        drip(socket, 'y', 20);
      });
      expect(await inTime(sink.url)).to.include({ status: 'failed', error: 'timeout', httpStatus: 200 });
    });

    it('has a name that is never looked up', async () => {
      await sender.close();
      sender = open({ resolve: () => new Promise(() => undefined) });
      expect(await inTime('https://slow.example.com/')).to.include({ status: 'failed', error: 'timeout' });
    });

    it('does not finish the TLS handshake', async () => {
      await using sink = await tcpSink(() => undefined);
      expect(await inTime(sink.url.replace('http:', 'https:'))).to.include({ error: 'timeout' });
    });
  });

  it('cuts an answer without end, and its connection', async () => {
    const closed = Promise.withResolvers<undefined>();
    await using sink = await tcpSink((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
      drip(socket, `4000\r\n${'y'.repeat(0x4000)}\r\n`, 1);
      socket.once('close', () => {
        closed.resolve(undefined);
      });
    });
    expect(await inTime(sink.url)).to.include({ status: 'succeeded', httpStatus: 200 });
    await closed.promise;
  });

  it('distinguishes a reset, a refusal, what is no HTTP and a half answer', async () => {
    await using resets = await tcpSink((socket) => {
      socket.once('data', () => socket.resetAndDestroy());
    });
    expect(await inTime(resets.url)).to.include({ status: 'failed', error: 'connection_reset' });
    await using closes = await tcpSink((socket) => {
      socket.once('data', () => socket.end());
    });
    expect(await inTime(closes.url)).to.include({ error: 'connection_reset' });
    const gone = await tcpSink(() => undefined);
    await gone[Symbol.asyncDispose]();
    expect(await inTime(gone.url)).to.include({ error: 'connection_refused' });
    await using garbles = await tcpSink((socket) => socket.end('220 mail.example.com ESMTP\r\n'));
    expect(await inTime(garbles.url)).to.include({ error: 'protocol_error' });
    await using halves = await tcpSink((socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf'));
    });
    expect(await inTime(halves.url)).to.include({ error: 'connection_reset', httpStatus: 200 });
  });

  it('refuses a certificate it does not trust, or one for another name', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'webhook-tls-'));
    const { keyFile, certificateFile } = await selfSigned(folder, 'hooks.example.com');
    const mine = { key: await readFile(keyFile, 'utf8'), cert: await readFile(certificateFile, 'utf8') };
    await rm(folder, { recursive: true });
    const resolve: Resolve = () => Promise.resolve(['127.0.0.1']);
    await using sink = await httpsSink((_, response) => response.end(), mine);
    expect(await inTime(sink.url)).to.include({ status: 'failed', error: 'tls_failed' });
    await sender.close();
    sender = open({ resolve, extraCertificates: [mine.cert] });
    const at = (name: string): string => `https://${name}:${String(sink.port)}/hook`;
    expect(await post(at('hooks.example.com'))).to.include({ status: 'succeeded' });
    expect(await post(at('other.example.com'))).to.include({ status: 'failed', error: 'tls_failed' });
  });

  it(`looks a name up once for each connection, and connects to what it vetted ${verifies('contract:11:egress')}`, async () => {
    await using sink = await httpSink((_, response) =>
      response.writeHead(200, { connection: 'close' }).end(),
    );
    const answers = [['127.0.0.1'], ['127.0.0.2'], ['127.0.0.1', '10.0.0.1']];
    let asked = 0;
    await sender.close();
    sender = open({
      resolve: () => {
        asked += 1;
        return Promise.resolve(answers[asked - 1] ?? []);
      },
    });
    const url = `http://rebinding.example.com:${String(sink.port)}/hook`;
    expect(await post(url)).to.include({ status: 'succeeded' });
    for (let n = 0; n < 2; n += 1)
      expect(await post(url)).to.include({ status: 'blocked', error: 'target_blocked', httpStatus: null });
    expect(asked).to.equal(3);
    expect(await post(url)).to.include({ status: 'failed', error: 'dns_failed' });
    expect(sink.accepted()).to.equal(1);
  });

  describe('to an address that is not public', () => {
    const closed = [
      'https://127.0.0.1', 'https://127.1', 'https://2130706433', 'https://0x7f.1', 'https://017700000001',
      'https://127.0.0.1.', 'https://①②⑦.0.0.1', 'https://0', 'https://[::1]', 'https://[::]', 'https://[::127.0.0.1]',
      'https://[::ffff:127.0.0.1]', 'https://[::ffff:7f00:1]', 'https://[64:ff9b::7f00:1]', 'https://[2002:7f00:1::]',
      'https://10.0.0.1', 'https://169.254.169.254', 'https://[fd00::1]', 'https://[fe80::1]',
      'http://8.8.8.8', 'https://8.8.8.8:8443', 'http://127.0.0.1:8080',
    ]; // prettier-ignore

    for (const url of closed) {
      it(`is blocked, and refused as an endpoint: ${url} ${verifies('contract:11:egress')}`, async () => {
        await sender.close();
        sender = open({ allow: [] });
        expect(await inTime(url)).to.include({ status: 'blocked', error: 'target_blocked' });
        expect(await rejection(sender.vet(url))).to.have.property('code', 'target_blocked');
      });
    }
  });

  it('refuses as an endpoint what is no https URL, or carries a password', async () => {
    for (const url of [
      'nowhere',
      'ftp://example.com',
      'https://user:pass@example.com',
      'http://example.com:443',
    ])
      expect(await rejection(sender.vet(url)), url).to.have.property('code', 'invalid_request');
  });

  it('takes an endpoint whose name does not resolve yet', async () => {
    await sender.close();
    sender = open({ resolve: () => Promise.resolve([]) });
    await sender.vet('https://soon.example.com/hook');
  });

  it(`does not wait for another endpoint that hangs ${verifies('contract:11:fair-share')}`, async () => {
    await using hangs = await tcpSink(() => undefined);
    await using sink = await httpSink((_, response) => response.end());
    await sender.close();
    sender = open({ deadlineMs: 5_000 });
    const slow = Array.from({ length: 12 }, () => post(hangs.url));
    const first = Promise.race(slow).then(() => 'it waited');
    const quick = sender.post({ endpointId: 'whk_2', url: sink.url, id: ID, body: '{}', secrets: [secret] });
    expect(await Promise.race([first, quick])).to.include({ status: 'succeeded' });
    for (const response of await Promise.all(slow)) expect(response.error).to.equal('timeout');
  });
});

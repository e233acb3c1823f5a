import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { SMTPServer } from 'smtp-server';
import type { HostSettings } from '../../../../commands/ports/mail-port.ts';
import {
  SubmissionFailure,
  type SubmissionFailureFacts,
} from '../../../../commands/ports/submission-port.ts';
import { createEgressGuard } from '../../../../infra/egress/egress-guard.ts';
import { SmtpGateway } from '../../../../infra/smtp/smtp-gateway.ts';
import { selfSigned } from '../../../support/servers/self-signed.ts';

const ENVELOPE = { from: 'anna@example.com', to: ['bob@example.org'] };
const MESSAGE = Buffer.from('Subject: hello\r\n\r\nHello\r\n');

/** How a server met the credentials or the message: in the clear or not. */
interface Met {
  readonly what: 'login' | 'message';
  readonly isProtected: boolean;
}

const PROTECTED: readonly Met[] = [
  { what: 'login', isProtected: true },
  { what: 'message', isProtected: true },
];

describe('submission over SMTP with TLS', function () {
  this.timeout(60_000);
  let folder: string;
  let cert: string;
  let server: SMTPServer;
  let met: Met[];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'smtp-tls-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const serve = async (secure: boolean): Promise<void> => {
    const { certificateFile, keyFile } = await selfSigned(folder);
    cert = await readFile(certificateFile, 'utf8');
    met = [];
    server = new SMTPServer({
      cert,
      key: await readFile(keyFile, 'utf8'),
      secure,
      // It would take credentials in the clear, so that only the client keeps them from it.
      allowInsecureAuth: true,
      disableReverseLookup: true,
      onAuth: ({ username }, session, done) => {
        met.push({ what: 'login', isProtected: session.secure });
        done(null, { user: username });
      },
      onData: (stream, session, done) => {
        met.push({ what: 'message', isProtected: session.secure });
        stream.resume().once('end', () => {
          done();
        });
      },
    });
    server.on('error', () => undefined);
    server.listen(0, '127.0.0.1');
    await once(server.server, 'listening');
  };

  afterEach(
    () =>
      new Promise<void>((resolve) => {
        server.close(resolve);
      }),
  );

  const portOf = (listening: Pick<Server, 'address'>): number => (listening.address() as AddressInfo).port;

  const submit = async (smtp: HostSettings, extraCertificates: readonly string[]): Promise<void> => {
    const gateway = new SmtpGateway({
      loadSettings: () =>
        Promise.resolve({ smtp, login: { kind: 'password', username: 'anna', password: 'open-sesame-42' } }),
      login: { guard: createEgressGuard(['127.0.0.0/8:*']), extraCertificates, connectTimeoutMs: 5_000 },
      atOnce: 1,
      limits: { phaseTimeoutMs: 5_000, messageTimeoutMs: 10_000, waitMs: 100 },
    });
    const submission = await gateway.connect('mbx_test');
    try {
      await submission.begin(ENVELOPE, { size: MESSAGE.length, needsSmtpUtf8: false });
      await submission.transmit(content());
    } finally {
      submission.close();
    }
  };

  const failureOf = async (work: Promise<unknown>): Promise<SubmissionFailureFacts> => {
    try {
      await work;
    } catch (error) {
      if (error instanceof SubmissionFailure) return error.facts;
      throw error;
    }
    throw new Error('nothing failed');
  };

  for (const security of ['starttls', 'tls'] as const) {
    const settings = (host = 'localhost'): HostSettings => ({ host, port: portOf(server.server), security });

    it(`logs in and sends only inside TLS, by ${security}`, async () => {
      await serve(security === 'tls');
      await submit(settings(), [cert]);
      expect(met).to.deep.equal(PROTECTED);
    });

    it(`sends credentials to no unknown certificate and no other name, by ${security}`, async () => {
      await serve(security === 'tls');
      for (const [host, known] of [
        ['localhost', []],
        ['127.0.0.1', [cert]],
      ] as const) {
        const facts = await failureOf(submit(settings(host), known));
        expect(facts).to.include({ phase: 'connect', verdict: 'later', code: 'mailbox_unavailable' });
      }
      expect(met).to.deep.equal([]);
    });
  }

  it('ignores everything the server sent before TLS began (RFC 3207 4.2)', async () => {
    await serve(false);
    const words: string[] = [];
    const meddler = createServer((client) => {
      meddle(client, portOf(server.server), words);
    });
    meddler.listen(0, '127.0.0.1');
    await once(meddler, 'listening');
    try {
      const smtp: HostSettings = { host: 'localhost', port: portOf(meddler), security: 'starttls' };
      // A SIZE of 1 would refuse the message.
      await submit(smtp, [cert]);
      expect(words).to.deep.equal(['EHLO [127.0.0.1]\r\n', 'STARTTLS\r\n']);
      expect(met).to.deep.equal(PROTECTED);
    } finally {
      meddler.close();
    }
  });
});

/** A man in the middle who adds an answer in the clear to the one that begins TLS, and notes what the client says in the clear. */
function meddle(client: Socket, port: number, words: string[]): void {
  let isInTls = false;
  const onwards = connect(port, '127.0.0.1');
  client.on('data', (chunk: Buffer) => {
    if (!isInTls) words.push(chunk.toString('latin1'));
    onwards.write(chunk);
  });
  onwards.on('data', (chunk: Buffer) => {
    const begins =
      !isInTls && words.join('').includes('STARTTLS') && chunk.toString('latin1').startsWith('220');
    if (begins) isInTls = true;
    client.write(
      begins ? Buffer.concat([chunk, Buffer.from('250-mail.example.com\r\n250 SIZE 1\r\n')]) : chunk,
    );
  });
  for (const [socket, other] of [
    [client, onwards],
    [onwards, client],
  ] as const) {
    socket.on('error', () => undefined);
    socket.on('close', () => other.destroy());
  }
}

async function* content(): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(MESSAGE);
}

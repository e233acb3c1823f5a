import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { ByteAnswer } from '../../../../commands/values/byte-streams.ts';
import { ClientGone } from '../../../../read-api/http/request-body.ts';
import { sendBytes } from '../../../../read-api/http/send-bytes.ts';

const STALLED_MS = 100;

const answerOf = (read: ByteAnswer['read']): ByteAnswer => ({
  ...{ contentType: 'text/plain', filename: null, knownLength: null },
  length: () => Promise.resolve(3),
  read,
});

describe('bytes as an answer', () => {
  let end: () => void;

  /** The answer to one request, and what became of sending it. */
  const ask = async (
    answer: ByteAnswer,
    headers: Record<string, string> = {},
  ): Promise<{
    readonly sent: Promise<unknown>;
    readonly answered: Promise<IncomingMessage>;
    readonly leave: () => void;
  }> => {
    const { promise: sent, resolve } = Promise.withResolvers<unknown>();
    const server = createServer((request, response) => {
      resolve(sendBytes(request, response, answer, STALLED_MS).catch((error: unknown) => error));
    }).listen(0, '127.0.0.1');
    end = () => {
      server.closeAllConnections();
      server.close();
    };
    await once(server, 'listening');
    const asked = get({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', headers });
    asked.on('error', () => undefined);
    const answered = once(asked, 'response').then(([response]) => response as IncomingMessage);
    return { sent, answered, leave: () => asked.destroy() };
  };
  const textOf = async (answered: Promise<IncomingMessage>): Promise<string> =>
    (await (await answered).setEncoding('utf8').toArray()).join('');

  afterEach(() => {
    end();
  });

  it('waits for bytes that are slow to read', async () => {
    const { answered } = await ask(
      answerOf(async function* () {
        yield Buffer.from('a');
        await sleep(4 * STALLED_MS);
        yield Buffer.from('b');
      }),
    );
    expect(await textOf(answered)).to.equal('ab');
  });

  it('ends with a client that takes nothing', async () => {
    const { sent, answered } = await ask(
      answerOf(async function* () {
        for (let piece = 0; piece < 1_000; piece += 1) yield await Promise.resolve(Buffer.alloc(1_000_000));
      }),
    );
    (await answered).pause();
    expect(await sent).to.be.instanceOf(ClientGone);
  });

  it('gives all that this request made, whatever range it names', async () => {
    const answer = answerOf(async function* (from) {
      yield await Promise.resolve(Buffer.from('abc').subarray(from));
    });
    const headers = { range: 'bytes=1-' };
    const part = await (await ask(answer, headers)).answered;
    expect([part.statusCode, part.headers['accept-ranges']]).to.deep.equal([206, 'bytes']);
    end();
    const { answered } = await ask({ ...answer, isNew: true }, headers);
    const whole = await answered;
    expect([whole.statusCode, whole.headers['accept-ranges']]).to.deep.equal([200, 'none']);
    expect(await textOf(answered)).to.equal('abc');
  });

  it('ends with a client that leaves while what it has is read again', async () => {
    const isRead = Promise.withResolvers<undefined>();
    const { sent, leave, answered } = await ask(
      answerOf(async function* (_, gone) {
        isRead.resolve(undefined);
        for (let piece = 0; piece < 1_000; piece += 1) {
          gone?.throwIfAborted();
          await sleep(10);
        }
        yield Buffer.from('c');
      }),
      { range: 'bytes=2-' },
    );
    answered.catch(() => undefined);
    await isRead.promise;
    leave();
    expect(await sent).to.be.instanceOf(ClientGone);
  }).timeout(5_000);
});

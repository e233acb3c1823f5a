import { once } from 'node:events';
import http, { type Server } from 'node:http';
import net, { type AddressInfo, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { BODY_PACE, holdToPace, timeForMs } from '../../../../infra/http/http-server.ts';
import { type RestStage, startRestStage } from '../../../support/worlds/rest/rest-stage.ts';

const MIB = 1024 * 1024;
const PACE = { graceMs: 300, bytesPerSecond: 20_000 };
const HEAD = 'POST /read HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

describe('the pace of a request body', () => {
  let server: Server;
  let socket: Socket;
  let answer: string;
  let begin: number;

  /** `/read` answers the length of the body once it is there, anything else at once, its body unread. */
  beforeEach(async () => {
    server = http.createServer((request, response) => {
      holdToPace(request, response, PACE);
      if (request.url !== '/read') response.end('answered');
      else
        buffer(request).then(
          ({ length }) => response.end(`read ${String(length)}`),
          () => undefined,
        );
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    socket = net.connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.on('error', () => undefined);
    answer = '';
    socket.setEncoding('utf8').on('data', (text: string) => (answer += text));
    begin = performance.now();
  });
  afterEach(async () => {
    socket.destroy();
    server.close();
    await once(server, 'close');
  });

  /** Writes a piece now and then until the connection ends; the time it lasted. */
  const dribble = async (piece: string): Promise<number> => {
    // Not `once`, which fails with the socket: writing to a connection that was ended resets it.
    const closed = new Promise<number>((resolve) => {
      socket.on('close', () => {
        resolve(performance.now() - begin);
      });
    });
    for (let n = 0; n < 100 && !socket.destroyed; n += 1) {
      socket.write(piece);
      await pause(50);
    }
    return await closed;
  };

  it('allows more time for a body that keeps arriving', async () => {
    socket.write(HEAD);
    for (let n = 0; n < 10; n += 1) {
      socket.write(chunk('x'.repeat(10_000)));
      await pause(100);
    }
    socket.write('0\r\n\r\n');
    await once(socket, 'data');
    expect(performance.now() - begin).to.be.greaterThan(3 * PACE.graceMs);
    expect(answer)
      .to.match(/^HTTP\/1\.1 200 /)
      .and.include('read 100000');
  });

  it('ends a body that arrives too slowly', async () => {
    socket.write(HEAD);
    expect(await dribble(chunk('x'))).to.be.within(PACE.graceMs - 10, 4_900);
    expect(answer).to.match(/^HTTP\/1\.1 408 /);
  });

  it('allows no time for data behind the answer', async () => {
    socket.write(HEAD.replace('/read', '/other'));
    expect(await dribble(chunk('x'.repeat(10_000)))).to.be.within(PACE.graceMs - 10, 4_900);
    expect(answer).to.match(/^HTTP\/1\.1 200 /);
  });

  it('allows 25 MiB in 25 minutes, and a minute without any data', () => {
    expect(timeForMs(BODY_PACE, 25 * MIB)).to.be.greaterThan(25 * 60_000);
    expect(timeForMs(BODY_PACE, 1 * MIB)).to.be.lessThan(130_000);
    expect(timeForMs(BODY_PACE, 0)).to.equal(60_000);
  });
});

describe('the HTTP server', () => {
  let stage: RestStage;
  before(async () => {
    stage = await startRestStage({}, { bodyPace: PACE });
  });
  after(() => stage.close());

  const dribbled = async (head: string, piece: string): Promise<string> => {
    const socket = net.connect(stage.server.port, '127.0.0.1');
    socket.on('error', () => undefined);
    let answer = '';
    socket.setEncoding('utf8').on('data', (text: string) => (answer += text));
    socket.write(head);
    for (let n = 0; n < 20 && !socket.destroyed; n += 1) {
      await pause(50);
      socket.write(piece);
    }
    socket.destroy();
    return answer.split('\r\n', 1)[0] ?? '';
  };
  const head = () =>
    `POST /api/v1/notes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${stage.memory.org.restToken}\r\n` +
    'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';

  it('limits bodies by their pace and not by their duration', async () => {
    expect(await dribbled(head(), chunk('x'))).to.match(/^HTTP\/1\.1 408 /);
    expect(await dribbled(head(), chunk('x'.repeat(20_000)))).to.equal('');
  });
});

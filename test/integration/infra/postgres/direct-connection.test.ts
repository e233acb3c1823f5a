import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect } from 'chai';
import {
  endConnection,
  openDirectConnection,
  refuseTransactionPooler,
} from '../../../../infra/postgres/direct-connection.ts';
import { testDatabase } from '../../../support/servers/postgres.ts';
import { freezableProxy } from '../../../contract/event-store/freezable-proxy.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import type { Server } from 'node:net';

/** One message of the Postgres protocol: type, length, body. */
function message(type: string, ...body: Buffer[]): Buffer {
  const content = Buffer.concat(body);
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(content.length + 4, 1);
  return Buffer.concat([head, content]);
}
const int16 = (value: number): Buffer => Buffer.from([value >> 8, value & 0xff]);
const int32 = (value: number): Buffer => Buffer.concat([int16(value >> 16), int16(value & 0xffff)]);
const READY = message('Z', Buffer.from('I'));

/** A pooler that has one backend, number 7, for all its clients. */
function pooler(): Server {
  const column = [Buffer.from('pid\0'), int32(0), int16(0), int32(23), int16(4), int32(-1), int16(0)];
  const answer = [
    message('T', int16(1), ...column),
    message('D', int16(1), int32(1), Buffer.from('7')),
    message('C', Buffer.from('SELECT 1\0')),
    READY,
  ];
  return createServer((socket) => {
    socket.once('data', () => {
      socket.write(Buffer.concat([message('R', int32(0)), READY]));
      socket.on('data', (bytes) => {
        if (bytes.toString('latin1').startsWith('Q')) socket.write(Buffer.concat(answer));
      });
    });
  });
}

describe('openDirectConnection', function () {
  this.timeout(60_000);

  it('survives the loss of its connection and reports it to listeners', async () => {
    const database = await testDatabase({ migrated: false });
    const client = await openDirectConnection(database.url, 'test');
    const lost = new Promise<void>((resolve) => client.once('end', resolve));
    await database.drop();
    await lost;
    expect((await rejection(client.query('select 1'))).message).to.match(/not queryable/);
  });
});

describe('endConnection', function () {
  this.timeout(60_000);

  it('does not wait for a server that does not answer', async () => {
    const database = await testDatabase({ migrated: false });
    const url = new URL(database.url);
    const proxy = await freezableProxy(Number(url.port));
    try {
      url.port = String(proxy.port);
      const [idle, busy] = await Promise.all([
        openDirectConnection(url.href, 'test'),
        openDirectConnection(url.href, 'test'),
      ]);
      proxy.freeze('all');
      const asked = rejection(busy.query('select 1'));
      const startedAt = performance.now();
      await Promise.all([endConnection(idle), endConnection(busy)]);
      expect(performance.now() - startedAt).to.be.below(10_000);
      await asked;
    } finally {
      await proxy.close();
      await database.drop();
    }
  });
});

describe('refuseTransactionPooler', function () {
  this.timeout(60_000);

  it('accepts a Postgres server', async () => {
    const database = await testDatabase({ migrated: false });
    try {
      await refuseTransactionPooler(database.url);
    } finally {
      await database.drop();
    }
  });

  it('refuses an address where two clients get the same backend', async () => {
    const server = pooler().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    try {
      const refused = refuseTransactionPooler(`postgres://gateway@127.0.0.1:${String(port)}/gateway`);
      expect((await rejection(refused)).message).to.match(
        /leads to a transaction pooler: set DATABASE_DIRECT_URL/,
      );
    } finally {
      server.close();
    }
  });
});

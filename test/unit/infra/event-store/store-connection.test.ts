import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { NO_STREAM, jsonEvent } from '@eventstore/db-client';
import { StoreConnection } from '../../../../infra/event-store/store-connection.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { ScriptedNode } from '../../../support/servers/scripted-node.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';

const append = ({ client }: StoreConnection): Promise<unknown> =>
  client.appendToStream(`connected-${randomUUID()}`, jsonEvent({ type: 'Connected', data: {} }), {
    expectedRevision: NO_STREAM,
  });

describe('StoreConnection', () => {
  let node: ScriptedNode;
  beforeEach(async () => {
    node = await ScriptedNode.start();
  });
  afterEach(() => {
    node.stop();
  });

  it('sends nothing after it is retired, not even earlier requests', async () => {
    const connection = new StoreConnection(node.url, silentLog);
    const waiting = rejection(append(connection));
    await connection.retire();
    expect((await waiting).message).to.match(/given up/);
    expect((await rejection(append(connection))).message).to.match(/given up/);
    expect(node.log.events).to.deep.equal([]);
  });

  it('is never shared, however many were opened before', async () => {
    const [first, ...others] = Array.from({ length: 300 }, () => new StoreConnection(node.url, silentLog));
    await Promise.all(others.map((connection) => connection.retire()));
    const later = Array.from({ length: 999 }, () => new StoreConnection(node.url, silentLog));
    expect(() => new StoreConnection(node.url, silentLog)).to.throw('more than 1000 connections');
    await Promise.all([first, ...later].flatMap((connection) => (connection ? [connection.retire()] : [])));
  });

  it('keeps the settings of its address', async () => {
    const settings = [
      '',
      '&keepAliveTimeout=20000',
      '&keep_alive_timeout=-1',
      '&connectionName=a%40b',
      '&keepAliveInterval=15000',
    ];
    for (const setting of settings) {
      const connection = new StoreConnection(`${node.url}${setting}`, silentLog);
      await append(connection);
      await connection.retire();
    }
    const bare = new StoreConnection(`esdb://user:p%3Fss@127.0.0.1:${String(node.port)}`, silentLog);
    await bare.retire();
    expect(node.log.events).to.have.length(settings.length);
  });
});

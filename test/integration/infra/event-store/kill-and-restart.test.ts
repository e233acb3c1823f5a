/** The node is killed under load, again and again: nothing acknowledged is lost, nothing is there twice. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { openEventStore } from '../../../../infra/event-store/event-store-client.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { figure, isLong, timesOf } from '../../../support/suite/long.ts';
import { testDatabase } from '../../../support/servers/postgres.ts';
import type { TestDatabase } from '../../../support/servers/postgres.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { Follower, expectWhole, startLoad } from './load.ts';
import { NodeChild } from './node-child.ts';

const WRITERS = 16;
const KILLS = timesOf(3, 24);

describe('the event node under load', function () {
  this.timeout(isLong ? 600_000 : 120_000);
  let database: TestDatabase;
  let node: NodeChild;

  beforeEach(async () => {
    database = await testDatabase();
    node = await NodeChild.start({ databaseUrl: database.url });
  });

  afterEach(async () => {
    await node.end();
    await database.drop();
  });

  for (const forceUnary of [false, true]) {
    it(`loses and repeats nothing when it is killed ${String(KILLS)} times (${forceUnary ? 'unary' : 'batch'})`, async () => {
      const store = openEventStore({ url: node.url, log: silentLog, forceUnary });
      const followers = [new Follower(store), new Follower(store)];
      const load = startLoad(store, WRITERS);
      const { port } = node;
      let before = 0;
      for (let kill = 0; kill < KILLS; kill += 1) {
        await eventually(() => load.acknowledged.length > before);
        // Not always the same moment of the work.
        await delay(200 + 37 * (kill % 7));
        expect(load.acknowledged.length, 'it writes between kills').to.be.above(before);
        before = load.acknowledged.length;
        await node.end('SIGKILL');
        node = await NodeChild.start({ databaseUrl: database.url, port });
      }
      await eventually(() => load.acknowledged.length > before);
      await load.stop();
      for (const follower of followers) await follower.until(load.acknowledged.length);
      await expectWhole(store, load, followers);
      figure(
        `${String(KILLS)} kills (${forceUnary ? 'unary' : 'batch'}): ${String(load.acknowledged.length)} events acknowledged, ` +
          `0 lost, 0 doubled; ${String(load.refusals)} appends told "unavailable" and sent again`,
      );
      await store.close();
    });
  }
});

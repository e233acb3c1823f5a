import { expect } from 'chai';
import type { DirectoryState } from '../../../../commands/ports/directory.ts';
import { systemClock } from '../../../../infra/platform/system-clock.ts';
import { httpSink, type Sink } from '../../../support/servers/webhook-sinks.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import {
  type DeliveryWorld,
  directoryState,
  openDeliveryWorld,
  ORG,
  OTHER_ORG,
} from '../../../support/worlds/delivery-world.ts';
import { orgEntry } from '../../../support/worlds/people.ts';

describe('the deliveries of a deleted organisation', function () {
  this.timeout(90_000);
  let world: DeliveryWorld;
  let sink: Sink;
  let received: string[];
  /** What the directory shows; each look may show another. */
  let look: () => DirectoryState;
  beforeEach(async () => {
    received = [];
    world = await openDeliveryWorld();
    sink = await httpSink(({ headers }, response) => {
      received.push(String(headers['webhook-id']));
      response.writeHead(200).end('ok');
    });
    await world.endpoint('whk_1', sink.url);
    await world.endpoint('whk_2', sink.url, OTHER_ORG);
    await world.queue(['whk_1'], 1, 3);
    await world.rows();
  });
  afterEach(async () => {
    await world[Symbol.asyncDispose]();
    await sink[Symbol.asyncDispose]();
  });

  const present = directoryState();
  const without = (isErased: boolean): DirectoryState => {
    const deleted = orgEntry(ORG, { eraseAt: '2026-12-01T00:00:00.000Z', isErased });
    return directoryState({
      organisations: new Map([
        [ORG, deleted],
        [OTHER_ORG, orgEntry(OTHER_ORG)],
      ]),
    });
  };
  const run = () => {
    const directory = {
      get state() {
        return look();
      },
      version: 1,
      isCurrent: true,
      untilCurrent: () => Promise.resolve(true),
      waitFor: () => Promise.resolve(),
    };
    return world.run({ ports: { directory: directory as never } });
  };
  const statuses = async (): Promise<string[]> =>
    (await world.rows()).map(({ event_id, status }) => `${event_id} ${status}`);
  const all = (status: string): string[] => [1, 2, 3].map((n) => `evt_${String(n)} ${status}`);
  const disabled = (): unknown[] =>
    world.rig.events.all.filter(({ type }) => type === 'WebhookEndpointDisabled').map(({ data }) => data);

  it(`wait for its restore, and delay no other ${verifies('contract:11:deleted-organisation')}`, async () => {
    look = () => without(false);
    const { worker } = run();
    await world.queue(['whk_2'], 4, 4, OTHER_ORG);
    await eventually(() => received.includes('evt_4'));
    await systemClock.sleep(700);
    expect(received).to.deep.equal(['evt_4']);
    expect(await statuses()).to.include.members(all('scheduled'));
    expect(await worker.lagSeconds()).to.equal(0);
    look = () => present;
    await eventually(async () => (await statuses()).filter((one) => one.endsWith('succeeded')).length === 4);
    expect(received.toSorted()).to.deep.equal(['evt_1', 'evt_2', 'evt_3', 'evt_4']);
    expect(disabled()).to.deep.equal([]);
  });

  it('wait also when they were claimed before it was deleted', async () => {
    let looks = 0;
    // The first pass claims them; then the organisation is deleted.
    look = () => (looks++ === 0 ? present : without(false));
    run();
    await eventually(() => looks > 4);
    await systemClock.sleep(300);
    expect(received).to.deep.equal([]);
    expect(await statuses()).to.deep.equal(all('scheduled'));
    look = () => present;
    await eventually(async () => (await statuses()).join() === all('succeeded').join());
    expect(disabled()).to.deep.equal([]);
  });

  it('are cancelled once it is erased', async () => {
    look = () => without(true);
    run();
    await eventually(async () => (await statuses()).join() === all('cancelled').join());
    expect(received).to.deep.equal([]);
    expect(disabled()).to.deep.equal([{ reason: 'rights_gone' }]);
  });
});

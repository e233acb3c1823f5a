import { expect } from 'chai';
import { readinessChecks } from '../../../../infra/process/gateway.ts';
import { systemClock } from '../../../../infra/platform/system-clock.ts';
import type { Projector } from '../../../../infra/projector/projector.ts';
import { happened } from '../../../support/samples/event-author.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { MAILBOX, sampleHistory } from '../../../support/samples/sample-history.ts';
import { openRig, type Rig } from './projector-rig.ts';

describe('the lag of the read models', () => {
  let rig: Rig;
  beforeEach(async () => {
    rig = await openRig();
  });
  afterEach(async () => {
    await rig[Symbol.asyncDispose]();
  });

  /** A minute ahead, so that what waits is a minute old. */
  const later = { ...systemClock, now: () => new Date(Date.now() + 60_000) };
  const ready = (projector: Projector) =>
    readinessChecks({ ports: rig } as never, projector)['projector']?.() ?? Promise.resolve({});
  const pause = () => happened(rig.events, `mailbox-${MAILBOX}`, [{ type: 'MailboxPaused', data: {} }]);

  it('is reported by a process that never leads, and is over when another one has applied', async () => {
    await sampleHistory(rig.events);
    const follower = await rig.start({ leads: false, clock: later });
    const all = rig.events.all.length;
    expect(follower.status()).to.deep.include({ leader: false, lagEvents: all });
    expect(follower.status().lagSeconds).to.be.within(59, 70);
    expect((await rejection(ready(follower))).message)
      .to.match(/^the read models are 6\d s behind the log /)
      .and.include(`(${String(all)} events wait)`);
    const leader = await rig.start();
    await rig.settle(leader);
    await eventually(() => follower.status().lagEvents === 0);
    expect(follower.status()).to.deep.include({ leader: false, lagSeconds: 0 });
    expect(await ready(follower)).to.deep.equal({ leader: false });
    await leader.close();
    await pause();
    await eventually(() => follower.status().lagEvents === 1);
    await systemClock.sleep(600);
    // Nobody else leads, and this one never takes over.
    expect(follower.status()).to.deep.include({ leader: false, lagEvents: 1 });
  });

  it('is not measured when the projector is closed', async () => {
    let looks = 0;
    const events = {
      readAll: (after: bigint | null, most: number) => {
        looks += 1;
        return rig.events.readAll(after, most);
      },
      headPosition: rig.events.headPosition.bind(rig.events),
    } as unknown as typeof rig.events;
    const follower = await rig.start({ leads: false, events });
    const before = looks;
    await follower.close();
    expect(looks).to.equal(before).and.to.be.above(0);
  });

  it('is reported by a leader whose subscription has stalled', async () => {
    const events = Object.create(rig.events) as typeof rig.events;
    events.subscribeToAll = async function* (_from, signal) {
      yield { kind: 'caught-up' };
      await new Promise((resolve) => {
        signal.addEventListener('abort', resolve);
      });
    };
    const bound = {
      readAll: rig.events.readAll.bind(rig.events),
      headPosition: rig.events.headPosition.bind(rig.events),
      subscribeToAll: events.subscribeToAll.bind(events),
    };
    const projector = await rig.start({ events: bound as never, clock: later });
    await eventually(() => projector.status().leader);
    await sampleHistory(rig.events);
    await eventually(() => projector.status().lagEvents === rig.events.all.length);
    expect(projector.status().models.map(({ name }) => name)).to.deep.equal([
      'directory',
      'operations',
      'audit',
    ]);
    expect((await rejection(ready(projector))).message).to.match(/^the read models are 6\d s behind the log/);
  });

  it('counts at most a hundred events, and is no less than the time since the last of them once they are applied', async () => {
    for (let n = 0; n < 3; n += 1) {
      const created = { type: 'OrganisationCreated' as const, data: { name: 'Many' } };
      await happened(rig.events, `organisation-org_${String(n)}`, Array<typeof created>(40).fill(created));
    }
    const follower = await rig.start({ leads: false, clock: later });
    expect(follower.status().lagEvents).to.equal(100);
    expect((await rejection(ready(follower))).message).to.contain('at least 100 events wait');
  });

  it('is the time since the last measurement while the stores are unreachable, on the monotonic clock', async () => {
    let ahead = 0;
    const clock = {
      ...systemClock,
      now: () => new Date(Date.now() - ahead),
      elapsedMs: () => systemClock.elapsedMs() + ahead,
    };
    const projector = await rig.start({ clock });
    await rig.settle(projector);
    rig.events.away = true;
    ahead = 31_000;
    expect(projector.status().lagSeconds).to.be.greaterThan(30);
    expect((await rejection(ready(projector))).message).to.contain('has not been known for 31 s');
    rig.events.comeBack();
    await eventually(() => projector.status().lagSeconds === 0);
  });

  it('includes the number of parked events by model', async () => {
    await rig.start();
    const follower = await rig.start({ leads: false });
    await sampleHistory(rig.events);
    const stream = `mailbox-${MAILBOX}`;
    const last = await rig.events.readLast(stream);
    const broken = { id: '00000000-0000-4000-8000-000000000001', type: 'GrantChanged', data: {} };
    await rig.events.append(stream, last?.revision ?? 'no-stream', [
      { ...broken, metadata: last?.metadata ?? {} },
    ]);
    // The audit has a line for every event.
    const wanted = (name: string): number => (name === 'audit' ? 0 : 1);
    await eventually(() => follower.status().models.every(({ name, parked }) => parked === wanted(name)));
  });
});

import { expect } from 'chai';
import { CommitNotifier } from '../../../../infra/event-store/node/commit-notifier.ts';
import type { WakeSignal } from '../../../../infra/concurrency/wake-signal.ts';
import type { StoredRecord } from '../../../../infra/event-store/node/stored-record.ts';

const inStream = (stream: string): StoredRecord => ({
  position: 1,
  stream,
  revision: 0,
  id: '00000000-0000-4000-8000-000000000000',
  type: 'Happened',
  isJson: true,
  data: new Uint8Array(0),
  metadata: new Uint8Array(0),
  createdMs: 0,
});

/** True when the listener was rung since its last sleep. */
async function hasRung(bell: WakeSignal): Promise<boolean> {
  const nobody = new AbortController();
  let rung = false;
  const waiting = bell.sleep(nobody.signal).then(() => {
    rung = true;
  });
  await new Promise(setImmediate);
  const before = rung;
  nobody.abort();
  await waiting;
  return before;
}

describe('CommitNotifier', () => {
  it('wakes listeners to the streams of a commit and to all streams, and no others', async () => {
    const bells = new CommitNotifier();
    const [mine, other, all] = [bells.listen('a-1'), bells.listen('b-1'), bells.listen()];
    bells.ring([inStream('a-1'), inStream('c-1')]);
    expect([await hasRung(mine), await hasRung(other), await hasRung(all)]).to.deep.equal([
      true,
      false,
      true,
    ]);
    bells.ringAll();
    expect(await hasRung(other)).to.equal(true);
  });

  it('keeps a signal that came between two waits', async () => {
    const bells = new CommitNotifier();
    const bell = bells.listen('a-1');
    expect(await hasRung(bell)).to.equal(false);
    bells.ring([inStream('a-1')]);
    expect(await hasRung(bell)).to.equal(true);
    expect(await hasRung(bell)).to.equal(false);
  });

  it('wakes no listener that is disposed of', async () => {
    const bells = new CommitNotifier();
    const bell = bells.listen('a-1');
    bell[Symbol.dispose]();
    bells.ring([inStream('a-1')]);
    expect(await hasRung(bell)).to.equal(false);
  });
});

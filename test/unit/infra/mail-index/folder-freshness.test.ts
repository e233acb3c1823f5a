import { expect } from 'chai';
import type { FolderCounts } from '../../../../infra/mail-index/folder-freshness.ts';
import type { FolderState } from '../../../../infra/mail-index/folder-mirror.ts';
import { FolderFreshness, isTrueOf } from '../../../../infra/mail-index/folder-freshness.ts';
import { systemClock } from '../../../../infra/platform/system-clock.ts';
import { rejection } from '../../../support/suite/rejection.ts';

const state: FolderState = {
  folderNumber: 1,
  uidValidity: 7,
  uidNext: 10,
  messages: 5,
  highestModseq: 20n,
  feedPosition: null,
  attested: false,
  version: '1',
  threadsVersion: '0',
};
const counts: FolderCounts = { uidValidity: 7, uidNext: 10, messages: 5, highestModseq: 20n };
const INBOX = { number: 1, path: 'INBOX' };

describe('FolderFreshness', () => {
  const cases: readonly [string, Partial<FolderState>, Partial<FolderCounts> | null, boolean][] = [
    ['an equal folder', {}, {}, true],
    ['a missing folder', {}, null, false],
    ['a new UIDVALIDITY', {}, { uidValidity: 8 }, false],
    ['a new message', {}, { uidNext: 11, messages: 6 }, false],
    ['a removed message', {}, { messages: 4 }, false],
    ['a changed flag', {}, { highestModseq: 21n }, false],
    ['a mirror newer than the poll', { uidNext: 11, messages: 6 }, {}, true],
    ['a mirror with a later flag', { highestModseq: 21n }, {}, true],
    ['own moves without a flag before them', { uidNext: 11, messages: 6 }, { highestModseq: 21n }, false],
    ['an equal folder without CONDSTORE', { highestModseq: null }, { highestModseq: null }, true],
    [
      'a removed message without CONDSTORE',
      { highestModseq: null },
      { highestModseq: null, messages: 4 },
      false,
    ],
  ];
  for (const [name, ours, theirs, expected] of cases) {
    it(`says ${expected ? 'current' : 'outdated'} for ${name}`, () => {
      expect(isTrueOf({ ...state, ...ours }, theirs && { ...counts, ...theirs })).to.equal(expected);
    });
  }

  it('polls once for all callers within a second', async () => {
    let [now, looks] = [0, 0];
    const freshness = new FolderFreshness(() => now);
    const ask = (): Promise<boolean> =>
      freshness.areCurrent('mbx_a', [INBOX], [state], (folders) => {
        looks += 1;
        return Promise.resolve(folders.map(() => counts));
      });
    expect(await Promise.all([ask(), ask(), ask()])).to.deep.equal([true, true, true]);
    now = 999;
    await ask();
    expect(looks).to.equal(1);
    now = 1_000;
    await ask();
    expect(looks).to.equal(2);
  });

  it('reports folders with an outdated mirror once for each poll', async () => {
    let now = 0;
    const told: unknown[] = [];
    const freshness = new FolderFreshness(
      () => now,
      (mailboxId, folders) => told.push([mailboxId, ...folders]),
    );
    const archive = { number: 2, path: 'Archive' };
    const theirs = [counts, { ...counts, highestModseq: 21n }];
    const ask = (modseq = 20n): Promise<boolean> =>
      freshness.areCurrent(
        'mbx_a',
        [INBOX, archive],
        [state, { ...state, folderNumber: 2, highestModseq: modseq }],
        (folders) => Promise.resolve(folders.map(({ number }) => theirs[number - 1] ?? null)),
      );
    expect(await Promise.all([ask(), ask(), ask()])).to.deep.equal([false, false, false]);
    now = 999;
    expect(await ask()).to.equal(false);
    expect(told).to.deep.equal([['mbx_a', 2]]);
    expect(await ask(21n), 'once the mirror has caught up').to.equal(true);
    now = 1_000;
    expect(await ask()).to.equal(false);
    expect(told).to.deep.equal([
      ['mbx_a', 2],
      ['mbx_a', 2],
    ]);
  });

  it('polls again after a second when the system clock is set back', async () => {
    const { now } = Date;
    let [looks, aheadMs] = [0, 0];
    Date.now = () => now() + aheadMs;
    const freshness = new FolderFreshness();
    const ask = (): Promise<boolean> =>
      freshness.areCurrent('mbx_a', [INBOX], [state], () => {
        looks += 1;
        return Promise.resolve([counts]);
      });
    try {
      await ask();
      aheadMs = -3_600_000;
      await systemClock.sleep(1_010);
      await ask();
    } finally {
      Date.now = now;
    }
    expect(looks).to.equal(2);
  });

  it('polls again at once when the poll failed', async () => {
    const freshness = new FolderFreshness(() => 0);
    const failure = new Error('away');
    expect(
      await rejection(freshness.areCurrent('mbx_a', [INBOX], [state], () => Promise.reject(failure))),
    ).to.equal(failure);
    expect(await freshness.areCurrent('mbx_a', [INBOX], [state], () => Promise.resolve([counts]))).to.equal(
      true,
    );
  });
});

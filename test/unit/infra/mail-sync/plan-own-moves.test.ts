import { expect } from 'chai';
import type { MessagePlace } from '../../../../commands/ports/ports.ts';
import {
  planOwnMoves,
  type SettledChange,
  type SettledFolder,
} from '../../../../infra/mail-sync/plan-own-moves.ts';

const INBOX = 1;
const ARCHIVE = 2;
const TRASH = 3;
const VALIDITY = 7;

const openMessage = (id: string): MessagePlace => {
  const [folderNumber = 0, uid = 0] = id.split('/').map(Number);
  return { mailboxNumber: 1, folderNumber, uidValidity: VALIDITY, uid };
};

const folder = (number: number, fields: Partial<SettledFolder> = {}): SettledFolder => ({
  number,
  uidValidity: VALIDITY,
  uidNext: number * 100,
  total: 10,
  invalidations: 1,
  trusted: 0,
  isFollowed: true,
  ...fields,
});

/** The changes of one operation that moved a message. */
function moved(
  expectation: string,
  [from, uid]: readonly [folder: number, uid: number],
  [to, newUid]: readonly [folder: number, uid: number | null],
): SettledChange[] {
  const settled = { expectation, operationId: `opn_${expectation}`, flags: null, isTaken: false };
  const leaves = { kind: 'leaves', folder: from, uidValidity: VALIDITY, uid, moved: true } as const;
  const arrives = {
    kind: 'arrives',
    folder: to,
    uidValidity: VALIDITY,
    fromUid: 1,
    uid: newUid,
    messageId: null,
    previousId: `${String(from)}/${String(uid)}`,
  } as const;
  return [
    { ...settled, id: `${expectation}-leaves`, change: leaves, flags: ['\\Seen'] },
    { ...settled, id: `${expectation}-arrives`, change: arrives },
  ];
}

const planned = (folders: readonly SettledFolder[], changes: readonly SettledChange[]) => {
  const { moves, unclear } = planOwnMoves(folders, changes, { openMessage });
  const made = moves.map(({ uid, to, newUid }) => [uid, to === null ? null : newUid]);
  return { moves: made, unclear: [...unclear].sort() };
};

describe('planOwnMoves', () => {
  it('makes moves that the server reported with their new places', () => {
    const two = { invalidations: 2 };
    const changes = [...moved('a', [INBOX, 5], [ARCHIVE, 201]), ...moved('b', [INBOX, 6], [ARCHIVE, 200])];
    expect(planned([folder(INBOX, two), folder(ARCHIVE, two)], changes)).to.deep.equal({
      moves: [
        [5, 201],
        [6, 200],
      ],
      unclear: [],
    });
  });

  type Case = readonly [why: string, folders: readonly SettledFolder[], changes: readonly SettledChange[]];
  const archived = moved('a', [INBOX, 5], [ARCHIVE, 200]);

  const looked: readonly Case[] = [
    [
      'another message may have arrived before',
      [folder(INBOX), folder(ARCHIVE)],
      moved('a', [INBOX, 5], [ARCHIVE, 201]),
    ],
    [
      'something else invalidated its mirror',
      [folder(INBOX), folder(ARCHIVE, { invalidations: 2 })],
      archived,
    ],
    [
      'a look would not find later changes',
      [folder(INBOX), folder(ARCHIVE, { isFollowed: false })],
      archived,
    ],
    ['it has another UIDVALIDITY', [folder(INBOX), folder(ARCHIVE, { uidValidity: 8 })], archived],
    ['it has no mirror', [folder(INBOX)], archived],
  ];
  for (const [why, folders, changes] of looked) {
    it(`takes the message from its folder, and leaves the other to a look when ${why}`, () => {
      expect(planned(folders, changes)).to.deep.equal({ moves: [[5, null]], unclear: [ARCHIVE] });
    });
  }

  const unknown: readonly Case[] = [
    ['the new place is unknown', [folder(INBOX), folder(ARCHIVE)], moved('a', [INBOX, 5], [ARCHIVE, null])],
    [
      'the mirror does not show the message',
      [folder(INBOX), folder(ARCHIVE)],
      archived.map((change) => ({ ...change, flags: null })),
    ],
    ['its folder has another UIDVALIDITY', [folder(INBOX, { uidValidity: 8 }), folder(ARCHIVE)], archived],
    [
      'something else invalidated its mirror',
      [folder(INBOX, { invalidations: 2 }), folder(ARCHIVE)],
      archived,
    ],
  ];
  for (const [why, folders, changes] of unknown) {
    it(`leaves both folders to a look when ${why}`, () => {
      expect(planned(folders, changes)).to.deep.equal({ moves: [], unclear: [INBOX, ARCHIVE] });
    });
  }

  it('needs no look where one has taken the change already', () => {
    const [leaves, arrives] = archived.map((change) => ({ ...change, flags: null, isTaken: true }));
    const folders = [folder(INBOX), folder(ARCHIVE)];
    const changes = [leaves, arrives].filter((change) => change !== undefined);
    expect(planned(folders, changes)).to.deep.equal({ moves: [], unclear: [] });
    const open = changes.map((change) => ({ ...change, isTaken: change.change.kind === 'leaves' }));
    expect(planned(folders, open)).to.deep.equal({ moves: [], unclear: [ARCHIVE] });
  });

  it('takes the message from its folder alone where a poll saw it arrive', () => {
    const seen = archived.map((change) => ({ ...change, isTaken: change.change.kind === 'arrives' }));
    const once = { moves: [[5, null]], unclear: [] };
    expect(planned([folder(INBOX), folder(ARCHIVE, { uidNext: 201 })], seen)).to.deep.equal(once);
    const folders = [folder(INBOX, { isFollowed: false }), folder(ARCHIVE, { uidNext: 201 })];
    expect(planned(folders, seen)).to.deep.equal({ moves: [], unclear: [INBOX] });
  });

  it('leaves a folder to a look in which flags were changed, and those that its messages arrive in', () => {
    const flags = {
      id: 'c',
      expectation: 'c',
      operationId: 'opn_c',
      flags: null,
      isTaken: false,
      change: { kind: 'flags', folder: ARCHIVE, uidValidity: VALIDITY, uid: 9, add: ['\\Seen'], remove: [] },
    } as const;
    const folders = [folder(INBOX), folder(ARCHIVE, { invalidations: 3 }), folder(TRASH)];
    const changes = [...archived, ...moved('b', [ARCHIVE, 7], [TRASH, 300]), flags];
    expect(planned(folders, changes)).to.deep.equal({ moves: [[5, null]], unclear: [ARCHIVE, TRASH] });
  });

  it('keeps moves apart from folders that have nothing to do with them', () => {
    const folders = [folder(INBOX), folder(ARCHIVE), folder(TRASH, { invalidations: 4 })];
    expect(planned(folders, archived)).to.deep.equal({ moves: [[5, 200]], unclear: [TRASH] });
  });

  it('asks for no look where all was taken before', () => {
    const taken = { invalidations: 3, trusted: 3 };
    expect(planned([folder(INBOX, taken), folder(ARCHIVE, taken)], [])).to.deep.equal({
      moves: [],
      unclear: [],
    });
  });

  it('reads each change a few times, however many there are', () => {
    const [count, most] = [1_000, 10];
    let reads = 0;
    const changes = Array.from({ length: count }, (_, at) =>
      moved('a', [INBOX, at + 1], [ARCHIVE, 200 + at]),
    ).flat();
    const counted = changes.map(
      (each) =>
        new Proxy(each, {
          get: (target, key) => {
            if (key === 'change') reads += 1;
            return Reflect.get(target, key) as unknown;
          },
        }),
    );
    expect(planned([folder(INBOX), folder(ARCHIVE)], counted).moves).to.have.length(count);
    expect(reads).to.be.at.most(most * changes.length);
  });
});

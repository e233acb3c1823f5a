import { expect } from 'chai';
import type { OwnChange } from '../../../../commands/ports/change-attribution.ts';
import { type Difference, observeChanges } from '../../../../commands/feed/observe-changes.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const place = { mailboxNumber: 1, folderNumber: 2, uidValidity: 7 };
const locators = { message: ({ uid }: { uid: number }) => `msg_${String(uid)}` };
const difference = (uid: number, change: Partial<Difference>): Difference => ({
  uid,
  before: null,
  after: null,
  isNew: false,
  messageId: null,
  ...change,
});
const arrives = (change: object = {}): OwnChange => ({
  kind: 'arrives',
  folder: 2,
  uidValidity: null,
  fromUid: 10,
  uid: null,
  messageId: '<a@b>',
  previousId: 'msg_old',
  ...change,
});
const at = { folder: 2, uidValidity: 7 };
const observe = (differences: Difference[], own: OwnChange[] = [], operationId: string | null = 'opn_1') => {
  const expected = own.map((change, index) => ({ id: String(index), operationId, change }));
  const { changes, seen } = observeChanges(place, differences, expected, locators);
  return { changes, seen: [...seen] };
};
const arrived = (uid: number, messageId: string | null = '<a@b>') =>
  difference(uid, { after: ['\\Seen'], isNew: true, messageId });

describe('observeChanges', () => {
  it('reports arrivals, flag changes and deletions', () => {
    const { changes } = observe([
      arrived(10),
      difference(1, { before: [], after: ['\\Flagged'] }),
      difference(2, { before: ['\\Seen'] }),
      difference(3, { before: [], after: ['\\Deleted'] }),
      difference(4, { before: ['\\Deleted'], after: [] }),
    ]);
    expect(changes).to.deep.equal([
      { kind: 'received', locator: 'msg_10', flags: ['\\Seen'] },
      { kind: 'updated', locator: 'msg_1', flags: ['\\Flagged'], flags_before: [] },
      { kind: 'deleted', locator: 'msg_2', flags: [] },
      { kind: 'deleted', locator: 'msg_3', flags: [] },
      { kind: 'updated', locator: 'msg_4', flags: [], flags_before: ['\\Deleted'] },
    ]);
  });

  it(`reports neither arrival nor deletion when the message is in another folder too ${verifies('contract:11:gmail-received-once')}`, () => {
    const { changes } = observe([
      { ...arrived(10), alsoIn: [4] },
      difference(1, { before: [], alsoIn: [4, 5] }),
      difference(2, { before: [], alsoIn: [] }),
      { ...arrived(11), alsoIn: [] },
    ]);
    expect(changes).to.deep.equal([
      { kind: 'updated', locator: 'msg_10', flags: ['\\Seen'], also_in: [4] },
      { kind: 'moved', locator: 'msg_1', flags: [], also_in: [4, 5] },
      { kind: 'deleted', locator: 'msg_2', flags: [], also_in: [] },
      { kind: 'received', locator: 'msg_11', flags: ['\\Seen'], also_in: [] },
    ]);
    const own = observe([{ ...arrived(12), alsoIn: [4] }], [arrives({ uid: 12 })]);
    expect(own.changes[0]).to.include({ kind: 'moved', operation_id: 'opn_1', previous: 'msg_old' });
  });

  it('reports nothing about messages marked as deleted', () => {
    const { changes } = observe([
      difference(1, { before: ['\\Deleted'] }),
      difference(2, { before: ['\\Deleted'], after: ['\\Deleted', '\\Seen'] }),
      difference(10, { after: ['\\Deleted'], isNew: true }),
    ]);
    expect(changes).to.deep.equal([]);
  });

  it('reports no arrival when the message was only missing in the mirror', () => {
    expect(observe([difference(3, { after: [] })]).changes).to.deep.equal([
      { kind: 'updated', locator: 'msg_3', flags: [], flags_before: [] },
    ]);
  });

  it(`names the operation when it intended the change ${verifies('contract:11:own-changes')}`, () => {
    const { changes, seen } = observe(
      [arrived(10), difference(1, { before: [] })],
      [arrives(), { kind: 'leaves', ...at, uid: 1, moved: true }],
    );
    expect(changes).to.deep.equal([
      { kind: 'moved', locator: 'msg_10', flags: ['\\Seen'], operation_id: 'opn_1', previous: 'msg_old' },
      { kind: 'moved', locator: 'msg_1', flags: [], operation_id: 'opn_1' },
    ]);
    expect(seen).to.have.members(['0', '1']);
  });

  it('explains one arrival per change, by UID before Message-ID', () => {
    const own = [arrives({ previousId: null }), arrives({ uid: 11, uidValidity: 7, previousId: null })];
    const { changes } = observe([arrived(11), arrived(12), arrived(13)], own);
    expect(changes.map(({ operation_id }) => operation_id)).to.deep.equal(['opn_1', 'opn_1', undefined]);
  });

  it('names no operation when Message-ID, UIDVALIDITY, folder or UID differ', () => {
    const foreign: [Difference, OwnChange][] = [
      [arrived(10, '<c@d>'), arrives()],
      [arrived(9), arrives()],
      [arrived(10), arrives({ uidValidity: 8 })],
      [arrived(10), arrives({ folder: 3 })],
      [arrived(10), arrives({ uid: 11 })],
      [difference(1, { before: [] }), { kind: 'leaves', ...at, uidValidity: 8, uid: 1, moved: true }],
    ];
    for (const [seen, own] of foreign) {
      expect(observe([seen], [own]).changes)
        .to.have.length(1)
        .and.not.to.have.nested.property('0.operation_id');
    }
  });

  it('names the operation of a flag change only when it explains every flag', () => {
    const own: OwnChange = { kind: 'flags', ...at, uid: 1, add: ['\\Seen'], remove: ['$old'] };
    const told = (before: string[], after: string[]) => observe([difference(1, { before, after })], [own]);
    expect(told(['$Old'], ['\\Seen']).changes[0]).to.include({ operation_id: 'opn_1' });
    const mixed = told(['$Old'], ['\\Seen', '\\Flagged']);
    expect(mixed.changes[0]).not.to.have.property('operation_id');
    expect(mixed.seen, 'seen all the same').to.deep.equal(['0']);
    const later = told([], ['\\Flagged']);
    expect(later.changes[0]).not.to.have.property('operation_id');
    expect(later.seen, 'not seen yet').to.deep.equal([]);
  });

  it("reports nothing about the gateway's own draft and Sent copies", () => {
    const own: OwnChange[] = [arrives(), { kind: 'leaves', ...at, uid: 1, moved: false }];
    const { changes, seen } = observe([arrived(10), difference(1, { before: [] })], own, null);
    expect(changes).to.deep.equal([]);
    expect(seen).to.have.length(2);
  });
});

import { expect } from 'chai';
import {
  type Notice,
  noticesDue,
  type Told,
  type WaitingApproval,
} from '../../../../commands/approver-notices/notices-due.ts';
import type { NotificationLevel } from '../../../../commands/ports/directory.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = Date.parse('2026-03-01T12:00:00.000Z');
const at = (ms: number): Date => new Date(START + ms);

const approval = (id: string, requestedMs = 0, lastsMs = 24 * HOUR, voters = ['usr_a']): WaitingApproval => ({
  id,
  requestedAt: at(requestedMs),
  expiresAt: at(requestedMs + lastsMs),
  voters,
});

/** What people were told so far, and the notices, as the log would keep them. */
class Office {
  readonly sent: (Notice & { readonly atMs: number })[] = [];
  readonly #told = new Map<string, Told>();
  readonly #levels: ReadonlyMap<string, NotificationLevel>;

  constructor(levels: Readonly<Record<string, NotificationLevel>>) {
    this.#levels = new Map(Object.entries(levels));
  }

  look(approvals: readonly WaitingApproval[], ms: number): Date | null {
    const people = new Map(
      [...this.#levels].map(([id, level]) => [
        id,
        { level, told: this.#told.get(id) ?? { last: null, approvals: new Map() } },
      ]),
    );
    const { notices, lookAt } = noticesDue(approvals, people, at(ms));
    for (const notice of notices) this.#note(notice, ms);
    return lookAt;
  }

  /** Looks whenever it was told to, as the background does. */
  run(approvals: readonly WaitingApproval[], fromMs: number, untilMs: number): void {
    let ms = fromMs;
    for (let steps = 0; ms <= untilMs && steps < 1_000; steps += 1) {
      const present = approvals.filter(({ requestedAt }) => requestedAt <= at(ms));
      this.look(present, ms);
      // After a notice the background looks again.
      const next = this.look(present, ms);
      const arrivals = approvals.map(({ requestedAt }) => requestedAt.getTime() - START);
      const later = [...arrivals, next === null ? Infinity : next.getTime() - START].filter(
        (each) => each > ms,
      );
      ms = Math.min(...later, Infinity);
    }
  }

  #note(notice: Notice, ms: number): void {
    const { userId, approvalIds, remindedIds } = notice;
    this.sent.push({ ...notice, atMs: ms });
    const before = this.#told.get(userId)?.approvals ?? new Map<string, never>();
    const told = approvalIds.map(
      (id) => [id, { at: before.get(id)?.at ?? at(ms), isReminded: remindedIds.includes(id) }] as const,
    );
    const last = { id: `notice-${String(this.sent.length)}`, at: at(ms) };
    this.#told.set(userId, { last, approvals: new Map([...before, ...told]) });
  }
}

const minutesOf = ({ sent }: Office): readonly number[] => sent.map(({ atMs }) => atMs / MINUTE);

describe('noticesDue', () => {
  it(`sends the first at once and fifty of a burst a quarter of an hour later, in one ${verifies('contract:9:approvers-told')}`, () => {
    const office = new Office({ usr_a: 'each' });
    const burst = Array.from({ length: 51 }, (_, n) => approval(`chk_${String(n)}`, n * 1_000));
    office.run(burst, 0, 2 * HOUR);
    expect(minutesOf(office)).to.deep.equal([0, 15]);
    expect(office.sent.map(({ approvalIds }) => approvalIds.length)).to.deep.equal([1, 50]);
  });

  it('names the notice before in each, so that each has one successor', () => {
    const office = new Office({ usr_a: 'each' });
    office.run([approval('chk_1'), approval('chk_2', 5 * MINUTE), approval('chk_3', HOUR)], 0, 2 * HOUR);
    expect(office.sent.map(({ previousId }) => previousId)).to.deep.equal([null, 'notice-1', 'notice-2']);
  });

  it('reminds once, two hours before the end', () => {
    const office = new Office({ usr_a: 'each' });
    office.run([approval('chk_1')], 0, 30 * HOUR);
    expect(minutesOf(office)).to.deep.equal([0, 22 * 60]);
    expect(office.sent.map(({ remindedIds }) => remindedIds)).to.deep.equal([[], ['chk_1']]);
  });

  it('reminds when a quarter is left of a short time, and puts new ones into the same notice', () => {
    const office = new Office({ usr_a: 'each' });
    office.run([approval('chk_1', 0, HOUR), approval('chk_2', 44 * MINUTE, 24 * HOUR)], 0, HOUR);
    expect(minutesOf(office)).to.deep.equal([0, 44, 59]);
    expect(office.sent[2]).to.deep.include({ approvalIds: ['chk_1'], remindedIds: ['chk_1'] });
    const other = new Office({ usr_a: 'each' });
    other.run([approval('chk_1', 0, HOUR), approval('chk_2', 46 * MINUTE, 24 * HOUR)], 0, HOUR);
    expect(minutesOf(other)).to.deep.equal([0, 45, 60]);
  });

  it('includes what ends before the next notice while there is time', () => {
    const office = new Office({ usr_a: 'each' });
    office.run([approval('chk_1'), approval('chk_2', MINUTE, 8 * MINUTE)], 0, HOUR);
    expect(minutesOf(office)).to.deep.equal([0, 7]);
    expect(office.sent[1]?.approvalIds).to.deep.equal(['chk_2']);
  });

  it('sends one digest a day, and what ends before the next one with a reminder', () => {
    const office = new Office({ usr_a: 'digest' });
    const week = 7 * 24 * HOUR;
    office.run(
      [approval('chk_1', 0, week), approval('chk_2', HOUR, week), approval('chk_3', 2 * HOUR, week)],
      0,
      48 * HOUR,
    );
    expect(minutesOf(office)).to.deep.equal([0, 24 * 60]);
    expect(office.sent[1]?.approvalIds).to.deep.equal(['chk_2', 'chk_3']);
    const short = new Office({ usr_a: 'digest' });
    short.run([approval('chk_1', 0, week), approval('chk_2', HOUR, 12 * HOUR)], 0, 20 * HOUR);
    expect(minutesOf(short)).to.deep.equal([0, 11 * 60]);
    expect(short.sent[1]).to.deep.include({ approvalIds: ['chk_2'], remindedIds: [] });
  });

  it('notifies only those who may still vote and have not switched it off', () => {
    const office = new Office({ usr_a: 'each', usr_b: 'off', usr_c: 'each' });
    office.run([approval('chk_1', 0, 24 * HOUR, ['usr_b', 'usr_c'])], 0, HOUR);
    expect(office.sent.map(({ userId }) => userId)).to.deep.equal(['usr_c']);
  });

  it('omits what has expired, and has a bounded number at once', () => {
    const office = new Office({ usr_a: 'each' });
    expect(office.look([approval('chk_1', 0, MINUTE)], MINUTE)).to.equal(null);
    expect(office.sent).to.deep.equal([]);
    office.look(
      Array.from({ length: 250 }, (_, n) => approval(`chk_${String(n)}`)),
      0,
    );
    expect(office.sent[0]?.approvalIds).to.have.length(100);
  });
});

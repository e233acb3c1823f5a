/**
 * Brings own moves into feed and mirror from what the mail server answered to them (COPYUID, RFC 4315), without a look at
 * the folders. What cannot be told so is left to a look.
 */
import { type ExpectedChange, observeChanges } from '../../commands/feed/observe-changes.ts';
import { MAX_CHANGES } from '../../commands/feed/feed-events.ts';
import type { OwnChange } from '../../commands/ports/change-attribution.ts';
import { inPieces } from '../mail/uid-set.ts';
import type { MovedFolder } from '../mail-index/folder-mirror.ts';
import { flagsOfRow } from '../mail-index/postgres-mirror.ts';
import type { MailboxSync } from './mailbox-sync.ts';
import { type OwnMove, planOwnMoves, type SettledChange, type SettledFolder } from './plan-own-moves.ts';

/** How long after an own move a folder is looked at, for what others did to it at the same time. */
const LOOK_AFTER_MS = 2_000;

/** INBOX, as it is watched. */
export interface WatchedInbox {
  /** Null while there is none. */
  readonly number: () => number | null;
  /** What others do there is reported at once: no look is needed for it. */
  readonly isReported: () => boolean;
}

/** The server may report that a message is gone before the move is settled that took it. */
const SETTLED_WITHIN_MS = 500;

/** A poll of a few changes takes no longer; settled changes wait for its end. */
const LOOKED_WITHIN_MS = 1_000;

/** Of messages that left, which the server may still report, and of those that it reported gone. */
const MOST_KEPT = 1_000;

/**
 * An interrupted append of more events than these would not be found whole (`replay-feed-tail.ts`). More changes than fit
 * into them are left to polls.
 */
const MOST_FACTS = 8;

const SETTLED = {
  name: 'own_moves_settled',
  text: `
    select f.folder_number, f.uid_validity, f.uid_next, f.total, f.distrusts, f.trusted,
      f.highest_modseq is not null and f.named_from = 1 as followed,
      e.id::text, e.expectation_id, e.operation_id, e.change,
      case when e.change->>'kind' = 'leaves' and m.provider_id is null and not m.deleted
        then array[m.seen, m.flagged, m.answered, m.draft, m.deleted] end as flags,
      m.keywords,
      case e.change->>'kind' when 'arrives' then m.uid is not null
        when 'leaves' then m.uid is null and (e.change->>'uid')::bigint between f.indexed_from and f.uid_next - 1
        else false end as taken
    from mirror.folder as f
    left join work.mail_echo as e on e.mailbox_id = $1 and e.settled and (e.change->>'folder')::int = f.folder_number
    left join mirror.message as m on m.mailbox_number = f.mailbox_number
      and m.folder_number = f.folder_number and m.uid = (e.change->>'uid')::bigint
    where f.mailbox_number = $2 and (f.folder_number = any($3::int[]) or e.id is not null)
    order by e.id`,
};

interface SettledRow extends Record<string, unknown> {
  readonly folder_number: number;
  readonly uid_validity: string;
  readonly uid_next: string;
  readonly total: string;
  readonly distrusts: string;
  readonly trusted: string;
  readonly followed: boolean;
  /** Null in the row of a folder without settled changes. */
  readonly id: string | null;
  readonly expectation_id: string;
  readonly operation_id: string | null;
  readonly change: OwnChange;
  readonly flags: readonly boolean[] | null;
  readonly keywords: readonly string[] | null;
  readonly taken: boolean;
}

export class OwnMoves {
  readonly #sync: MailboxSync;
  readonly #inbox: WatchedInbox;
  /** Folders with settled own changes that are not in the mirror yet. */
  readonly #settled = new Set<number>();
  /** When the first of them was. */
  #settledAt = 0;
  /** `<folder>/<uid>` of messages that own moves took, the oldest first. */
  readonly #left = new Set<string>();
  /** UIDs of INBOX that the server reported as vanished, and when it did. */
  readonly #vanished = new Map<number, number>();
  /** When each folder is looked at. */
  readonly #looks = new Map<number, number>();

  constructor(sync: MailboxSync, inbox: WatchedInbox) {
    this.#sync = sync;
    this.#inbox = inbox;
  }

  /** Own changes of these folders are settled. */
  markSettled(folders: readonly number[]): void {
    if (this.#settled.size === 0) this.#settledAt = performance.now();
    for (const number of folders) this.#settled.add(number);
  }

  /** Nothing is settled, or reported gone by the server, that feed and mirror may lack. */
  get isCurrent(): boolean {
    this.#dropExplained();
    return this.#settled.size === 0 && this.#vanished.size === 0;
  }

  /**
   * The server reported only that this message of INBOX is gone: maybe an own move took it. False where they are so many
   * that a poll is needed, whoever took them: one line of the server may name any number of UIDs.
   */
  noteVanished(uid: number): boolean {
    this.#vanished.set(uid, performance.now());
    if (this.#vanished.size <= MOST_KEPT) return true;
    this.forgetVanished();
    return false;
  }

  /** A look covers them. */
  forgetVanished(): void {
    this.#vanished.clear();
  }

  /** A message vanished from INBOX, and for a while no own move that took it has been settled: a look is needed. */
  get haveUnexplained(): boolean {
    this.#dropExplained();
    return Math.min(...this.#vanished.values()) + SETTLED_WITHIN_MS <= performance.now();
  }

  #dropExplained(): void {
    const inbox = String(this.#inbox.number());
    for (const uid of this.#vanished.keys())
      if (this.#left.has(`${inbox}/${String(uid)}`)) this.#vanished.delete(uid);
  }

  /** When there is something to do without another report; infinite when there is nothing. */
  get nextAt(): number {
    const giveUpAt = this.#settled.size > 0 ? this.#settledAt + LOOKED_WITHIN_MS : Infinity;
    const lookAt = Math.min(...this.#vanished.values()) + SETTLED_WITHIN_MS;
    return Math.min(...this.#looks.values(), lookAt, giveUpAt);
  }

  /**
   * Brings every settled move into feed and mirror. Returns the folders that need a look now: for what is settled in them
   * otherwise, or because one is due. Throws as `FeedWriter.append` and `MailboxSync.apply`.
   */
  async take(): Promise<readonly number[]> {
    const settled = this.#areLookedAt ? [] : [...this.#settled];
    for (const number of settled) this.#settled.delete(number);
    const unclear = settled.length === 0 ? [] : await this.#sync.inTurn(() => this.#takeSettled(settled));
    const now = performance.now();
    const due = [...this.#looks].flatMap(([number, at]) => (at <= now ? [number] : []));
    for (const number of [...unclear, ...due]) this.#looks.delete(number);
    return [...new Set([...unclear, ...due])];
  }

  /** A poll is in these folders; what it does not see can be taken after it, and needs no other one. */
  get #areLookedAt(): boolean {
    const { unfinished } = this.#sync;
    const isEarly = performance.now() - this.#settledAt < LOOKED_WITHIN_MS;
    return isEarly && [...this.#settled].some((number) => unfinished.has(number));
  }

  async #takeSettled(folders: readonly number[]): Promise<readonly number[]> {
    const { mailboxId, mailboxNumber, ports, unfinished } = this.#sync;
    const rows = await ports.sql.query<SettledRow>(SETTLED, [mailboxId, mailboxNumber, folders]);
    const known = foldersOf(rows, unfinished);
    const changes = rows.flatMap(changeOf);
    if (changes.length > MOST_FACTS * MAX_CHANGES)
      return [...new Set([...folders, ...changes.map(({ change }) => change.folder)])];
    const { moves, unclear } = planOwnMoves(known, changes, ports.locators);
    const clear = known.filter(({ number }) => !unclear.has(number));
    const isTaken = await this.#apply(moves, clear, changes);
    const left = isTaken ? [] : clear.map(({ number }) => number);
    const unknown = folders.filter((number) => !known.some((folder) => folder.number === number));
    return [...unclear, ...left, ...unknown];
  }

  /** False when it takes more events than one append may have. */
  async #apply(
    moves: readonly OwnMove[],
    clear: readonly SettledFolder[],
    changes: readonly SettledChange[],
  ): Promise<boolean> {
    const touched = clear.filter(({ number }) => changes.some(({ change }) => change.folder === number));
    if (touched.length === 0) return true;
    const expected = changes.map(({ id, operationId, change }) => ({ id, operationId, change }));
    const facts = touched.flatMap((folder) => this.#factsOf(folder, moves, expected));
    if (facts.length > MOST_FACTS) return false;
    const feedPosition = facts.length === 0 ? null : await this.#sync.feed.append(facts);
    const numbers = new Set(touched.map(({ number }) => number));
    await this.#sync.applyMoves({
      moves,
      folders: touched.map((folder) => after(folder, moves)),
      feedPosition,
      echoes: changes.flatMap(({ id, change }) => (numbers.has(change.folder) ? [id] : [])),
    });
    for (const { from, uid } of moves) this.#noteLeft(from, uid);
    for (const number of numbers) this.#planLook(number);
    return true;
  }

  #planLook(number: number): void {
    if (this.#looks.has(number)) return;
    const { number: inbox, isReported } = this.#inbox;
    const isTold = number === inbox() && isReported();
    this.#looks.set(number, isTold ? Infinity : performance.now() + LOOK_AFTER_MS);
  }

  /** Whether the folder has not been looked at since an own move; asked once, before a list is compared with its mirror. */
  needsLook({ number }: { readonly number: number }): boolean {
    return this.#looks.delete(number);
  }

  #factsOf(
    { number, uidValidity }: SettledFolder,
    moves: readonly OwnMove[],
    expected: readonly ExpectedChange[],
  ): Parameters<MailboxSync['feed']['append']>[0] {
    const { mailboxId, mailboxNumber, ports } = this.#sync;
    const differences = moves.flatMap(({ from, uid, to, newUid, flags }) => [
      ...(from === number ? [{ uid, before: flags, after: null, isNew: false, messageId: null }] : []),
      ...(to === number ? [{ uid: newUid, before: null, after: flags, isNew: true, messageId: null }] : []),
    ]);
    const place = { mailboxNumber, folderNumber: number, uidValidity };
    const { changes } = observeChanges(place, differences, expected, ports.locators);
    return inPieces(changes, MAX_CHANGES).map((piece) => ({
      type: 'MailboxChangesObserved' as const,
      data: { mailbox_id: mailboxId, folder: number, uid_validity: uidValidity, changes: [...piece] },
    }));
  }

  #noteLeft(number: number, uid: number): void {
    this.#left.add(`${String(number)}/${String(uid)}`);
    const [oldest] = this.#left;
    if (this.#left.size > MOST_KEPT && oldest !== undefined) this.#left.delete(oldest);
  }
}

const foldersOf = (
  rows: readonly SettledRow[],
  unfinished: ReadonlySet<number>,
): readonly SettledFolder[] => [
  ...new Map(
    rows.map((row) => [
      row.folder_number,
      {
        number: row.folder_number,
        uidValidity: Number(row.uid_validity),
        uidNext: Number(row.uid_next),
        total: Number(row.total),
        invalidations: Number(row.distrusts),
        trusted: Number(row.trusted),
        isFollowed: row.followed && !unfinished.has(row.folder_number),
      },
    ]),
  ).values(),
];

const changeOf = ({ id, ...row }: SettledRow): SettledChange[] =>
  id === null
    ? []
    : [
        {
          id,
          expectation: row.expectation_id,
          operationId: row.operation_id,
          change: row.change,
          isTaken: row.taken,
          flags: row.flags && flagsOfRow({ flags: row.flags, keywords: row.keywords }),
        },
      ];

function after(
  { number, uidNext, total, invalidations }: SettledFolder,
  moves: readonly OwnMove[],
): MovedFolder {
  const arrived = moves.filter(({ to }) => to === number).length;
  const grown = arrived - moves.filter(({ from }) => from === number).length;
  return { folderNumber: number, uidNext: uidNext + arrived, total: total + grown, grown, invalidations };
}

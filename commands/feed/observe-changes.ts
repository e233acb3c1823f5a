/** Turns the differences between a folder and its mirror into feed changes, and recognises own changes (`contract.md` 11). Pure. */
import type { OwnArrival, OwnChange, OwnDeparture, OwnFlags } from '../ports/change-attribution.ts';
import type { Locators, MessagePlace } from '../ports/ports.ts';
import type { FeedChange } from './feed-events.ts';

/** One message that differs from the mirror. */
export interface Difference {
  readonly uid: number;
  /** Flags in the mirror; null = the mirror does not contain it. */
  readonly before: readonly string[] | null;
  /** Flags on the server; null = it is gone. */
  readonly after: readonly string[] | null;
  /** Its UID was not assigned yet when the folder was last read. */
  readonly isNew: boolean;
  /** Of a message that the mirror does not contain. */
  readonly messageId: string | null;
  /** Numbers of the other folders that contain it; absent where no message is in two. */
  readonly alsoIn?: readonly number[] | undefined;
}

/** An own change that may be observed. */
export interface ExpectedChange {
  readonly id: string;
  /** Null = a draft copy of the gateway: not reported. */
  readonly operationId: string | null;
  readonly change: OwnChange;
}

interface Observed {
  readonly changes: readonly FeedChange[];
  /** Expected changes that were observed now. */
  readonly seen: ReadonlySet<string>;
}

type FolderPlace = Omit<MessagePlace, 'uid'>;
type Expected<Change extends OwnChange> = ExpectedChange & { readonly change: Change };

/** In the order of the differences; those that change nothing visible are left out. */
export function observeChanges(
  place: FolderPlace,
  differences: readonly Difference[],
  expected: readonly ExpectedChange[],
  locators: Pick<Locators, 'message'>,
): Observed {
  const seen = new Set<string>();
  const changes = differences.flatMap((difference) => {
    const reported = reportedOf(difference, new Expectations(place, expected, seen));
    if (reported === null) return [];
    const locator = locators.message({ ...place, uid: difference.uid });
    return [{ ...reported, locator, ...(difference.alsoIn && { also_in: [...difference.alsoIn] }) }];
  });
  return { changes, seen };
}

type Reported = Omit<FeedChange, 'locator'>;

/** A message marked `\\Deleted` counts as gone. */
const visible = (flags: readonly string[] | null): readonly string[] | null =>
  flags?.includes('\\Deleted') === false ? flags : null;

function reportedOf(difference: Difference, expectations: Expectations): Reported | null {
  const { uid, before, after } = difference;
  const [was, is] = [visible(before), visible(after)];
  if (was !== null) {
    return is === null ? departureOf(difference, expectations) : flagChangeOf(uid, was, is, expectations);
  }
  if (is === null) return null;
  if (before !== null || !difference.isNew) {
    return { kind: 'updated', flags: [...is], flags_before: [...(before ?? [])] };
  }
  return arrivalOf(difference, is, expectations);
}

function flagChangeOf(
  uid: number,
  before: readonly string[],
  after: readonly string[],
  expectations: Expectations,
): Reported | null {
  const own = expectations.ofFlags(uid, before, after);
  if (own?.operationId === null) return null;
  return { kind: 'updated', flags: [...after], flags_before: [...before], ...operationOf(own) };
}

function departureOf({ uid, alsoIn = [] }: Difference, expectations: Expectations): Reported | null {
  const own = expectations.ofDeparture(uid);
  if (own?.operationId === null) return null;
  const livesOn = own === null ? alsoIn.length > 0 : own.change.moved;
  return { kind: livesOn ? 'moved' : 'deleted', flags: [], ...operationOf(own) };
}

function arrivalOf(
  { uid, messageId, alsoIn = [] }: Difference,
  flags: readonly string[],
  expectations: Expectations,
): Reported | null {
  const own = expectations.ofArrival(uid, messageId);
  if (own?.operationId === null) return null;
  // Reported when it was first observed: this is not a new message, only another folder that contains it.
  if (own === null && alsoIn.length > 0) return { kind: 'updated', flags: [...flags] };
  const previous = own?.change.previousId ?? null;
  return {
    kind: previous === null ? 'received' : 'moved',
    flags: [...flags],
    ...operationOf(own),
    ...(previous === null ? {} : { previous }),
  };
}

const operationOf = (own: ExpectedChange | null): { readonly operation_id?: string } =>
  own?.operationId == null ? {} : { operation_id: own.operationId };

/** The own changes of one folder; each explains one observation. */
class Expectations {
  readonly #validity: number;
  readonly #open: readonly ExpectedChange[];
  readonly #seen: Set<string>;

  constructor({ folderNumber, uidValidity }: FolderPlace, all: readonly ExpectedChange[], seen: Set<string>) {
    this.#validity = uidValidity;
    this.#open = all.filter(({ id, change }) => change.folder === folderNumber && !seen.has(id));
    this.#seen = seen;
  }

  ofDeparture(uid: number): Expected<OwnDeparture> | null {
    return this.#take(this.#of('leaves').find(({ change }) => this.#isAt(change, uid)));
  }

  /** By the UID that the server returned; before that, by the Message-ID among the arrivals since the intent. */
  ofArrival(uid: number, messageId: string | null): Expected<OwnArrival> | null {
    const all = this.#of('arrives').filter(
      ({ change }) => (change.uidValidity ?? this.#validity) === this.#validity,
    );
    const exact = all.find(({ change }) => change.uid === uid);
    const alike = all.find(
      ({ change }) => change.uid === null && change.fromUid <= uid && change.messageId === messageId,
    );
    return this.#take(exact ?? alike);
  }

  /** Only when own changes explain all of it: another client may have changed the message at the same time. */
  ofFlags(uid: number, before: readonly string[], after: readonly string[]): Expected<OwnFlags> | null {
    const all = this.#of('flags').filter(({ change }) => this.#isAt(change, uid));
    const visible = all.filter(({ change }) => isVisible(change, after));
    for (const { id } of visible) this.#seen.add(id);
    const added = lowered(after).filter((flag) => !lowered(before).includes(flag));
    const removed = lowered(before).filter((flag) => !lowered(after).includes(flag));
    const adds = lowered(all.flatMap(({ change }) => change.add));
    const removes = lowered(all.flatMap(({ change }) => change.remove));
    const isOwn =
      added.every((flag) => adds.includes(flag)) && removed.every((flag) => removes.includes(flag));
    return isOwn ? (visible.at(-1) ?? all.at(-1) ?? null) : null;
  }

  #of<Kind extends OwnChange['kind']>(kind: Kind): Expected<Extract<OwnChange, { kind: Kind }>>[] {
    return this.#open.filter(
      (each): each is Expected<Extract<OwnChange, { kind: Kind }>> => each.change.kind === kind,
    );
  }

  #isAt(change: OwnDeparture | OwnFlags, uid: number): boolean {
    return change.uid === uid && change.uidValidity === this.#validity;
  }

  #take<Own extends ExpectedChange>(own: Own | undefined): Own | null {
    if (own) this.#seen.add(own.id);
    return own ?? null;
  }
}

const lowered = (flags: readonly string[]): string[] => flags.map((flag) => flag.toLowerCase());

const isVisible = ({ add, remove }: OwnFlags, after: readonly string[]): boolean =>
  lowered(add).every((flag) => lowered(after).includes(flag)) &&
  lowered(remove).every((flag) => !lowered(after).includes(flag));

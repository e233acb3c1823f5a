/** Finds the outcomes of an interrupted operation's open items in source and target. Only reads. */
import type { MailSession } from '../ports/mail-port.ts';
import type { FolderRef, MessageRef } from '../mail/message.ts';
import { relocates, takesAway } from './actions.ts';
import type {
  ActionStep,
  ItemResult,
  OperationTarget,
  StoredTarget,
} from '../operations/operation-events.ts';
import { placeIn } from './prepare-operation.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import type { Locators } from '../ports/ports.ts';
import { GatewayError } from '../values/errors.ts';

/** An interrupted operation. */
export interface Interrupted {
  readonly mailbox: MailboxEntry;
  readonly locators: Locators;
  readonly targets: readonly OperationTarget[];
  readonly steps: readonly ActionStep[];
  /** Null when the process ended before it recorded any. */
  readonly results: readonly ItemResult[] | null;
}

/** One step on one message that was there when the operation began. */
interface Item {
  readonly target: OperationTarget;
  readonly ref: MessageRef;
  readonly step: ActionStep;
  readonly index: number;
  /** The certain result; null for an open item. */
  readonly known: ItemResult | null;
  /** What is at the message's old place. */
  readonly source: {
    readonly present: boolean;
    readonly flags: readonly string[];
    /** The folder was recreated or is gone: an empty place proves nothing. */
    readonly isReset: boolean;
  };
}

/** True when the message was in its destination before anything was done. */
const isInPlace = ({ step, ref }: Pick<Item, 'step' | 'ref'>): boolean =>
  relocates({ type: step.action }) && step.folder === ref.folder.number;

/** What is known of the later steps on the same message. */
interface Later {
  readonly isDone: boolean;
  readonly steps: readonly ActionStep[];
}

type Verdict = Pick<ItemResult, 'outcome' | 'new_message_id' | 'error'>;

const STALE = { code: 'message_stale', message: 'The message was no longer there.' };
const NOT_DONE: Verdict = {
  outcome: 'failed',
  error: {
    code: 'mailbox_unavailable',
    message: 'The connection broke before this was done; it may be requested again.',
  },
};
const ONLY_COPIED: Verdict = {
  outcome: 'failed',
  error: {
    code: 'provider_rejected',
    message: 'A copy arrived in the target, the original is still there.',
  },
};

/** One result per message and step, in the order of the targets. Throws when the mailbox cannot be reached. */
export async function lookUpItems(
  mail: MailSession,
  interrupted: Interrupted,
): Promise<readonly ItemResult[]> {
  const items = await itemsOf(mail, interrupted);
  const arrivals = await findArrivals(mail, interrupted, items);
  const byTarget = Map.groupBy(items, ({ target }) => target.message_id);
  return interrupted.targets.flatMap((target) =>
    target.stale
      ? interrupted.steps.map((step, index) => staleResult(target, step, index))
      : resultsOf(byTarget.get(target.message_id) ?? [], arrivals),
  );
}

/** The result for a message that was gone before the operation began. */
export const staleResult = (target: StoredTarget, { action }: ActionStep, step: number): ItemResult => ({
  message_id: target.message_id,
  step,
  action,
  ...(step === 0 ? { outcome: 'failed', error: STALE } : { outcome: 'skipped' }),
});

async function itemsOf(mail: MailSession, interrupted: Interrupted): Promise<readonly Item[]> {
  const { mailbox, locators, targets, steps, results } = interrupted;
  const places = targets
    .filter(({ stale }) => !stale)
    .map((target) => ({ target, ref: placeIn(mailbox, locators, target.message_id) }));
  const items: Item[] = [];
  const folders = Map.groupBy(places, ({ ref }) => `${String(ref.folder.number)}/${String(ref.uidValidity)}`);
  for (const group of folders.values()) {
    const [first] = group;
    if (!first) continue;
    const uids = group.map(({ ref }) => ref.uid);
    const { presentUids, flagsByUid } = await mail.look(first.ref.folder, first.ref.uidValidity, uids);
    const isReset = isEvidence(interrupted, uids, presentUids) && (await isRecreated(mail, first.ref));
    for (const { target, ref } of group) {
      const source = { present: presentUids.has(ref.uid), flags: flagsByUid.get(ref.uid) ?? [], isReset };
      for (const [index, step] of steps.entries()) {
        const told = results?.find((item) => item.message_id === target.message_id && item.step === index);
        const known = told === undefined || told.outcome === 'unknown' ? null : told;
        items.push({ target, ref, step, index, known, source });
      }
    }
  }
  return items;
}

/** An empty place is evidence only of an expunge. */
const isEvidence = ({ steps }: Interrupted, uids: readonly number[], present: ReadonlySet<number>): boolean =>
  steps.some(({ action }) => action === 'expunge') && !uids.every((uid) => present.has(uid));

const isRecreated = async (mail: MailSession, { folder, uidValidity }: MessageRef): Promise<boolean> =>
  (await validityOf(mail, folder)) !== uidValidity;

/** The steps ran in order: all before a done step were done, and none after a failed step ran. */
function resultsOf(items: readonly Item[], arrivals: Arrivals): readonly ItemResult[] {
  const results: ItemResult[] = [];
  let isDone = false;
  for (const item of items.toReversed()) {
    const { message_id } = item.target;
    const steps = items.slice(item.index + 1).map(({ step }) => step);
    const verdict = judge(item, { isDone, steps }, arrivals);
    results.unshift(item.known ?? { message_id, step: item.index, action: item.step.action, ...verdict });
    // Matching flags, or a message already in place, prove nothing about the earlier steps.
    isDone ||= arrivals.get(item) != null;
  }
  const failedAt = results.findIndex(({ outcome }) => outcome === 'failed');
  return results.map((result, index) =>
    failedAt >= 0 && index > failedAt && items[index]?.known === null
      ? { message_id: result.message_id, step: result.step, action: result.action, outcome: 'skipped' }
      : result,
  );
}

function judge(item: Item, later: Later, arrivals: Arrivals): Verdict {
  if (item.step.action === 'set_flags') return judgeFlags(item, later);
  if (item.step.action === 'expunge') return judgeExpunge(item);
  if (!relocates({ type: item.step.action })) return judgeCopy(item, later, arrivals);
  return isInPlace(item) ? judgeInPlace(item) : judgeRelocation(item, arrivals);
}

function judgeFlags({ source, step }: Item, later: Later): Verdict {
  if (later.isDone) return { outcome: 'done' };
  if (!source.present) {
    const isExpunged = !source.isReset && later.steps.some(({ action }) => action === 'expunge');
    return { outcome: isExpunged ? 'done' : 'unknown' };
  }
  const wanted = later.steps.reduce(withoutFlagsOf, step);
  return hasFlags(source.flags, wanted) ? { outcome: 'done' } : NOT_DONE;
}

/** A flag that a later step changes again is no evidence of the earlier step. */
function withoutFlagsOf(step: ActionStep, later: ActionStep): ActionStep {
  const changed = new Set([...(later.flags_add ?? []), ...(later.flags_remove ?? [])].map(fold));
  const left = (flags: readonly string[] = []): string[] => flags.filter((flag) => !changed.has(fold(flag)));
  return { ...step, flags_add: left(step.flags_add), flags_remove: left(step.flags_remove) };
}

function hasFlags(flags: readonly string[], step: ActionStep): boolean {
  const held = new Set(flags.map(fold));
  const holds = (flag: string): boolean => held.has(fold(flag));
  return (step.flags_add ?? []).every(holds) && !(step.flags_remove ?? []).some(holds);
}

/** Flags and keywords are case-insensitive (RFC 9051 2.3.2). */
const fold = (flag: string): string => flag.toLowerCase();

function judgeCopy(item: Item, later: Later, arrivals: Arrivals): Verdict {
  const arrived = arrivals.get(item);
  if (arrived != null) return { outcome: 'done', new_message_id: arrived };
  if (later.isDone) return { outcome: 'done' };
  return arrived === undefined ? { outcome: 'unknown' } : NOT_DONE;
}

/** UIDs are never reused (RFC 9051 2.3.1.1): an absent message is gone; one only marked is not. */
function judgeExpunge({ source }: Item): Verdict {
  if (source.present) return NOT_DONE;
  return { outcome: source.isReset ? 'unknown' : 'done' };
}

function judgeRelocation(item: Item, arrivals: Arrivals): Verdict {
  const arrived = arrivals.get(item) ?? null;
  if (item.source.present) return arrived === null ? NOT_DONE : ONLY_COPIED;
  return arrived === null ? { outcome: 'unknown' } : { outcome: 'done', new_message_id: arrived };
}

/** The message was in its destination already: nothing had to be done. */
const judgeInPlace = ({ source, target }: Item): Verdict =>
  source.present
    ? { outcome: 'done', new_message_id: target.message_id }
    : { outcome: 'failed', error: STALE };

/** The new id of an item's message; null = nothing arrived; no entry = the folder does not show it. */
type Arrivals = ReadonlyMap<Item, string | null>;

/**
 * Finds the messages that copies and moves brought to their target folders: searches what arrived since the intent, and older messages where `mayBeOld`. Messages that share a
 * Message-ID share their arrivals: each is assigned once, in the order in which the actions ran.
 */
async function findArrivals(
  mail: MailSession,
  interrupted: Interrupted,
  items: readonly Item[],
): Promise<Arrivals> {
  const arrivals = new Map<Item, string | null>();
  const sought = items
    .filter((item) => item.known === null && item.step.folder !== undefined && !isInPlace(item))
    .filter(({ target }) => target.rfc_message_id !== null);
  const alike = Map.groupBy(
    sought,
    ({ step, target }) => `${String(step.folder)} ${target.rfc_message_id ?? ''}`,
  );
  const taken = takenIds(interrupted);
  const validities = new Map<number, number | null>();
  for (const group of alike.values()) {
    const [first] = group;
    const folder = interrupted.mailbox.folders.find(({ number }) => number === first?.step.folder);
    if (!first || !folder) continue;
    const uidValidity = validities.get(folder.number) ?? (await validityOf(mail, folder));
    validities.set(folder.number, uidValidity);
    if (uidValidity === null || uidValidity !== first.step.target_uid_validity) continue;
    const fromUid = mayBeOld(mail, group) ? 1 : (first.step.target_uid_next ?? 1);
    const uids = await mail.findByMessageId(folder, first.target.rfc_message_id ?? '', fromUid);
    const ids = uids
      .map((uid) => ({
        mailboxNumber: interrupted.mailbox.number,
        folderNumber: folder.number,
        uidValidity,
        uid,
      }))
      .map((place) => interrupted.locators.message(place))
      .filter((id) => !taken.has(id));
    const receivers = receiversOf(group, interrupted, ids.length);
    for (const item of group) arrivals.set(item, ids[receivers.indexOf(item)] ?? null);
  }
  return arrivals;
}

/** A target that may have held the message before (Gmail's All Mail) gives it no new UID. */
const mayBeOld = ({ capabilities }: MailSession, group: readonly Item[]): boolean =>
  capabilities.sharesMessages && group.some(({ source }) => !source.present);

/** Recorded new ids belong to the items that have them. */
const takenIds = ({ results }: Interrupted): ReadonlySet<string> =>
  new Set((results ?? []).flatMap(({ new_message_id: id }) => (id === undefined ? [] : [id])));

/** The present UIDVALIDITY of a folder; null when the folder is gone. */
async function validityOf(mail: MailSession, folder: FolderRef): Promise<number | null> {
  try {
    return (await mail.folderStatus(folder)).uidValidity;
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'not_found') return null;
    throw error;
  }
}

/**
 * Assigns `count` arrivals: first to messages that left their source, then to copies, then to messages that
 * may have been copied for a move without MOVE. A COPY is done completely or not at all (RFC 9051 6.4.7), so
 * the earlier ones come first.
 */
function receiversOf(group: readonly Item[], { steps }: Interrupted, count: number): readonly Item[] {
  const willLeave = ({ index }: Item): boolean =>
    steps.slice(index).some(({ action }) => takesAway({ type: action }));
  const order = group.toSorted((a, b) => a.index - b.index || inCommand(a, b));
  const left = order.filter((item) => !item.source.present && willLeave(item));
  const others = order.filter((item) => !left.includes(item));
  const copies = others.filter(({ step }) => !relocates({ type: step.action }));
  const rest = others.filter((item) => !copies.includes(item));
  const receivers = new Set([...left, ...copies, ...rest].slice(0, count));
  return order.filter((item) => receivers.has(item));
}

/** One command processes its messages by ascending UID; commands of a step keep their folders' order. */
const inCommand = (a: Item, b: Item): number =>
  a.ref.folder.number === b.ref.folder.number ? a.ref.uid - b.ref.uid : 0;

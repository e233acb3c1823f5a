/** Finds the outcomes of an interrupted operation's open items in source and target. Only reads. */
import type { MailSession } from '../ports/mail-port.ts';
import type { MessageRef } from '../mail/message.ts';
import { relocates } from './actions.ts';
import { type CutOff, isInPlace, type Item } from './interrupted-operation.ts';
import { type Arrivals, findArrivals, validityOf } from './find-arrivals.ts';
import type { ActionStep, ItemResult, StoredTarget } from '../operations/operation-events.ts';
import { placeIn } from './selection.ts';

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
export async function lookUpItems(mail: MailSession, cutOff: CutOff): Promise<readonly ItemResult[]> {
  const items = await itemsOf(mail, cutOff);
  const arrivals = await findArrivals(mail, cutOff, items);
  const byTarget = Map.groupBy(items, ({ target }) => target.message_id);
  return cutOff.targets.flatMap((target) =>
    target.stale
      ? cutOff.steps.map((step, index) => staleResult(target, step, index))
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

async function itemsOf(mail: MailSession, cutOff: CutOff): Promise<readonly Item[]> {
  const { mailbox, locators, targets, steps, results } = cutOff;
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
    const isReset = isTelling(cutOff, uids, presentUids) && (await isMadeAnew(mail, first.ref));
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
const isTelling = ({ steps }: CutOff, uids: readonly number[], present: ReadonlySet<number>): boolean =>
  steps.some(({ action }) => action === 'expunge') && !uids.every((uid) => present.has(uid));

const isMadeAnew = async (mail: MailSession, { folder, uidValidity }: MessageRef): Promise<boolean> =>
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

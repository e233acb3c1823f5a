/** Finds the messages that the copies and moves of an interrupted operation brought to its target folders. */
import { GatewayError } from '../values/errors.ts';
import type { MailSession } from '../ports/mail-port.ts';
import type { FolderRef } from '../mail/message.ts';
import { relocates, takesAway } from './actions.ts';
import { type CutOff, isInPlace, type Item } from './interrupted-operation.ts';

/** The new id of an item's message; null = nothing arrived; no entry = the folder does not show it. */
export type Arrivals = ReadonlyMap<Item, string | null>;

/**
 * Searches what arrived since the intent, and older messages where `mayBeOld`. Messages that share a
 * Message-ID share their arrivals: each is assigned once, in the order in which the actions ran.
 */
export async function findArrivals(
  mail: MailSession,
  cutOff: CutOff,
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
  const taken = takenIds(cutOff);
  const validities = new Map<number, number | null>();
  for (const group of alike.values()) {
    const [first] = group;
    const folder = cutOff.mailbox.folders.find(({ number }) => number === first?.step.folder);
    if (!first || !folder) continue;
    const uidValidity = validities.get(folder.number) ?? (await validityOf(mail, folder));
    validities.set(folder.number, uidValidity);
    if (uidValidity === null || uidValidity !== first.step.target_uid_validity) continue;
    const fromUid = mayBeOld(mail, group) ? 1 : (first.step.target_uid_next ?? 1);
    const uids = await mail.findByMessageId(folder, first.target.rfc_message_id ?? '', fromUid);
    const ids = uids
      .map((uid) => ({ mailboxNumber: cutOff.mailbox.number, folderNumber: folder.number, uidValidity, uid }))
      .map((place) => cutOff.locators.message(place))
      .filter((id) => !taken.has(id));
    const receivers = receiversOf(group, cutOff, ids.length);
    for (const item of group) arrivals.set(item, ids[receivers.indexOf(item)] ?? null);
  }
  return arrivals;
}

/** A target that may have held the message before (Gmail's All Mail) gives it no new UID. */
const mayBeOld = ({ capabilities }: MailSession, group: readonly Item[]): boolean =>
  capabilities.sharesMessages && group.some(({ source }) => !source.present);

/** Recorded new ids belong to the items that have them. */
const takenIds = ({ results }: CutOff): ReadonlySet<string> =>
  new Set((results ?? []).flatMap(({ new_message_id: id }) => (id === undefined ? [] : [id])));

/** The present UIDVALIDITY of a folder; null when the folder is gone. */
export async function validityOf(mail: MailSession, folder: FolderRef): Promise<number | null> {
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
function receiversOf(group: readonly Item[], { steps }: CutOff, count: number): readonly Item[] {
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

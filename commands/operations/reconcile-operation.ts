/** Settles what a cut-off operation left open by looking at source and target, never by repeating. */
import { appendFacts, type Author, loadAggregate, streamOf } from '../kernel/decide-and-append.ts';
import type { MailboxEntry } from '../kernel/directory.ts';
import type { FolderRef, MailSession, MessageRef } from '../kernel/mail-port.ts';
import { type Ports, WrongExpectedRevision } from '../kernel/ports.ts';
import { operation, type OperationState, summarise } from './operation.ts';
import type { ActionStep, ItemResult, OperationTarget } from './operation-events.ts';
import { placeIn } from './selection.ts';

export interface Reconciled {
  readonly results: readonly ItemResult[];
  /** Items that looking could not settle: the message is neither where it was nor where it should be. */
  readonly unknown: number;
}

/**
 * Looks up every open item of the operation and appends what was found. The caller holds the operation's lease. Null
 * when the operation has no intent, or another process settled it meanwhile. Throws when mailbox or store are away.
 */
export async function reconcileOperation(
  ports: Ports,
  author: Author,
  operationId: string,
): Promise<Reconciled | null> {
  const { state, revision } = await loadAggregate(ports.events, operation, operationId);
  const mailbox = state.mailboxId === null ? undefined : ports.directory.state.mailboxes.get(state.mailboxId);
  if (!mailbox || state.steps.length === 0) return null;
  const results = await ports.mail.withMailbox(mailbox.id, 'bulk', (mail) =>
    lookUp(mail, ports, mailbox, state),
  );
  const changed = results.filter((item) => !(state.results ?? []).some((old) => isSame(old, item)));
  const facts =
    state.results === null
      ? [
          { type: 'ActionOutcomesRecorded', data: { results } },
          { type: 'OperationCompleted', data: { summary: summarise(results) } },
        ]
      : [{ type: 'ActionsReconciled', data: { results: changed } }];
  if (state.results === null || changed.length > 0) {
    try {
      const stream = streamOf(operation, operationId);
      await appendFacts(ports, author, { stream, expected: revision, catalogue: operation.catalogue, facts });
    } catch (error) {
      if (error instanceof WrongExpectedRevision) return null;
      throw error;
    }
  }
  return { results, unknown: summarise(results).unknown };
}

const isSame = (a: ItemResult, b: ItemResult): boolean =>
  a.message_id === b.message_id && a.step === b.step && a.outcome === b.outcome;

async function lookUp(
  mail: MailSession,
  ports: Ports,
  mailbox: MailboxEntry,
  state: OperationState,
): Promise<readonly ItemResult[]> {
  const results: ItemResult[] = [];
  for (const target of state.targets) {
    const items = state.steps.map((step, index) => ({ step, index }));
    const settled: ItemResult[] = [];
    // The last step first: when a message was moved, the steps before it were done, for they ran in order.
    for (const { step, index } of items.toReversed()) {
      const known = state.results?.find(
        (item) => item.message_id === target.message_id && item.step === index,
      );
      const later = settled.some(({ outcome }) => outcome === 'done');
      settled.push(
        known && known.outcome !== 'unknown'
          ? known
          : await lookAtItem(mail, { ports, mailbox, target, step, index, later }),
      );
    }
    results.push(...settled.toReversed());
  }
  return results;
}

interface Item {
  readonly ports: Ports;
  readonly mailbox: MailboxEntry;
  readonly target: OperationTarget;
  readonly step: ActionStep;
  readonly index: number;
  /** A later step is known to be done. */
  readonly later: boolean;
}

const NOT_DONE = {
  code: 'mailbox_unavailable',
  message: 'The connection broke before this was done; it may be asked again.',
};
const STALE = { code: 'message_stale', message: 'The message was not there any more.' };

async function lookAtItem(mail: MailSession, item: Item): Promise<ItemResult> {
  const { target, step, index, later, mailbox, ports } = item;
  const base = { message_id: target.message_id, step: index, action: step.action };
  if (target.stale)
    return index === 0 ? { ...base, outcome: 'failed', error: STALE } : { ...base, outcome: 'skipped' };
  const ref = placeIn(mailbox, ports.locators, target.message_id);
  const sighting = await mail.look(ref.folder, ref.uidValidity, [ref.uid]);
  const present = sighting.presentUids.has(ref.uid);
  if (step.action === 'set_flags') {
    if (later) return { ...base, outcome: 'done' };
    if (!present) return { ...base, outcome: 'unknown' };
    return hasFlags(sighting.flagsByUid.get(ref.uid) ?? [], step)
      ? { ...base, outcome: 'done' }
      : { ...base, outcome: 'failed', error: NOT_DONE };
  }
  return { ...base, ...judge(step, present, await findArrived(mail, item, ref)) };
}

/** What a copied or moved message's traces say: is it still in the source, did it arrive in the target. */
function judge(
  { action }: ActionStep,
  present: boolean,
  arrived: { new_message_id: string } | null,
): Pick<ItemResult, 'outcome' | 'new_message_id' | 'error'> {
  if (action !== 'copy' && present)
    return { outcome: 'failed', error: arrived === null ? NOT_DONE : ONLY_COPIED };
  if (arrived !== null) return { outcome: 'done', ...arrived };
  return action === 'copy' ? { outcome: 'failed', error: NOT_DONE } : { outcome: 'unknown' };
}

const ONLY_COPIED = {
  code: 'provider_rejected',
  message: 'A copy arrived in the target, the original is still there.',
};

const hasFlags = (flags: readonly string[], step: ActionStep): boolean =>
  (step.flags_add ?? []).every((flag) => flags.includes(flag)) &&
  !(step.flags_remove ?? []).some((flag) => flags.includes(flag));

/** The message in the target folder, looked for only among what arrived since the intent. */
async function findArrived(
  mail: MailSession,
  { mailbox, target, step, ports }: Item,
  ref: MessageRef,
): Promise<{ new_message_id: string } | null> {
  const folder: FolderRef | undefined = mailbox.folders.find(({ number }) => number === step.folder);
  if (!folder || target.rfc_message_id === null) return null;
  const now = await mail.folderStatus(folder);
  const inPlace = folder.number === ref.folder.number;
  if (now.uidValidity !== step.target_uid_validity || inPlace) return null;
  const [uid] = await mail.findByMessageId(folder, target.rfc_message_id, step.target_uid_next ?? 1);
  if (uid === undefined) return null;
  const place = {
    mailboxNumber: mailbox.number,
    folderNumber: folder.number,
    uidValidity: now.uidValidity,
    uid,
  };
  return { new_message_id: ports.locators.message(place) };
}

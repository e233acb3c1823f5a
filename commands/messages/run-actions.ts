/** Runs the steps of an operation on its targets and returns the outcome of each. */
import type { MailboxEntry } from '../ports/directory.ts';
import { GatewayError } from '../values/errors.ts';
import type { ActionOutcome, MailSession } from '../ports/mail-port.ts';
import type { FolderRef } from '../mail/message.ts';
import type { Locators } from '../ports/ports.ts';
import type { ActionStep, ItemResult } from '../operations/operation-events.ts';
import type { Target } from './selection.ts';

export interface Plan {
  readonly mailbox: MailboxEntry;
  readonly steps: readonly ActionStep[];
  readonly targets: readonly Target[];
  readonly locators: Locators;
}

const STALE = {
  code: 'message_stale',
  message: 'The message is no longer there; query again for its new id.',
};

/** One result per message and step, in the order of the targets. Never throws for what the mail server does. */
export async function runActions(mail: MailSession, plan: Plan): Promise<readonly ItemResult[]> {
  const results = new Map<string, ItemResult>();
  const keyOf = (target: Target, step: number): string => `${target.message_id}/${String(step)}`;
  const alive = new Set(plan.targets.filter((target) => !target.stale));
  for (const [index, step] of plan.steps.entries()) {
    for (const group of byFolder([...alive])) {
      const outcomes = await perform(mail, plan, step, group);
      const ended = group.targets.map((target) => {
        const outcome = outcomes.get(target.ref.uid) ?? { outcome: 'unknown' };
        return [target, resultOf(plan, { target, step, index }, outcome)] as const;
      });
      for (const [target, result] of ended) results.set(keyOf(target, index), result);
      for (const [target] of ended.filter(([, { outcome }]) => outcome !== 'done')) alive.delete(target);
    }
  }
  return plan.targets.flatMap((target) =>
    plan.steps.map(({ action }, step): ItemResult => {
      const known = results.get(keyOf(target, step));
      if (known) return known;
      const base = { message_id: target.message_id, step, action };
      return target.stale && step === 0
        ? { ...base, outcome: 'failed', error: STALE }
        : { ...base, outcome: 'skipped' };
    }),
  );
}

interface Group {
  readonly folder: FolderRef;
  readonly uidValidity: number;
  readonly targets: readonly Target[];
}

function byFolder(targets: readonly Target[]): readonly Group[] {
  const groups = Map.groupBy(targets, ({ ref }) => `${String(ref.folder.number)}/${String(ref.uidValidity)}`);
  return [...groups.values()].flatMap((members) => {
    const [first] = members;
    return first ? [{ folder: first.ref.folder, uidValidity: first.ref.uidValidity, targets: members }] : [];
  });
}

async function perform(
  mail: MailSession,
  { mailbox }: Plan,
  step: ActionStep,
  { folder, uidValidity, targets }: Group,
): Promise<ReadonlyMap<number, ActionOutcome>> {
  const uids = targets.map(({ ref }) => ref.uid);
  if (step.action === 'set_flags') {
    const change = { add: step.flags_add ?? [], remove: step.flags_remove ?? [] };
    return await mail.setFlags(folder, uidValidity, uids, change);
  }
  if (step.action === 'expunge') return await mail.expungeMessages(folder, uidValidity, uids);
  const destination = mailbox.folders.find(({ number }) => number === step.folder);
  if (!destination) throw new GatewayError('internal_error', 'The destination folder is gone.');
  if (step.action === 'copy') return await mail.copyMessages(folder, uidValidity, uids, destination);
  // A message already in its destination is left alone: its id stays valid.
  if (destination.number === folder.number) {
    return new Map(uids.map((uid) => [uid, { outcome: 'done', newUid: uid, newUidValidity: uidValidity }]));
  }
  return await mail.moveMessages(folder, uidValidity, uids, destination);
}

function resultOf(
  { mailbox, locators }: Plan,
  { target, step, index }: { target: Target; step: ActionStep; index: number },
  outcome: ActionOutcome,
): ItemResult {
  const base = { message_id: target.message_id, step: index, action: step.action };
  switch (outcome.outcome) {
    case 'unknown':
      return { ...base, outcome: 'unknown' };
    case 'failed':
      return outcome.reason === 'missing'
        ? { ...base, outcome: 'failed', error: STALE }
        : { ...base, outcome: 'failed', error: { code: 'provider_rejected', message: outcome.text } };
    case 'done': {
      const { newUid, newUidValidity } = outcome;
      if (step.folder === undefined || newUid === null || newUidValidity === null)
        return { ...base, outcome: 'done' };
      const place = {
        mailboxNumber: mailbox.number,
        folderNumber: step.folder,
        uidValidity: newUidValidity,
        uid: newUid,
      };
      return { ...base, outcome: 'done', new_message_id: locators.message(place) };
    }
  }
}

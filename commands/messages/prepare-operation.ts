/**
 * Everything about an operation that is known before its first append: rights, folders, messages, policy. It
 * only reads, so a refusal here leaves no operation and the key unclaimed.
 */
import type { MailboxAccess } from '../kernel/access.ts';
import type { Context } from '../kernel/capability.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import { roleOfFolder } from '../kernel/folders.ts';
import type { MailSession, ServerCapabilities } from '../ports/mail-port.ts';
import { asReached } from '../kernel/searched-folders.ts';
import type { ActSelect, Cardinality } from '../mail/select.ts';
import { decideActionPolicy } from '../policy/decide-for-caller.ts';
import type { PolicyDecision } from '../policy/decide-policy.ts';
import { type Action, destinationOf, relocates, stepOf } from './actions.ts';
import type { Mode } from '../operations/authorize-operation.ts';
import type { ActionStep, ActionType } from '../operations/operation-events.ts';
import { resolveSelection, type Target } from './selection.ts';

export interface OperationRequest {
  readonly capability: string;
  readonly mailboxId: string;
  readonly actions: readonly Action[];
  readonly select: ActSelect;
  readonly cardinality: Cardinality | undefined;
  readonly mode: Mode;
  readonly reason: string | undefined;
}

/** A request whose mailbox and folders the caller may use. */
export interface Admitted {
  readonly request: OperationRequest;
  readonly operationId: string;
  readonly mailbox: MailboxEntry;
  readonly access: MailboxAccess;
  readonly steps: readonly ActionStep[];
}

/** A request whose messages are found and whose policy is decided. */
export interface Prepared extends Admitted {
  readonly targets: readonly Target[];
  readonly policy: PolicyDecision;
}

/** Needs no connection. Throws `not_found`, `conflict` while the mailbox is paused, `folder_role_missing`. */
export function admitOperation(context: Context, request: OperationRequest, operationId: string): Admitted {
  const { ports, caller } = context;
  const entry = ports.directory.state.mailboxes.get(request.mailboxId);
  const access = caller.mailboxes.get(request.mailboxId);
  if (!entry || !access) throw notFound('mailbox');
  const mailbox = asReached(entry, access);
  assertNotPaused(mailbox);
  const steps = request.actions.map((action) =>
    stepOf(action, destinationOf(mailbox, action, ports.locators)),
  );
  return { request, operationId, mailbox, access, steps };
}

/** Throws `conflict`. */
export function assertNotPaused({ state }: MailboxEntry): void {
  if (state === 'paused')
    throw new GatewayError('conflict', 'The mailbox is paused; resume it with PATCH {"paused": false}.');
}

/** Finds messages, asks policy. Throws `cardinality_violation`, `not_found`, what the mail port throws. */
export async function prepareOperation(
  mail: MailSession,
  context: Context,
  admitted: Admitted,
): Promise<Prepared> {
  const { request, mailbox } = admitted;
  const selection = { select: request.select, cardinality: request.cardinality ?? {} };
  const targets = await resolveSelection(mail, context, mailbox, selection);
  const actions = request.actions.map(({ type }) => type);
  return { ...admitted, targets, policy: decideActionPolicy(context, mailbox.id, actions, targets.length) };
}

interface Planned {
  readonly mailbox: MailboxEntry;
  readonly steps: readonly { readonly action: ActionType }[];
  readonly targets: readonly Pick<Target, 'ref'>[];
}

/** Throws `operation_unsupported` for what this mail server cannot do without risk to other messages. */
export function assertSupported(
  { move, uidPlus, sharesMessages }: ServerCapabilities,
  { mailbox, steps, targets }: Planned,
): void {
  if (steps.some(({ action }) => action === 'expunge')) {
    if (!uidPlus) {
      const message = 'This mail server cannot remove single messages (no UIDPLUS).';
      throw new GatewayError('operation_unsupported', message, { details: { missing: ['UIDPLUS'] } });
    }
    if (sharesMessages && !targets.every(({ ref }) => endsForGood(mailbox, ref.folder.number))) {
      const message =
        'On this mail server a message ends only in trash or junk; elsewhere an expunge takes away no more than its ' +
        'place in that folder. Use trash first.';
      throw new GatewayError('operation_unsupported', message);
    }
  }
  if (steps.some(({ action }) => relocates({ type: action })) && !move && !uidPlus) {
    throw new GatewayError(
      'operation_unsupported',
      'This mail server offers neither MOVE nor UIDPLUS: a message cannot be moved without risk to others.',
    );
  }
}

const endsForGood = (mailbox: MailboxEntry, folderNumber: number): boolean => {
  const role = roleOfFolder(mailbox, folderNumber);
  return role === 'trash' || role === 'junk';
};

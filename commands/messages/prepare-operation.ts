/**
 * Everything about an operation that is known before its first append: rights, folders, messages, policy. It
 * only reads, so a refusal here leaves no operation and the key unclaimed.
 */
import type { MailboxAccess } from '../kernel/access.ts';
import type { Context } from '../kernel/capability.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import { asReached, roleOfFolder, searchedFolders } from '../kernel/folders.ts';
import type { MailAnswer, MailSession, ServerCapabilities } from '../ports/mail-port.ts';
import { type ActSelect, type Cardinality, MAX_MESSAGES } from '../mail/select.ts';
import { decideActionPolicy } from '../policy/decide-for-caller.ts';
import type { PolicyDecision } from '../policy/decide-policy.ts';
import { type Action, destinationOf, destroys, relocates, stepOf } from './actions.ts';
import type { Mode } from '../operations/authorize-operation.ts';
import {
  type ActionStep,
  type ActionType,
  type OperationTarget,
  RfcMessageIds,
} from '../operations/operation-events.ts';
import { looksIntoText } from '../mail/matches.ts';
import type { MailQuery } from '../mail/query.ts';
import type { FetchedMessage, Identified, MessageRef } from '../mail/message.ts';
import type { Locators, MessagePlace, PersonalData } from '../ports/ports.ts';
import { assertNotHeld } from '../kernel/legal-holds.ts';
import { openJson } from '../kernel/sealed-json.ts';
import type { OperationState } from '../operations/operation.ts';

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
interface Admitted {
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

/** Needs no connection. Throws `not_found`, `conflict` while the mailbox is paused, `folder_role_missing`, `legal_hold`. */
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
  if (destroys(mailbox, steps))
    assertNotHeld(ports.directory, { kind: 'messages', mailboxId: mailbox.id }, caller);
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

/** A message that an operation runs on. */
export interface Target extends OperationTarget {
  readonly ref: MessageRef;
  /** As the mail server just reported it; absent when only the mirror did. */
  readonly face?: Identified;
  /** What a preview shows of the message, as far as it was read. */
  readonly shown?: Pick<FetchedMessage, 'subject'> & Partial<Pick<FetchedMessage, 'from'>>;
}

const invalid = (path: string, message: string): GatewayError =>
  new GatewayError('invalid_request', message, { details: { issues: [{ path, code: 'custom', message }] } });

/** Throws `invalid_request` when ids and a filter are mixed, or a filter comes without `cardinality.max`. */
export function checkSelect(select: ActSelect, cardinality: Cardinality | undefined): void {
  const declarative = select.folder !== undefined || select.filter !== undefined;
  if (select.message_ids === undefined) {
    if (!declarative) throw invalid('operation.select', 'Name message_ids, or a folder or filter.');
    if (cardinality?.max === undefined) {
      throw invalid('cardinality.max', 'A selection by filter means all matches: say how many at most.');
    }
  } else if (declarative) {
    throw invalid('operation.select', 'Use either message_ids or a folder and filter, not both.');
  }
  if (new Set(select.message_ids).size !== (select.message_ids?.length ?? 0)) {
    throw invalid('operation.select.message_ids', 'Each message id may be named once.');
  }
}

/** The place behind a message id of this mailbox. Throws `not_found` for forged and for foreign ids. */
export function placeIn(mailbox: MailboxEntry, locators: Locators, messageId: string): MessageRef {
  const place: MessagePlace | null = locators.openMessage(messageId);
  const folder = mailbox.folders.find(({ number }) => number === place?.folderNumber);
  if (place?.mailboxNumber !== mailbox.number || !folder) throw notFound('message');
  const isMissing = folder.availability === 'missing';
  const { number, path } = folder;
  const ref = { number, path, ...(isMissing && { isMissing }) };
  return { folder: ref, uidValidity: place.uidValidity, uid: place.uid };
}

/**
 * The messages to act on, within the caller's grant, in the order given or newest first. Throws
 * `cardinality_violation` with the count.
 */
async function resolveSelection(
  mail: MailSession,
  context: Context,
  mailbox: MailboxEntry,
  request: { readonly select: ActSelect; readonly cardinality: Cardinality },
): Promise<readonly Target[]> {
  const { select, cardinality } = request;
  const { locators } = context.ports;
  if (select.message_ids) {
    checkCount(select.message_ids.length, { min: 1, max: select.message_ids.length, ...cardinality });
    const refs = select.message_ids.map((id) => placeIn(mailbox, locators, id));
    const found = await mail.identify(refs);
    return select.message_ids.map((id, index) => {
      const face = found[index] ?? null;
      return { ...targetOf(id, refs[index], face), ...(face === null ? {} : { face, shown: face }) };
    });
  }
  const query = declarativeQuery(mailbox, request, context);
  // The count of matches is returned even when nothing runs, so the read is recorded.
  if (looksIntoText(select.filter))
    await context.recordRead({ mailboxId: mailbox.id, messageIds: [], what: 'text' });
  const find = (asked: MailQuery): Promise<MailAnswer> => context.ports.mail.query(mailbox.id, asked, mail);
  const { count } = await find({ ...query, countOnly: true });
  checkCount(count ?? 0, { min: 1, ...cardinality });
  const { messages } = await find(query);
  checkCount(messages.length, { min: 1, ...cardinality });
  return messages.map((message) => {
    const { folder, uidValidity, uid } = message.ref;
    const place = { mailboxNumber: mailbox.number, folderNumber: folder.number, uidValidity, uid };
    return { ...targetOf(locators.message(place), message.ref, message), shown: message };
  });
}

function declarativeQuery(
  mailbox: MailboxEntry,
  { select, cardinality }: { select: ActSelect; cardinality: Cardinality },
  { ports }: Context,
): MailQuery {
  return {
    folders: searchedFolders(mailbox, select.folder, ports.locators),
    filter: select.filter ?? {},
    order: 'received_desc',
    limit: (cardinality.max ?? MAX_MESSAGES) + 1,
    after: null,
    depth: 'envelope',
    textChars: null,
    countOnly: false,
  };
}

function targetOf(messageId: string, ref: MessageRef | undefined, found: Identified | null): Target {
  if (!ref) throw notFound('message');
  return { message_id: messageId, rfc_message_id: found?.messageId ?? null, stale: found === null, ref };
}

function checkCount(count: number, { min = 1, max = MAX_MESSAGES }: Cardinality): void {
  if (count >= min && count <= max) return;
  const next =
    count > max
      ? `To act on some of them, query with limit ${String(max)} and name their message_ids; to act on all, raise cardinality.max.`
      : 'Query to see what matches.';
  throw new GatewayError(
    'cardinality_violation',
    `The selection matches ${String(count)} messages; the request allows ${String(min)} to ${String(max)}. Nothing was changed. ${next}`,
    { details: { count, min, max, suggested_tool: 'email_query' } },
  );
}

/** The targets with their Message-IDs, which are null once the mailbox was erased. */
export async function openTargets(
  personal: Pick<PersonalData, 'open'>,
  { targets, rfcMessageIds }: Pick<OperationState, 'targets' | 'rfcMessageIds'>,
): Promise<readonly OperationTarget[]> {
  const ids = await openJson(personal, rfcMessageIds, RfcMessageIds);
  return targets.map((target, index) => ({ ...target, rfc_message_id: ids?.[index] ?? null }));
}

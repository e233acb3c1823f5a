/** Resolves the messages an operation runs on, before anything is written. */
import { looksIntoText } from '../mail/matches.ts';
import type { Context } from '../kernel/capability.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import type { MailAnswer, MailSession } from '../ports/mail-port.ts';
import type { MailQuery } from '../mail/query.ts';
import type { FetchedMessage, Identified, MessageRef } from '../mail/message.ts';
import type { Locators, MessagePlace, PersonalData } from '../ports/ports.ts';
import { searchedFolders } from '../kernel/searched-folders.ts';
import { type ActSelect, type Cardinality, MAX_MESSAGES } from '../mail/select.ts';
import type { OperationTarget } from '../operations/operation-events.ts';
import { openJson } from '../kernel/sealed-json.ts';
import type { OperationState } from '../operations/operation.ts';
import { RfcMessageIds } from '../operations/operation-events.ts';

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
export async function resolveSelection(
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

/** What to answer where a route names one message that is not at its place any more (`contract.md` 4). */
import type { MailboxEntry } from '../ports/directory.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import { catalogueOf, readEvent } from '../values/event.ts';
import type { MailAnswer } from '../ports/mail-port.ts';
import type { MessageRef } from '../mail/message.ts';
import type { MessageMove, Ports } from '../ports/ports.ts';
import { searchedFolders } from '../kernel/searched-folders.ts';
import { OperationSubmitted } from '../operations/operation-events.ts';
import { openTargets, placeIn } from './selection.ts';

export type StalePorts = Pick<
  Ports,
  'events' | 'locators' | 'mail' | 'mirrorVersions' | 'moves' | 'personal' | 'readModels'
>;

const catalogue = catalogueOf([OperationSubmitted]);

/**
 * The refusal to throw: `message_stale` when the message moved, with `details.current_id` where that is known; `not_found` when it
 * is gone, or lies beyond what the grant reaches: give the mailbox `asReached`. Its new place is looked up among the gateway's own moves, then by what the
 * index knew of it. Throws what the mail port throws.
 */
export async function staleMessage(
  ports: StalePorts,
  mailbox: MailboxEntry,
  messageId: string,
): Promise<GatewayError> {
  // A move that was answered a moment ago has to be known here.
  await ports.readModels.waitFor(await ports.events.headPosition(), 1_000);
  const moves = await ports.moves.follow(messageId);
  const last = moves.at(-1);
  if (last === undefined) return await withoutMoves(ports, mailbox, messageId);
  if (last.newId !== null && (await isThere(ports, mailbox, last.newId))) return stale(last.newId);
  const rfcMessageId = await messageIdHeader(ports, last);
  if (rfcMessageId === null) return last.newId === null ? stale(null) : notFound('message');
  return await byMessageId(ports, mailbox, rfcMessageId);
}

const stale = (currentId: string | null): GatewayError =>
  new GatewayError('message_stale', 'The message has moved; its id is another one now.', {
    details: currentId === null ? {} : { current_id: currentId },
  });

/** Nothing of ours moved it; another client may have. UIDVALIDITY tells whether the folder's ids mean anything any more. */
async function withoutMoves(
  ports: StalePorts,
  mailbox: MailboxEntry,
  messageId: string,
): Promise<GatewayError> {
  const currentId = await movedByOthers(ports, mailbox, messageId);
  if (currentId !== null) return stale(currentId);
  const { folder, uidValidity } = placeIn(mailbox, ports.locators, messageId);
  const now = await ports.mail.withMailbox(mailbox.id, 'interactive', (mail) => mail.folderStatus(folder));
  return now.uidValidity === uidValidity ? notFound('message') : stale(null);
}

/** The one other place where the same message lies; null when there is none, or nobody can say which it is. */
async function movedByOthers(
  ports: StalePorts,
  mailbox: MailboxEntry,
  messageId: string,
): Promise<string | null> {
  const ref = placeIn(mailbox, ports.locators, messageId);
  const known = await ports.mirrorVersions.knownMessage(mailbox.number, ref);
  if (known === null) return null;
  const { messages, next } = await withMessageId(ports, mailbox, known.rfcMessageId);
  // One that was sent to oneself, or to a list as well, came as several messages: deleting one of them moves nothing.
  const alike = messages
    .filter(({ size, receivedAt }) => size === known.size && +receivedAt === +known.receivedAt)
    .map(({ ref }) => idOf(ports, mailbox, ref))
    .filter((id) => id !== messageId);
  return next === null && alike.length === 1 ? (alike[0] ?? null) : null;
}

async function isThere(ports: StalePorts, mailbox: MailboxEntry, messageId: string): Promise<boolean> {
  const folderNumber = ports.locators.openMessage(messageId)?.folderNumber;
  if (!mailbox.folders.some(({ number }) => number === folderNumber)) return false;
  const ref: MessageRef = placeIn(mailbox, ports.locators, messageId);
  const [found] = await ports.mail.withMailbox(mailbox.id, 'interactive', (mail) =>
    mail.fetch([ref], 'place', null),
  );
  return found != null;
}

/** RFC 5322 Message-ID of a moved message, as its operation noted it; null when it has none. */
async function messageIdHeader(
  { events, personal }: StalePorts,
  { operationId, messageId }: MessageMove,
): Promise<string | null> {
  const [submitted] = await events.readStream(`operation-${operationId}`);
  const fact = submitted && readEvent(catalogue, submitted);
  if (!fact) return null;
  const { targets: stored, rfc_message_ids: rfcMessageIds } = OperationSubmitted.data.parse(fact.data);
  const targets = await openTargets(personal, { targets: stored, rfcMessageIds });
  return targets.find((target) => target.message_id === messageId)?.rfc_message_id ?? null;
}

async function byMessageId(
  ports: StalePorts,
  mailbox: MailboxEntry,
  rfcMessageId: string,
): Promise<GatewayError> {
  const [found, another] = (await withMessageId(ports, mailbox, rfcMessageId)).messages;
  if (found === undefined) return notFound('message');
  // Copies have one Message-ID: which of them it is nobody can say.
  return stale(another === undefined ? idOf(ports, mailbox, found.ref) : null);
}

/** More copies than these say nothing about where one of them went. */
const MOST_COPIES = 10;

const withMessageId = (ports: StalePorts, mailbox: MailboxEntry, rfcMessageId: string): Promise<MailAnswer> =>
  ports.mail.query(mailbox.id, {
    folders: searchedFolders(mailbox, 'all', ports.locators),
    filter: { message_id_header: rfcMessageId },
    order: 'received_desc',
    limit: MOST_COPIES,
    after: null,
    depth: 'place',
    textChars: null,
    countOnly: false,
  });

const idOf = (
  { locators }: StalePorts,
  mailbox: MailboxEntry,
  { folder, uidValidity, uid }: MessageRef,
): string =>
  locators.message({ mailboxNumber: mailbox.number, folderNumber: folder.number, uidValidity, uid });

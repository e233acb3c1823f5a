/** The answer where a route names a message that is no longer at its place (`contract.md` 4). */
import type { MailboxEntry } from '../ports/directory.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import { catalogueOf, readEvent } from '../values/event.ts';
import type { MailAnswer } from '../ports/mail-port.ts';
import type { MessageRef } from '../mail/message.ts';
import type { MessageMove, Ports } from '../ports/ports.ts';
import { searchedFolders } from '../kernel/folders.ts';
import { OperationSubmitted } from '../operations/operation-events.ts';
import { openTargets, placeIn } from './prepare-operation.ts';

type StalePorts = Pick<
  Ports,
  'events' | 'locators' | 'mail' | 'mirrorVersions' | 'moves' | 'personal' | 'readModels'
>;

const catalogue = catalogueOf([OperationSubmitted]);

/**
 * Returns the refusal to throw: `message_stale` when the message moved, with `details.current_id` where that
 * is known; `not_found` when it is gone or outside the reach of the grant (pass the mailbox `asReached`). The
 * new place is sought among the gateway's own moves, then by what the mirror knew of the message. Throws what
 * the mail port throws.
 */
export async function staleMessage(
  ports: StalePorts,
  mailbox: MailboxEntry,
  messageId: string,
): Promise<GatewayError> {
  // A move that was answered just before must be known here.
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

/** Not moved by the gateway, maybe by another client. UIDVALIDITY shows whether the ids are still valid. */
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

/** The one other place of the same message; null when there is none, or several are possible. */
async function movedByOthers(
  ports: StalePorts,
  mailbox: MailboxEntry,
  messageId: string,
): Promise<string | null> {
  const ref = placeIn(mailbox, ports.locators, messageId);
  const known = await ports.mirrorVersions.knownMessage(mailbox.number, ref);
  if (known === null) return null;
  const { messages, next } = await withMessageId(ports, mailbox, known.rfcMessageId);
  // A message to oneself, or to a list as well, arrives several times: deleting one moves nothing.
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

/** RFC 5322 Message-ID of a moved message, as its operation recorded it; null when it has none. */
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
  // Copies share one Message-ID, so the moved one cannot be determined.
  return stale(another === undefined ? idOf(ports, mailbox, found.ref) : null);
}

/** More copies than these do not show where one of them went. */
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

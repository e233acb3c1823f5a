/** The bytes of a payload: the same for every attempt and replay, as far as the person behind the endpoint may see them. */
import { heldContent } from '../../commands/kernel/legal-holds.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import type { DeliveryRow } from '../../commands/ports/webhook-records.ts';
import type { PayloadForm } from '../../commands/webhooks/endpoint-events.ts';
import { placeIn } from '../../commands/messages/prepare-operation.ts';
import type { FetchedMessage } from '../../commands/mail/message.ts';
import type { Sealed } from '../../commands/values/sealed.ts';

/** Events whose message is still where its id says. */
const WITH_SUMMARY: ReadonlySet<string> = new Set(['message.received', 'message.updated', 'message.moved']);
/** A slow mail server does not hold up its webhooks: they then go out without the summary. */
const READ_WITHIN_MS = 2_000;

type Used = Pick<Ports, 'sql' | 'mail' | 'directory' | 'locators' | 'personal' | 'clock' | 'log'>;

export const withheldBody = ({ eventType, sequence }: DeliveryRow): string =>
  JSON.stringify({ type: eventType, sequence, withheld: true });

export async function payloadBody(ports: Used, delivery: DeliveryRow, form: PayloadForm): Promise<string> {
  const { eventType, occurredAt, sequence } = delivery;
  const message = form === 'summary' ? await frozenSummary(ports, delivery) : null;
  const data = { ...delivery.data, ...(message !== null && { message }) };
  return JSON.stringify({ type: eventType, timestamp: occurredAt, data, sequence });
}

/** What the first attempt read; null when it could not, or the mailbox was erased. */
async function frozenSummary(ports: Used, delivery: DeliveryRow): Promise<unknown> {
  const { eventId, eventType, mailboxId, data } = delivery;
  const messageId = data['message_id'];
  if (mailboxId === null || typeof messageId !== 'string' || !WITH_SUMMARY.has(eventType)) return null;
  const frozen = await stored(ports, eventId);
  if (frozen !== undefined) return await opened(ports, frozen);
  const summary = await readSummary(ports, mailboxId, messageId);
  const sealed = summary === null ? null : await ports.personal.seal(mailboxId, JSON.stringify(summary));
  await ports.sql.query(
    'insert into vault.webhook_payload (event_id, mailbox_id, summary, created_at) values ($1, $2, $3, $4) on conflict do nothing',
    [eventId, mailboxId, sealed, ports.clock.now()],
  );
  // Read back: an attempt to another endpoint may have been first.
  return await opened(ports, (await stored(ports, eventId)) ?? null);
}

async function stored({ sql }: Used, eventId: string): Promise<Sealed | null | undefined> {
  const [row] = await sql.query<{ summary: Sealed | null }>(
    'select summary from vault.webhook_payload where event_id = $1',
    [eventId],
  );
  return row?.summary;
}

async function opened({ personal }: Used, sealed: Sealed | null): Promise<unknown> {
  const text = sealed === null ? null : await personal.open(sealed);
  return text === null ? null : JSON.parse(text);
}

async function readSummary(ports: Used, mailboxId: string, messageId: string): Promise<object | null> {
  const limit = new AbortController();
  try {
    return await Promise.race([
      fetchSummary(ports, mailboxId, messageId),
      ports.clock.sleep(READ_WITHIN_MS, limit.signal).then(() => null),
    ]);
  } catch (error) {
    ports.log.info('webhooks: sent without the summary of a message', {
      mailbox_id: mailboxId,
      error: String(error),
    });
    return null;
  } finally {
    limit.abort();
  }
}

async function fetchSummary(
  { mail, directory, locators }: Used,
  mailboxId: string,
  messageId: string,
): Promise<object | null> {
  const mailbox = directory.state.mailboxes.get(mailboxId);
  if (mailbox === undefined) return null;
  const ref = placeIn(mailbox, locators, messageId);
  const [fetched] = await mail.withMailbox(mailboxId, 'bulk', (session) =>
    session.fetch([ref], 'structure', null),
  );
  return fetched ? summaryOf(fetched) : null;
}

const summaryOf = (fetched: FetchedMessage): object => ({
  origin: 'external',
  ...(fetched.threadId !== undefined && { thread_id: fetched.threadId }),
  subject: fetched.subject,
  from: [...fetched.from],
  to: [...fetched.to],
  received_at: fetched.receivedAt.toISOString(),
  seen: fetched.seen,
  flagged: fetched.flagged,
  answered: fetched.answered,
  size: fetched.size,
  has_attachments: fetched.hasAttachments,
});

/** Payloads older than this are not sent again. Those of a held mailbox stay, and all while a hold may be missing here. */
export async function eraseOldPayloads(
  { sql, directory }: Pick<Ports, 'sql' | 'directory'>,
  before: Date,
): Promise<void> {
  if (!(await directory.untilCurrent())) return;
  const held = heldContent(directory.state)?.mailboxIds ?? [];
  await sql.query(
    'delete from vault.webhook_payload where created_at < $1 and mailbox_id <> all($2::text[])',
    [before, held],
  );
}

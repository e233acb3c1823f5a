/** Mailbox numbers: what sealed locators name a mailbox by (`contract.md` 1). */
import { appendFacts, type Author } from '../kernel/decide-and-append.ts';
import { catalogueOf, readEvent } from '../kernel/event.ts';
import { GatewayError } from '../kernel/errors.ts';
import { type Ports, WrongExpectedRevision } from '../kernel/ports.ts';
import { MailboxNumberReserved } from './mailbox-events.ts';

const catalogue = catalogueOf([MailboxNumberReserved]);

/** So many numbers taken but not known to the directory mean that it is far behind. */
const MAX_ATTEMPTS = 64;

/**
 * Reserves the first free number above the highest known. The same mailbox resumes its own reservation. Throws
 * `overloaded` when too many are taken, `store_unavailable`.
 */
export async function reserveMailboxNumber(
  ports: Pick<Ports, 'events' | 'ids' | 'clock' | 'directory'>,
  author: Author,
  mailboxId: string,
): Promise<number> {
  const highest = Math.max(0, ...ports.directory.state.mailboxIdByNumber.keys());
  for (let number = highest + 1; number <= highest + MAX_ATTEMPTS; number += 1) {
    const stream = `mailboxNumber-${String(number)}`;
    try {
      const facts = [{ type: MailboxNumberReserved.type, data: { mailbox_id: mailboxId } }];
      await appendFacts(ports, author, { stream, expected: 'no-stream', catalogue, facts });
      return number;
    } catch (error) {
      if (!(error instanceof WrongExpectedRevision)) throw error;
      if ((await reservedFor(ports, stream)) === mailboxId) return number;
    }
  }
  throw new GatewayError(
    'overloaded',
    'Mailbox numbers are being taken faster than they are seen; try again.',
  );
}

async function reservedFor(ports: Pick<Ports, 'events'>, stream: string): Promise<string | null> {
  const [first] = await ports.events.readStream(stream);
  const fact = first && readEvent(catalogue, first);
  return fact ? MailboxNumberReserved.data.parse(fact.data).mailbox_id : null;
}

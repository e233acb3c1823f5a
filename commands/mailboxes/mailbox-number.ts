/** Mailbox numbers: sealed locators identify mailboxes by them (`contract.md` 1). */
import { appendOrNull, type Author } from '../kernel/decide-and-append.ts';
import { catalogueOf, readEvent } from '../values/event.ts';
import { GatewayError } from '../values/errors.ts';
import type { Ports } from '../ports/ports.ts';
import { MailboxNumberReserved } from './mailbox-events.ts';

const catalogue = catalogueOf([MailboxNumberReserved]);

/**
 * Numbers in a block. There are 2,048 blocks, so that a number fits the 31 bits of the mirror. Installations
 * that share keys use different blocks (MAILBOX_NUMBER_BLOCK), so that no two name the same mailbox.
 */
const NUMBERS_PER_BLOCK = 2 ** 20;
export const LAST_BLOCK = 2 ** 11 - 1;

/** The block of a mailbox number. */
export const blockOf = (number: number): number => Math.floor(number / NUMBERS_PER_BLOCK);

/** This many taken numbers unknown to the directory mean that it is far behind. */
const MAX_ATTEMPTS = 64;

/**
 * Reserves the first free number above the highest known one of this installation's block. The same mailbox
 * resumes its own reservation. Throws `overloaded` when too many are taken or the block is full,
 * `store_unavailable`.
 */
export async function reserveMailboxNumber(
  ports: Pick<Ports, 'events' | 'ids' | 'clock' | 'directory' | 'server'>,
  author: Author,
  mailboxId: string,
): Promise<number> {
  const block = ports.server.mailboxNumberBlock;
  const highest = ports.directory.state.highestMailboxNumbers.get(block) ?? block * NUMBERS_PER_BLOCK;
  const last = Math.min(highest + MAX_ATTEMPTS, (block + 1) * NUMBERS_PER_BLOCK - 1);
  for (let number = highest + 1; number <= last; number += 1) {
    const stream = `mailboxNumber-${String(number)}`;
    const facts = [{ type: MailboxNumberReserved.type, data: { mailbox_id: mailboxId } }];
    const appended = await appendOrNull(ports, author, { stream, expected: 'no-stream', catalogue, facts });
    if (appended !== null || (await reservedFor(ports, stream)) === mailboxId) return number;
  }
  throw new GatewayError(
    'overloaded',
    'No mailbox number is free at the moment: many mailboxes are being added at once, or the block of numbers is full. Try again.',
  );
}

async function reservedFor(ports: Pick<Ports, 'events'>, stream: string): Promise<string | null> {
  const [first] = await ports.events.readStream(stream);
  const fact = first && readEvent(catalogue, first);
  return fact ? MailboxNumberReserved.data.parse(fact.data).mailbox_id : null;
}

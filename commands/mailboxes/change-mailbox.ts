/**
 * How every capability writes to a mailbox: refuse early, claim the key, append, answer when the directory
 * has applied it.
 */
import { answerWhenKnown, type Context } from '../kernel/capability.ts';
import { decideAndAppend, loadAggregate } from '../kernel/decide-and-append.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import { notFound } from '../values/errors.ts';
import { mailbox, type MailboxFact, type MailboxRecord } from './mailbox.ts';

/**
 * Decides once before the Idempotency-Key is claimed, so that a refusal leaves the key free. `prepare` runs
 * between key and append: what the event names must exist first.
 */
export async function changeMailbox(
  context: Context,
  mailboxId: string,
  decide: (state: MailboxRecord) => readonly MailboxFact[],
  prepare?: () => Promise<void>,
): Promise<MailboxRecord> {
  const { ports, writer, author } = context;
  const { state: before } = await loadAggregate(ports.events, mailbox, mailboxId);
  decide(before);
  await context.claim('req');
  await prepare?.();
  const { state, position } = await decideAndAppend(writer, author, mailbox, { id: mailboxId, decide });
  await answerWhenKnown(context, position);
  return state;
}

/**
 * The directory's entry of a mailbox of the caller's organisation. Throws `not_found`, also after its
 * erasure.
 */
export function entryOf(
  { ports, caller }: Pick<Context, 'ports' | 'caller'>,
  mailboxId: string,
): MailboxEntry {
  const entry = ports.directory.state.mailboxes.get(mailboxId);
  const erased = entry?.state === 'removed' && entry.eraseAt === null;
  if (entry?.orgId !== caller.org.id || erased) throw notFound('mailbox');
  return entry;
}

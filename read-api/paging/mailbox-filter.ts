/** The `mailbox_id` by which lists of approvals and operations are narrowed. */
import type { Context } from '../../commands/kernel/capability.ts';
import { notFound } from '../../commands/values/errors.ts';

/** The id, or null without one. Throws `not_found` for a mailbox the organisation does not have: an empty list would say that it has none. */
export function mailboxFilter({ caller, ports }: Context, mailboxId: string | undefined): string | null {
  if (mailboxId === undefined) return null;
  if (ports.directory.state.mailboxes.get(mailboxId)?.orgId !== caller.org.id) throw notFound('mailbox');
  return mailboxId;
}

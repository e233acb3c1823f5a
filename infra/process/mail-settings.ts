/** Where and as whom a mailbox is connected: settings from the directory, a login that is good now. */
import type { Directory } from '../../commands/ports/directory.ts';
import { GatewayError, notFound } from '../../commands/values/errors.ts';
import type { MailLogins } from '../../commands/ports/mail-logins.ts';
import type { MailLogin } from '../../commands/ports/mail-port.ts';
import type { MailboxChange } from '../directory/memory-directory.ts';
import type { MailboxSettings } from '../mail/imap-gateway.ts';

/**
 * `refused` is the login that the mail server just turned away: an access token is replaced then. Throws `not_found`,
 * `conflict` for a paused mailbox, and what `MailLogins.current` throws.
 */
export async function mailSettingsOf(
  directory: Directory,
  logins: MailLogins,
  mailboxId: string,
  refused?: MailLogin,
): Promise<MailboxSettings> {
  const mailbox = directory.state.mailboxes.get(mailboxId);
  if (!mailbox || mailbox.state === 'removed') throw notFound('mailbox');
  if (mailbox.state === 'paused') {
    throw new GatewayError('conflict', 'The mailbox is paused; resume it with PATCH {"paused": false}.');
  }
  const { imap, smtp } = mailbox;
  return { imap, smtp, login: await logins.current(mailbox, refused) };
}

/**
 * True when connections made before the change are none of the mailbox's any more: it rests, is gone or unknown, has to be
 * authorized anew, or was given another login or server. All of these but the first two let it wait to be connected.
 */
export const endsConnections = ({ before, now }: MailboxChange): boolean =>
  before !== null &&
  now?.state !== before.state &&
  (now === null || now.state === 'pending' || now.state === 'paused' || now.state === 'removed');

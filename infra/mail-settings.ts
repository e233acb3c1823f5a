/** Where and as whom a mailbox is connected: settings from the directory, the secret from the vault. */
import type { Directory } from '../commands/kernel/directory.ts';
import { GatewayError, notFound } from '../commands/kernel/errors.ts';
import type { Secrets } from '../commands/kernel/ports.ts';
import type { MailboxSettings } from './mail/imap-gateway.ts';

/** Throws `not_found`, `conflict` for a paused mailbox, `mailbox_auth_failed` when no credentials are stored. */
export async function mailSettingsOf(
  directory: Directory,
  secrets: Secrets,
  mailboxId: string,
): Promise<MailboxSettings> {
  const mailbox = directory.state.mailboxes.get(mailboxId);
  if (!mailbox || mailbox.state === 'removed') throw notFound('mailbox');
  if (mailbox.state === 'paused') {
    throw new GatewayError('conflict', 'The mailbox is paused; resume it with PATCH {"paused": false}.');
  }
  const credentials = await secrets.loadMailCredentials(mailboxId);
  if (credentials === null) {
    throw new GatewayError(
      'mailbox_auth_failed',
      'No credentials are stored; store them with PUT …/credentials.',
    );
  }
  return { imap: mailbox.imap, smtp: mailbox.smtp, ...credentials };
}

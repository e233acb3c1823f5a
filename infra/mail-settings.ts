/** Where and as whom a mailbox is connected: settings from the directory, the secret from the vault. */
import type { Directory } from '../commands/kernel/directory.ts';
import { GatewayError, notFound } from '../commands/kernel/errors.ts';
import type { HostSettings } from '../commands/kernel/mail-port.ts';
import type { MailCredentials, Secrets } from '../commands/kernel/ports.ts';

export interface MailSettings {
  readonly imap: HostSettings;
  readonly credentials: MailCredentials;
}

/** Throws `not_found`, `conflict` for a paused mailbox, `mailbox_auth_failed` when no credentials are stored. */
export async function mailSettingsOf(
  directory: Directory,
  secrets: Secrets,
  mailboxId: string,
): Promise<MailSettings> {
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
  return { imap: mailbox.imap, credentials };
}

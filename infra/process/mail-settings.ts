/** The connection settings of a mailbox: servers from the directory, and a currently valid login. */
import { allSelectable } from '../../commands/kernel/folders.ts';
import { isWorkedOn } from '../../commands/kernel/membership.ts';
import type { Directory } from '../../commands/ports/directory.ts';
import { GatewayError, notFound } from '../../commands/values/errors.ts';
import type { MailLogins } from '../../commands/ports/mail-logins.ts';
import type { MailLogin } from '../../commands/ports/mail-port.ts';
import type { MailboxChange } from '../directory/mailbox-news.ts';
import type { DirectoryCopy } from '../directory/memory-directory.ts';
import type { ImapGateway, MailboxSettings } from '../mail/imap-gateway.ts';
import type { FeedFollower } from '../waiting/feed-follower.ts';

/**
 * `refused` is the login that the mail server just rejected: an access token is then replaced. Throws
 * `not_found`, `conflict` for a mailbox that is paused or of a deleted organisation, and what
 * `MailLogins.current` throws.
 */
export async function mailSettingsOf(
  directory: Directory,
  logins: MailLogins,
  mailboxId: string,
  refused?: MailLogin,
): Promise<MailboxSettings> {
  const mailbox = directory.state.mailboxes.get(mailboxId);
  if (!mailbox || mailbox.state === 'removed') throw notFound('mailbox');
  if (!isWorkedOn(directory.state, mailbox)) {
    throw new GatewayError('conflict', 'The organisation of this mailbox is deleted.');
  }
  if (mailbox.state === 'paused') {
    throw new GatewayError('conflict', 'The mailbox is paused; resume it with PATCH {"paused": false}.');
  }
  const { imap, smtp } = mailbox;
  return { imap, smtp, login: await logins.current(mailbox, refused) };
}

/**
 * True when connections made before the change must end: the mailbox was paused or removed, is unknown, or is
 * pending because it requires a new authorization or has another login or server.
 */
const endsConnections = ({ before, now }: MailboxChange): boolean =>
  before !== null &&
  now?.state !== before.state &&
  (now === null || now.state === 'pending' || now.state === 'paused' || now.state === 'removed');

/**
 * True when a folder left its path: it was renamed or removed, or now only holds other folders. Another may be created
 * there, and a connection that has the old one open would go on showing the old one.
 */
const leavesPath = ({ before, now }: MailboxChange): boolean => {
  if (before === null || now === null || before.folders === now.folders) return false;
  const pathNow = new Map(allSelectable(now).map(({ number, path }) => [number, path]));
  return allSelectable(before).some(({ number, path }) => pathNow.get(number) !== path);
};

/**
 * One process finds that a mailbox was paused or removed, or that a folder left its path or was replaced by another
 * of its name. Every process then ends its connections, or opens the folder on each again before it is next read.
 */
export function keepConnectionsTrue(
  mail: Pick<ImapGateway, 'disconnect' | 'doubtFolders'>,
  {
    directory,
    feed,
  }: {
    readonly directory: Pick<DirectoryCopy, 'onMailboxChange'>;
    readonly feed: Pick<FeedFollower, 'onFolderReset'>;
  },
): void {
  directory.onMailboxChange((change) => {
    if (endsConnections(change)) void mail.disconnect(change.id);
    else if (leavesPath(change)) mail.doubtFolders(change.id);
  });
  feed.onFolderReset((mailboxId) => {
    mail.doubtFolders(mailboxId);
  });
}

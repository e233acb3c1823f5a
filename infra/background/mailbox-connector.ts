/** Connects mailboxes in the background and tries again with growing pauses what failed. */
import type { MailboxEntry } from '../../commands/kernel/directory.ts';
import type { Ports } from '../../commands/kernel/ports.ts';
import { connectMailbox, recordSynced } from '../../commands/mailboxes/connect-mailbox.ts';
import { Backoff, repeat } from './repeat.ts';

const LOOK_EVERY_MS = 250;
/** A provider's throttling or outage is over in minutes; a wrong password only when somebody changes it. */
const UNREACHABLE = { firstMs: 1_000, mostMs: 5 * 60_000 };
const REFUSED = { firstMs: 60_000, mostMs: 60 * 60_000 };
const AT_ONCE = 8;

const wantsConnection = ({ state }: MailboxEntry): boolean =>
  state === 'pending' || state === 'connecting' || state === 'connection_failed' || state === 'auth_failed';

/** Looks after every mailbox of the directory until the signal aborts. */
export async function runMailboxConnector(ports: Ports, signal: AbortSignal): Promise<void> {
  const unreachable = new Backoff(UNREACHABLE.firstMs, UNREACHABLE.mostMs);
  const refused = new Backoff(REFUSED.firstMs, REFUSED.mostMs);
  const underWay = new Map<string, Promise<void>>();

  const attempt = async (mailbox: MailboxEntry): Promise<void> => {
    const key = attemptKey(mailbox);
    if (key !== mailbox.id) for (const backoff of [unreachable, refused]) backoff.clear(mailbox.id);
    const { outcome } = await connectMailbox(ports, mailbox.id, () =>
      ports.mail.withMailbox(mailbox.id, 'bulk', async (mail) => ({
        capabilities: mail.capabilities.names,
        listing: await mail.listFolders(),
      })),
    );
    if (outcome === 'connected') await recordSynced(ports, mailbox.id);
    const now = ports.clock.now().getTime();
    if (outcome === 'connection_failed') unreachable.failed(mailbox.id, now);
    else if (outcome === 'auth_failed') refused.failed(mailbox.id, now);
    else for (const backoff of [unreachable, refused]) backoff.clear(mailbox.id);
  };

  const loop = {
    name: 'mailbox-connector',
    everyMs: LOOK_EVERY_MS,
    clock: ports.clock,
    log: ports.log,
    signal,
  };
  await repeat(loop, async () => {
    const now = ports.clock.now().getTime();
    for (const mailbox of ports.directory.state.mailboxes.values()) {
      if (underWay.size >= AT_ONCE) break;
      const key = attemptKey(mailbox);
      if (!wantsConnection(mailbox) || underWay.has(mailbox.id)) continue;
      if (!unreachable.isDue(key, now) || !refused.isDue(key, now)) continue;
      const work = attempt(mailbox)
        .catch((error: unknown) => {
          unreachable.failed(key, ports.clock.now().getTime());
          ports.log.warn('a mailbox could not be connected', {
            mailbox_id: mailbox.id,
            error: String(error),
          });
        })
        .finally(() => underWay.delete(mailbox.id));
      underWay.set(mailbox.id, work);
    }
  });
  await Promise.all(underWay.values());
}

/** New settings or credentials put a mailbox back to `pending`: a new reason to try, whatever the pauses were. */
const attemptKey = ({ id, state, version }: MailboxEntry): string =>
  state === 'pending' ? `${id}/${String(version)}` : id;

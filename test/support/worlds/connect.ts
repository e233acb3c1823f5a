/** Connecting a mailbox without a worker: through the mail port, and its index is taken for complete. */
import type { Ports } from '../../../commands/ports/ports.ts';
import {
  connectMailbox,
  type ConnectOutcome,
  recordSynced,
} from '../../../commands/mailboxes/connect-mailbox.ts';

/** As the worker does it on its first connection; the mailbox is `syncing` after it. */
export const greetMailbox = (ports: Ports, mailboxId: string): Promise<ConnectOutcome> =>
  connectMailbox(ports, mailboxId, () =>
    ports.mail.withMailbox(mailboxId, 'bulk', async (mail) => ({
      capabilities: mail.capabilities.names,
      listing: await mail.listFolders(),
    })),
  );

/** Greeted and passed over: the mailbox is `connected`. */
export async function connectAndSync(ports: Ports, mailboxId: string): Promise<ConnectOutcome> {
  const outcome = await greetMailbox(ports, mailboxId);
  if (outcome.outcome === 'connected') await recordSynced(ports, mailboxId);
  return outcome;
}

/** Connects a mailbox without a worker: through the mail port, and its mirror counts as complete. */
import type { Ports } from '../../../commands/ports/ports.ts';
import {
  connectMailbox,
  type ConnectOutcome,
  recordSynced,
} from '../../../commands/mailboxes/connect-mailbox.ts';

/** As the worker does on its first connection; the mailbox is then `syncing`. */
export const greetMailbox = (ports: Ports, mailboxId: string): Promise<ConnectOutcome> =>
  connectMailbox(ports, mailboxId, () =>
    ports.mail.withMailbox(mailboxId, 'bulk', async (mail) => ({
      capabilities: mail.capabilities.names,
      listing: await mail.listFolders(),
    })),
  );

/** Runs both steps: the mailbox is then `connected`. */
export async function connectAndSync(ports: Ports, mailboxId: string): Promise<ConnectOutcome> {
  const outcome = await greetMailbox(ports, mailboxId);
  if (outcome.outcome === 'connected') await recordSynced(ports, mailboxId);
  return outcome;
}

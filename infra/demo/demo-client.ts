/** A plain IMAP client of the demo mailbox, beside the gateway. */
import { ImapFlow } from 'imapflow';

/** Where one protocol of the demo mailbox is, without TLS, on loopback. */
export interface DemoMailAccess {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
}

/** Logged in. Throws what the mail server fails with. */
export async function demoClient({ host, port, user, password }: DemoMailAccess): Promise<ImapFlow> {
  const client = new ImapFlow({
    host,
    port,
    secure: false,
    doSTARTTLS: false,
    auth: { user, pass: password },
    logger: false,
    disableAutoIdle: true,
  });
  // The command in hand reports the failure; without a listener the event would end the process.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

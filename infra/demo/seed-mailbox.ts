/** Fills an empty demo mailbox. */
import { ImapFlow } from 'imapflow';
import { seedContent, type SeedMail } from './seed-content.ts';
import type { SeedPerson } from './seed-message.ts';

/** Connections that append side by side, each a folder of its own: within a folder the order stays. */
const CONNECTIONS = 4;
const INBOX = 'INBOX';

/**
 * How many messages were put in; 0 when INBOX holds any. INBOX is filled last, so an interrupted start continues where
 * it ended. Throws what the mail server fails with.
 */
export async function seedMailbox(imap: DemoMailAccess, now: Date = new Date()): Promise<number> {
  const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => demoClient(imap)));
  try {
    const [first] = clients;
    if (first === undefined) return 0;
    const counts = await countMessages(first);
    if ((counts.get(INBOX) ?? 0) > 0) return 0;
    const me: SeedPerson = { name: 'Anna Müller', email: imap.user };
    const folders = Map.groupBy(seedContent(me, now), ({ folder }) => folder);
    for (const folder of folders.keys()) if (!counts.has(folder)) await first.mailboxCreate(folder);
    const rest = [...folders].map(([folder, mails]) => ({
      folder,
      mails: mails.slice(counts.get(folder) ?? 0),
    }));
    const others = rest.filter(({ folder }) => folder !== INBOX);
    await Promise.all(
      clients.map(async (client, at) => {
        for (const { mails } of others.filter((_, index) => index % CONNECTIONS === at))
          await append(client, mails);
      }),
    );
    for (const { mails } of rest.filter(({ folder }) => folder === INBOX)) await append(first, mails);
    return rest.reduce((sum, { mails }) => sum + mails.length, 0);
  } finally {
    await Promise.all(clients.map((client) => client.logout()));
  }
}

/** Messages by folder that is there. */
async function countMessages(client: ImapFlow): Promise<ReadonlyMap<string, number>> {
  const folders = await client.list({ statusQuery: { messages: true } });
  return new Map(folders.map(({ path, status }) => [path, status?.messages ?? 0]));
}

async function append(client: ImapFlow, mails: readonly SeedMail[]): Promise<void> {
  // Queued on the connection, so that none waits for the answer to the one before.
  const appended = await Promise.all(
    mails.map(({ folder, raw, flags, receivedAt }) => client.append(folder, raw, [...flags], receivedAt)),
  );
  if (appended.some((answer) => !answer)) throw new Error('The demo mailbox could not be filled.');
}

/** Where one protocol of the demo mailbox is, without TLS, on loopback. */
export interface DemoMailAccess {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
}

/** Logged in. Throws what the mail server fails with. */
async function demoClient({ host, port, user, password }: DemoMailAccess): Promise<ImapFlow> {
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

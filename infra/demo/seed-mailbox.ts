/** Fills an empty demo mailbox. */
import { ImapFlow } from 'imapflow';
import type { DemoMailAccess } from './demo-mail.ts';
import { seedContent, type SeedMail } from './seed-content.ts';
import type { SeedPerson } from './seed-message.ts';

/** Connections that append side by side, each a folder of its own: within a folder the order stays. */
const CONNECTIONS = 4;

/** How many messages were put in; 0 when the mailbox holds any already. Throws what the mail server fails with. */
export async function seedMailbox(imap: DemoMailAccess, now: Date = new Date()): Promise<number> {
  const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => connect(imap)));
  try {
    const [first] = clients;
    if (first === undefined || !(await isEmpty(first))) return 0;
    const me: SeedPerson = { name: 'Anna Müller', email: imap.user };
    const mails = seedContent(me, now);
    const folders = [...Map.groupBy(mails, ({ folder }) => folder)];
    for (const [folder] of folders) await createFolder(first, folder);
    await Promise.all(
      clients.map(async (client, at) => {
        for (const [, group] of folders.filter((_, index) => index % CONNECTIONS === at))
          await append(client, group);
      }),
    );
    return mails.length;
  } finally {
    await Promise.all(clients.map((client) => client.logout()));
  }
}

async function connect({ host, port, user, password }: DemoMailAccess): Promise<ImapFlow> {
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

async function isEmpty(client: ImapFlow): Promise<boolean> {
  const folders = await client.list({ statusQuery: { messages: true } });
  return folders.every(({ status }) => (status?.messages ?? 0) === 0);
}

async function createFolder(client: ImapFlow, folder: string): Promise<void> {
  const folders = await client.list();
  if (!folders.some(({ path }) => path === folder)) await client.mailboxCreate(folder);
}

async function append(client: ImapFlow, mails: readonly SeedMail[]): Promise<void> {
  // Queued on the connection, so that none waits for the answer to the one before.
  const appended = await Promise.all(
    mails.map(({ folder, raw, flags, receivedAt }) => client.append(folder, raw, [...flags], receivedAt)),
  );
  if (appended.some((answer) => !answer)) throw new Error('The demo mailbox could not be filled.');
}

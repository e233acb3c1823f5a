/** Appends messages to a test mailbox, and reads it, with a separate client. */
import { ImapFlow } from 'imapflow';
import type { HostSettings } from '../../../commands/ports/mail-port.ts';
import { PASSWORD } from './dovecot.ts';

export interface SeedMessage {
  readonly folder?: string;
  readonly raw: string | Buffer;
  readonly flags?: readonly string[];
  readonly receivedAt?: Date;
}

/** Runs `work` with a logged-in client and ends it. */
export async function withClient<T>(
  imap: HostSettings,
  user: string,
  work: (client: ImapFlow) => Promise<T>,
  password = PASSWORD,
): Promise<T> {
  const client = new ImapFlow({
    host: imap.host,
    port: imap.port,
    secure: imap.security === 'tls',
    doSTARTTLS: false,
    auth: { user, pass: password },
    logger: false,
    disableAutoIdle: true,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.logout();
  }
}

/** Appends the messages in order, queued on one connection. Folders are created as needed. */
export async function appendMessages(
  imap: HostSettings,
  user: string,
  messages: readonly SeedMessage[],
): Promise<void> {
  await withClient(imap, user, async (client) => {
    const known = new Set((await client.list()).map(({ path }) => path));
    for (const folder of new Set(messages.map((message) => message.folder ?? 'INBOX'))) {
      if (!known.has(folder)) await client.mailboxCreate(folder);
    }
    await Promise.all(
      messages.map(({ folder, raw, flags, receivedAt }) =>
        client.append(folder ?? 'INBOX', raw, [...(flags ?? [])], receivedAt),
      ),
    );
  });
}

/** A small plain message. */
export function plainMessage(fields: {
  readonly subject: string;
  readonly from?: string;
  readonly to?: string;
  readonly id?: string;
  readonly date?: Date;
  readonly headers?: readonly string[];
  readonly text?: string;
}): string {
  return [
    `From: ${fields.from ?? 'Bob <bob@example.org>'}`,
    `To: ${fields.to ?? 'Anna <anna@example.com>'}`,
    `Subject: ${fields.subject}`,
    ...(fields.id === undefined ? [] : [`Message-ID: ${fields.id}`]),
    ...(fields.date === undefined ? [] : [`Date: ${fields.date.toUTCString()}`]),
    ...(fields.headers ?? []),
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: 8bit',
    '',
    fields.text ?? 'Hello there.',
    '',
  ].join('\r\n');
}

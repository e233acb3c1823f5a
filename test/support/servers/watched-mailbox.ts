/** A test mailbox seen through a separate client: its arrivals, and the place of every copy. */
import { ImapFlow } from 'imapflow';
import { PASSWORD, type TestDovecot } from './dovecot.ts';
import { plainMessage } from './mail-append.ts';

export interface Copy {
  readonly subject: string;
  readonly path: string;
}

const WATCHED_FOLDERS = ['INBOX', 'Work', 'Archive'] as const;

export class WatchedMailbox {
  readonly #client: ImapFlow;

  private constructor(client: ImapFlow) {
    this.#client = client;
  }

  /** Logs in and creates the folder `Work`. */
  static async open(dovecot: TestDovecot, user: string): Promise<WatchedMailbox> {
    const { host, port } = dovecot.imap();
    const client = new ImapFlow({
      host,
      port,
      secure: false,
      doSTARTTLS: false,
      auth: { user, pass: PASSWORD },
      logger: false,
      disableAutoIdle: true,
    });
    client.on('error', () => undefined);
    await client.connect();
    await client.mailboxCreate('Work');
    return new WatchedMailbox(client);
  }

  close(): void {
    this.#client.close();
  }

  /** Appends a message and returns its place. */
  async arrive(
    folder: string,
    subject: string,
    options: { readonly withMessageId?: boolean } = {},
  ): Promise<{ readonly uid: number; readonly uidValidity: number }> {
    const id = `<${subject.replaceAll(' ', '.')}@example.org>`;
    const raw = plainMessage({ subject, ...(options.withMessageId === false ? {} : { id }) });
    const appended = await this.#client.append(folder, raw);
    if (!appended || appended.uid === undefined) throw new Error('nothing arrived');
    return { uid: appended.uid, uidValidity: Number(appended.uidValidity) };
  }

  /** The number of messages in a folder whose subject contains the text. */
  async countIn(path: string, text: string): Promise<number> {
    await this.#client.mailboxOpen(path, { readOnly: true });
    const uids = await this.#client.search({ subject: text }, { uid: true });
    return Array.isArray(uids) ? uids.length : 0;
  }

  /** Every copy, in any watched folder, of the messages whose subject contains `text`. */
  async copiesOf(text: string): Promise<readonly Copy[]> {
    const found: Copy[] = [];
    for (const path of WATCHED_FOLDERS) {
      await this.#client.mailboxOpen(path, { readOnly: true });
      const uids = await this.#client.search({ subject: text }, { uid: true });
      if (!Array.isArray(uids)) throw new Error(`${path} could not be searched`);
      for (const { envelope } of await this.#client.fetchAll(uids, { envelope: true }, { uid: true }))
        found.push({ subject: envelope?.subject ?? '', path });
    }
    return found;
  }
}

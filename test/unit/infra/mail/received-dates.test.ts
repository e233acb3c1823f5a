import { EventEmitter } from 'node:events';
import { expect } from 'chai';
import type { ImapFlow } from 'imapflow';
import { ImapConnection } from '../../../../infra/mail/imap-connection.ts';
import { ReceivedDatesCache } from '../../../../infra/mail/received-dates.ts';

/** One folder on a server: its messages by UID. */
class Folder {
  uids = [1, 2, 3];
  next = 4;

  arrive(): void {
    this.uids = [...this.uids, this.next];
    this.next += 1;
  }

  remove(uid: number): void {
    this.uids = this.uids.filter((each) => each !== uid);
  }
}

/** A client of that server. Like a real one, it receives changes only between commands. */
class FolderClient extends EventEmitter {
  readonly usable = true;
  readonly state = 3;
  readonly states = { LOGOUT: 4 };
  readonly capabilities = new Map([['CONDSTORE', true]]);
  readonly #folder: Folder;
  #shown: readonly number[];
  readonly mailbox;
  /** Runs once, after the answer to the next FETCH and before the client receives the changes. */
  duringFetch: () => void = () => undefined;

  constructor(folder: Folder) {
    super();
    this.#folder = folder;
    this.#shown = folder.uids;
    const count = { exists: folder.uids.length, uidNext: folder.next };
    this.mailbox = { path: 'INBOX', uidValidity: 1n, readOnly: true, ...count };
  }

  async noop(): Promise<void> {
    await Promise.resolve();
    this.#hear();
  }

  async *fetch(range: string): AsyncGenerator<{ uid: number; internalDate: Date }> {
    await Promise.resolve();
    const from = Number(range.split(':')[0]);
    for (const uid of this.#shown) if (uid >= from) yield { uid, internalDate: new Date(uid * 1_000) };
    this.duringFetch();
    this.duringFetch = () => undefined;
    this.#hear();
  }

  async search(): Promise<readonly number[]> {
    await Promise.resolve();
    return this.#shown;
  }

  /** Removals first, then the number of messages. */
  #hear(): void {
    const { uids } = this.#folder;
    const left = this.#shown.filter((uid) => uids.includes(uid));
    this.mailbox.exists = left.length;
    this.#shown = uids;
    const prevCount = left.length;
    this.mailbox.exists = uids.length;
    if (uids.length > prevCount) this.emit('exists', { path: 'INBOX', count: uids.length, prevCount });
  }
}

const connect = (folder: Folder): { client: FolderClient; connection: ImapConnection } => {
  const client = new FolderClient(folder);
  const options = { commandTimeoutMs: 5_000, openedAt: 0 };
  return { client, connection: new ImapConnection(client as unknown as ImapFlow, options) };
};

describe('ReceivedDatesCache', () => {
  const look = async (cache: ReceivedDatesCache, connection: ImapConnection): Promise<number[]> => {
    const folder = await connection.open('INBOX', 'read');
    return [...(await cache.current(connection, 'mbx_test', folder)).uids];
  };

  it('includes messages that arrived during a scan, even when as many left', async () => {
    const folder = new Folder();
    const cache = new ReceivedDatesCache();
    const { client, connection } = connect(folder);
    client.duringFetch = () => {
      folder.arrive();
    };
    expect(await look(cache, connection)).to.deep.equal([1, 2, 3]);
    folder.remove(1);
    expect(await look(cache, connection)).to.include(4);
  });

  it('includes what this connection has seen when another one was behind', async () => {
    const folder = new Folder();
    const cache = new ReceivedDatesCache();
    const [near, far] = [connect(folder), connect(folder)];
    await look(cache, near.connection);
    const open = await far.connection.open('INBOX', 'read');
    folder.arrive();
    expect(await look(cache, near.connection)).to.deep.equal([1, 2, 3, 4]);
    folder.remove(1);
    // This scan starts before the arrival and ends after it, so that the cache holds that connection's view.
    const older = new ReceivedDatesCache();
    await older.current(far.connection, 'mbx_test', open);
    expect(await look(older, near.connection)).to.include(4);
  });
});

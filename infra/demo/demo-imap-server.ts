/** The demo's IMAP server: hoodiecrow, with its mail on disk and its worst quirks fixed. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import createServer, { type FolderSeed, type ImapServer } from 'hoodiecrow-imap';
import type { Log } from '../../commands/ports/ports.ts';
import { type KeptFolder, MailStore } from './mail-store.ts';
import { assertReadable, freshUidValidity, mend, writeAnswersAtOnce } from './hoodiecrow-mends.ts';

export interface DemoImapOptions {
  readonly folder: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly log: Log;
}

export interface DemoImapServer {
  readonly port: number;
  /** Puts a message into INBOX and notifies connected clients. Throws as `assertReadable`. */
  deliver(raw: Buffer): void;
  stop(): Promise<void>;
}

const STANDARD_FOLDERS = ['Drafts', 'Sent', 'Trash', 'Junk', 'Archive'];
const PLUGINS = ['ID', 'SASL-IR', 'AUTH-PLAIN', 'NAMESPACE', 'IDLE', 'ENABLE', 'LITERALPLUS', 'UNSELECT'];
const MORE_PLUGINS = ['SPECIAL-USE', 'UIDPLUS', 'MOVE'];
const CHANGING =
  /^(?:UID )?(?:APPEND|STORE|MOVE|COPY|EXPUNGE|CREATE|DELETE|RENAME|CLOSE|SUBSCRIBE|UNSUBSCRIBE)$/i;
const SAVE_DELAY_MS = 100;

/** Starts the server on loopback with what it held last time. Throws when the port is taken. */
export async function startDemoImapServer(options: DemoImapOptions): Promise<DemoImapServer> {
  const store = new MailStore(options.folder);
  const kept = (await store.load()) ?? emptyMailbox();
  const server = createServer({
    users: { [options.user]: { password: options.password } },
    plugins: [...PLUGINS, ...MORE_PLUGINS, mend],
    storage: storageOf(kept),
  });
  const saver = new Saver(() => store.save(foldersOf(server), false), options.log);
  server.outputHandlers.push((_connection, _response, _description, parsed) => {
    if (CHANGING.test(parsed?.command ?? '')) saver.soon();
  });
  // Last: other handlers change the answer.
  writeAnswersAtOnce(server);
  const sockets = new Set<Socket>();
  server.server.on('connection', (socket) => {
    // Its small writes would wait for each other's acknowledgement, 40 ms a command.
    socket.setNoDelay(true);
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  const listening = once(server.server, 'listening');
  server.listen(options.port, '127.0.0.1', () => undefined);
  await listening;
  await saver.now();
  const address = server.server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    deliver: (raw) => {
      const message = raw.toString('latin1');
      assertReadable(message);
      server.appendMessage('INBOX', [], internalDate(new Date()), message);
      saver.soon();
    },
    stop: async () => {
      const closed = once(server.server, 'close');
      server.server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
      await saver.end();
      await store.save(foldersOf(server), true);
    },
  };
}

/** Saves a moment after a change, one save at a time; a failed one is logged and tried again at the next change. */
class Saver {
  readonly #save: () => Promise<void>;
  readonly #log: Log;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(save: () => Promise<void>, log: Log) {
    this.#save = save;
    this.#log = log;
  }

  soon(): void {
    this.#timer ??= setTimeout(() => {
      void this.now();
    }, SAVE_DELAY_MS);
  }

  now(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#running = this.#running.then(this.#save).catch((error: unknown) => {
      this.#log.error('demo mail: not saved', { error: String(error) });
    });
    return this.#running;
  }

  async end(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#running;
  }
}

const emptyMailbox = (): readonly KeptFolder[] =>
  ['INBOX', ...STANDARD_FOLDERS].map((path) => ({
    path,
    uidValidity: freshUidValidity(),
    uidNext: 1,
    subscribed: true,
    ...(path === 'INBOX' ? {} : { specialUse: `\\${path}` }),
    messages: [],
  }));

function storageOf(folders: readonly KeptFolder[]): Parameters<typeof createServer>[0]['storage'] {
  const root: Record<string, FolderSeed> = {};
  let inbox: FolderSeed = { uidvalidity: freshUidValidity(), uidnext: 1, messages: [] };
  // Parents first.
  for (const folder of folders.toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
    if (folder.path === 'INBOX') inbox = seedOf(folder);
    else place(root, folder.path.split('/'), seedOf(folder));
  }
  return { INBOX: inbox, '': { separator: '/', folders: root } };
}

function place(
  level: Record<string, FolderSeed>,
  [name = '', ...rest]: readonly string[],
  seed: FolderSeed,
): void {
  if (rest.length === 0) {
    level[name] = { ...seed, ...(level[name]?.folders ? { folders: level[name].folders } : {}) };
    return;
  }
  const parent = (level[name] ??= { uidvalidity: freshUidValidity(), uidnext: 1, messages: [] });
  parent.folders ??= {};
  place(parent.folders, rest, seed);
}

const seedOf = ({ uidValidity, uidNext, subscribed, specialUse, messages }: KeptFolder): FolderSeed => ({
  uidvalidity: uidValidity,
  uidnext: uidNext,
  subscribed,
  ...(specialUse === undefined ? {} : { 'special-use': specialUse }),
  messages: messages.map(({ uid, flags, internalDate: internaldate, raw }) => ({
    uid,
    flags: [...flags],
    internaldate,
    raw,
  })),
});

const foldersOf = (server: ImapServer): readonly KeptFolder[] =>
  Object.values(server.folderCache).map((folder) => ({
    path: folder.path,
    uidValidity: folder.uidvalidity,
    uidNext: folder.uidnext,
    subscribed: folder.subscribed,
    ...(folder['special-use'] === undefined ? {} : { specialUse: folder['special-use'] }),
    messages: folder.messages.map(({ uid, flags, internaldate, raw }) => ({
      uid,
      flags,
      internalDate: internaldate,
      raw,
    })),
  }));

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** RFC 3501 date-time in UTC. */
function internalDate(date: Date): string {
  const day = String(date.getUTCDate()).padStart(2, ' ');
  const time = date.toISOString().slice(11, 19);
  return `${day}-${MONTHS[date.getUTCMonth()] ?? ''}-${String(date.getUTCFullYear())} ${time} +0000`;
}

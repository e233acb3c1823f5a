/** One connection to a scripted mail server: its open folder, the state it was sent, and its commands. */
import { PASSWORD } from './dovecot.ts';
import type { ImapHabits } from './imap-habits.ts';
import { isInSet, matchesPattern, quoted, type Word, wordsOf } from './imap-words.ts';
import type { LabelledAccount, LabelFolder, LabelledMessage } from './fake-gmail/labelled-account.ts';
import { item, searchOf } from './fake-gmail/labelled-answers.ts';

export interface ScriptedServer {
  readonly account: LabelledAccount;
  readonly habits: ImapHabits;
  /** Whether a move or copy reports the place of messages that were already there. */
  readonly tellsKnownPlaces: boolean;
  /** Connections that are currently logged in. */
  readonly loggedIn: Set<ImapTestSession>;
  /** Every command, without its tag. */
  readonly heard: string[];
}

/** A message of the open folder as this connection knows it. */
interface Known {
  readonly uid: number;
  modseq: number;
}

/** The response code of the tagged OK. */
type Code = string | undefined;

export class ImapTestSession {
  readonly #server: ScriptedServer;
  readonly #write: (text: string) => void;
  #open: LabelFolder | null = null;
  #isReadOnly = false;
  #known: Known[] = [];
  #idleTag: string | null = null;
  #idleTimer: NodeJS.Timeout | undefined;
  readonly #onChange = (): void => {
    if (this.#idleTag !== null && this.#habits.idleTellsEveryMs === 0) this.#bringUpToDate();
  };

  constructor(server: ScriptedServer, write: (text: string) => void) {
    this.#server = server;
    this.#write = write;
    server.account.watchers.add(this.#onChange);
  }

  close(): void {
    clearInterval(this.#idleTimer);
    this.#server.loggedIn.delete(this);
    this.#server.account.watchers.delete(this.#onChange);
  }

  get #habits(): ImapHabits {
    return this.#server.habits;
  }

  /** False after a LOGOUT. */
  handle(command: string): boolean {
    if (this.#idleTag !== null) {
      this.#endIdle();
      return true;
    }
    const [tag, verb, ...args] = wordsOf(command);
    const name = String(verb).toUpperCase();
    this.#server.heard.push(command.slice(command.indexOf(' ') + 1));
    if (name === 'IDLE') {
      this.#beginIdle(String(tag));
      return true;
    }
    try {
      const isUid = name === 'UID';
      const code = this.#run(
        isUid ? `UID ${String(args[0]).toUpperCase()}` : name,
        isUid ? args.slice(1) : args,
      );
      if (isUid || name === 'NOOP') this.#bringUpToDate();
      this.#write(`${String(tag)} OK${code === undefined ? '' : ` [${code}]`} done\r\n`);
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      this.#write(`${String(tag)} NO ${text.startsWith('there is no') ? '[NONEXISTENT] ' : ''}${text}\r\n`);
    }
    return name !== 'LOGOUT';
  }

  #beginIdle(tag: string): void {
    const { idleTellsEveryMs } = this.#habits;
    this.#idleTag = tag;
    this.#write('+ idling\r\n');
    this.#bringUpToDate();
    if (idleTellsEveryMs === 0) return;
    this.#idleTimer = setInterval(() => {
      this.#bringUpToDate();
    }, idleTellsEveryMs);
  }

  #endIdle(): void {
    clearInterval(this.#idleTimer);
    this.#write(`${String(this.#idleTag)} OK IDLE completed\r\n`);
    this.#idleTag = null;
  }

  readonly #commands: Readonly<Record<string, (args: readonly Word[]) => Code>> = {
    CAPABILITY: () => {
      this.#say(`CAPABILITY ${this.#habits.capabilities}`);
    },
    LOGIN: ([, password]) => {
      if (password !== PASSWORD) throw new Error('[AUTHENTICATIONFAILED] wrong');
      const { loggedIn, habits } = this.#server;
      if (loggedIn.size >= habits.mostConnections) throw new Error(habits.tooManyConnections);
      loggedIn.add(this);
      return `CAPABILITY ${habits.capabilities}`;
    },
    NAMESPACE: () => {
      const { prefix, delimiter } = this.#habits;
      this.#say(`NAMESPACE ((${quoted(prefix)} ${quoted(delimiter)})) NIL NIL`);
    },
    ENABLE: () => {
      this.#say('ENABLED CONDSTORE');
    },
    ID: () => {
      this.#say('ID NIL');
    },
    LIST: ([, pattern]) => {
      this.#list('LIST', String(pattern));
    },
    LSUB: ([, pattern]) => {
      this.#list('LSUB', String(pattern));
    },
    CREATE: ([path]) => {
      this.#account.create(String(path));
      return undefined;
    },
    STATUS: ([path]) => {
      this.#status(this.#shownAt(String(path)));
    },
    SELECT: ([path]) => this.#select(String(path), 'READ-WRITE'),
    EXAMINE: ([path]) => this.#select(String(path), 'READ-ONLY'),
    CLOSE: () => {
      this.#close();
    },
    UNSELECT: () => {
      this.#close();
    },
    NOOP: () => undefined,
    LOGOUT: () => {
      this.#say('BYE see you');
    },
    APPEND: (args) => this.#append(args),
    FETCH: ([set, ...rest]) => {
      this.#fetch([this.#uidsOf(String(set)), ...rest]);
    },
    'UID FETCH': (args) => {
      this.#fetch(args);
    },
    'UID SEARCH': (args) => {
      this.#search(args);
    },
    'UID STORE': (args) => {
      this.#store(args);
    },
    'UID COPY': ([set, path]) => this.#relocate(false, String(set), this.#account.folder(String(path))),
    'UID MOVE': ([set, path]) => this.#relocate(true, String(set), this.#account.folder(String(path))),
    'UID EXPUNGE': ([set]) => {
      const marked = this.#inSet(String(set)).filter(([, { flags }]) => flags.has('\\Deleted'));
      for (const [, message] of marked) this.#account.remove(message, this.#folder());
      return undefined;
    },
  };

  get #account(): LabelledAccount {
    return this.#server.account;
  }

  #run(name: string, args: readonly Word[]): Code {
    const command = this.#commands[name];
    if (command === undefined) throw new Error(`${name} is not understood`);
    return command(args);
  }

  #close(): undefined {
    this.#open = null;
    return undefined;
  }

  #say(text: string): undefined {
    this.#write(`* ${text}\r\n`);
    return undefined;
  }

  #folder(): LabelFolder {
    if (this.#open === null) throw new Error('no folder is open');
    const now = this.#account.folders.get(this.#open.path);
    if (now === this.#open || this.#habits.goneWhileOpen === 'kept') return this.#open;
    if (this.#habits.goneWhileOpen === 'refused' || now === undefined)
      throw new Error('Mailbox does not exist');
    // The folder that now has the path, as if it were the one that was opened.
    return now;
  }

  /** A folder that is gone and still shown also has its own status. */
  #shownAt(path: string): LabelFolder {
    const isKept = this.#open?.path === path && this.#habits.goneWhileOpen === 'kept';
    return isKept && this.#open !== null ? this.#open : this.#account.folder(path);
  }

  #list(name: string, pattern: string): undefined {
    const { delimiter } = this.#habits;
    if (pattern === '') {
      this.#say(`${name} (\\Noselect) ${quoted(delimiter)} ""`);
      return undefined;
    }
    for (const { path, use } of this.#server.account.folders.values()) {
      if (matchesPattern(path, pattern, delimiter))
        this.#say(`${name} (\\HasNoChildren ${use}) ${quoted(delimiter)} ${quoted(path)}`);
    }
    return undefined;
  }

  #status({ path, messages, uidNext, uidValidity, modseq }: LabelFolder): undefined {
    const unseen = [...messages.values()].filter(({ flags }) => !flags.has('\\Seen')).length;
    const counts = `MESSAGES ${String(messages.size)} UIDNEXT ${String(uidNext)} UIDVALIDITY ${String(uidValidity)} UNSEEN ${String(unseen)}`;
    const more = this.#hasModseq ? ` HIGHESTMODSEQ ${String(modseq)}` : '';
    this.#say(`STATUS ${quoted(path)} (${counts}${more})`);
  }

  get #hasModseq(): boolean {
    return this.#habits.capabilities.includes('CONDSTORE');
  }

  #select(path: string, mode: 'READ-ONLY' | 'READ-WRITE'): Code {
    this.#open = null;
    const folder = this.#account.folder(path);
    this.#open = folder;
    this.#isReadOnly = mode === 'READ-ONLY';
    this.#known = [...folder.messages].map(([uid, { modseq }]) => ({ uid, modseq }));
    this.#say('FLAGS (\\Answered \\Flagged \\Draft \\Deleted \\Seen)');
    this.#say('OK [PERMANENTFLAGS (\\Answered \\Flagged \\Draft \\Deleted \\Seen \\*)] any');
    this.#say(`${String(folder.messages.size)} EXISTS`);
    this.#say(`OK [UIDVALIDITY ${String(folder.uidValidity)}] uids`);
    if (this.#habits.selectTellsUidNext) this.#say(`OK [UIDNEXT ${String(folder.uidNext)}] next`);
    if (this.#hasModseq) this.#say(`OK [HIGHESTMODSEQ ${String(folder.modseq)}] modseq`);
    return mode;
  }

  /** Contains only messages that the connection was sent. */
  #inSet(set: string): readonly (readonly [number, LabelledMessage])[] {
    const { messages } = this.#folder();
    const highest = this.#known.at(-1)?.uid ?? 0;
    return this.#known.flatMap(({ uid }) => {
      const message = messages.get(uid);
      return message && isInSet(set, uid, highest) ? [[uid, message] as const] : [];
    });
  }

  #fetch([set, items, modifier]: readonly Word[]): undefined {
    const since = Array.isArray(modifier) ? Number((modifier as readonly Word[])[1]) : 0;
    const names = typeof items === 'string' ? [items] : (items ?? []).map(String);
    this.#habits.beforeFetch(names.join(' '));
    const { account } = this.#server;
    const { gives, tellsUnasked } = this.#habits;
    if (tellsUnasked) this.#tellUnasked();
    for (const [nth, [uid, message]] of this.#inSet(String(set)).entries()) {
      if (message.modseq <= since) continue;
      const given = (piece: Buffer): Buffer | null => gives(piece, nth);
      const at = { account, open: this.#folder(), uid, message, given };
      const told = [...new Set([...names, 'UID'])].map((name) => item(at, name));
      this.#say(`${this.#sequence(uid)} FETCH (${told.join(' ')})`);
    }
    if (tellsUnasked) this.#tellUnasked();
  }

  #tellUnasked(): void {
    for (const [at, { uid, modseq }] of this.#known.entries()) {
      this.#say(`${String(at + 1)} FETCH (FLAGS (\\Recent))`);
      this.#say(`${String(at + 1)} FETCH (UID ${String(uid)} MODSEQ (${String(modseq)}))`);
    }
    for (const known of this.#known) known.modseq = -1;
    this.#tellFlags(this.#folder().messages);
  }

  #sequence(uid: number): string {
    return String(this.#known.findIndex((known) => known.uid === uid) + 1);
  }

  /** Converts a set of sequence numbers to one of UIDs. */
  #uidsOf(set: string): string {
    const uids = this.#known.filter((_, at) => isInSet(set, at + 1, this.#known.length));
    return uids.length === 0 ? '0' : uids.map(({ uid }) => String(uid)).join(',');
  }

  #search(keys: readonly Word[]): undefined {
    const test = searchOf(keys, this.#known.at(-1)?.uid ?? 0);
    const isBlind = this.#habits.searchLeavesOut(keys.map(String).join(' '));
    const found = isBlind ? [] : this.#inSet('1:*').filter(([uid, message]) => test(uid, message));
    this.#say(`SEARCH ${found.map(([uid]) => String(uid)).join(' ')}`.trim());
  }

  #store([set, how, list]: readonly Word[]): undefined {
    const sign = String(how)[0];
    const named = (typeof list === 'string' ? [list] : (list ?? [])).map(String);
    for (const [, message] of this.#inSet(String(set))) {
      const kept =
        sign === '+' || sign === '-' ? [...message.flags].filter((flag) => !named.includes(flag)) : [];
      this.#server.account.setFlags(message, new Set(sign === '-' ? kept : [...kept, ...named]));
    }
  }

  #relocate(isMove: boolean, set: string, target: LabelFolder): Code {
    const { account, tellsKnownPlaces } = this.#server;
    const before = target.uidNext;
    const pairs = this.#inSet(set).map(([uid, message]) => {
      const to = isMove ? account.move(message, this.#folder(), target) : account.copy(message, target);
      return { uid, to };
    });
    const told = pairs.filter(({ to }) => tellsKnownPlaces || to >= before);
    const list = (uids: readonly number[]): string => uids.map(String).join(',');
    const code = `COPYUID ${String(target.uidValidity)} ${list(told.map(({ uid }) => uid))} ${list(told.map(({ to }) => to))}`;
    if (told.length === 0) return undefined;
    if (!isMove) return code;
    this.#say(`OK [${code}] moved`);
    return undefined;
  }

  #append(args: readonly Word[]): Code {
    const { account } = this.#server;
    const folder = account.folder(String(args[0]));
    if (this.#habits.refusesAppendToExamined && this.#isReadOnly && this.#open === folder)
      throw new Error('Current box is selected READ-ONLY.');
    const raw = Buffer.from(String(args.at(-1)), 'latin1');
    const flags = args.slice(1, -1).flatMap((word) => (typeof word === 'string' ? [] : word.map(String)));
    const date = args.slice(1, -1).find((word) => typeof word === 'string');
    const message = account.deliver({
      raw,
      labels: [folder.path],
      flags,
      ...(date === undefined ? {} : { receivedAt: new Date(date) }),
    });
    const [uid] = [...folder.messages].find(([, own]) => own === message) ?? [0];
    return `APPENDUID ${String(folder.uidValidity)} ${String(uid)}`;
  }

  /** Sends the changes of the open folder since the last report to the connection. */
  #bringUpToDate(): void {
    if (this.#open === null) return;
    const now = this.#account.folders.get(this.#open.path);
    const { messages } = this.#habits.goneWhileOpen === 'by path' && now ? now : this.#open;
    for (let at = this.#known.length - 1; at >= 0; at -= 1) {
      if (messages.has(this.#known[at]?.uid ?? 0)) continue;
      this.#known.splice(at, 1);
      this.#say(`${String(at + 1)} EXPUNGE`);
    }
    const last = this.#known.at(-1)?.uid ?? 0;
    this.#tellFlags(messages);
    const arrived = [...messages].filter(([uid]) => uid > last);
    this.#known.push(...arrived.map(([uid, { modseq }]) => ({ uid, modseq })));
    if (arrived.length > 0) this.#say(`${String(this.#known.length)} EXISTS`);
  }
  #tellFlags(messages: LabelFolder['messages']): void {
    const changed = this.#known.filter((known) => known.modseq !== messages.get(known.uid)?.modseq);
    for (const known of changed) {
      const message = messages.get(known.uid);
      if (!message) continue;
      known.modseq = message.modseq;
      const flags = [...message.flags].join(' ');
      this.#say(
        `${this.#sequence(known.uid)} FETCH (UID ${String(known.uid)} FLAGS (${flags})${this.#hasModseq ? ` MODSEQ (${String(message.modseq)})` : ''})`,
      );
    }
  }
}

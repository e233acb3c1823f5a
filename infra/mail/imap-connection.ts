/** One IMAP connection: commands bounded in time, at most one folder open, typed failures. */
import type { ImapFlow, MailboxObject } from 'imapflow';
import type { ServerCapabilities } from '../../commands/ports/mail-port.ts';
import { askStatus } from './ask-status.ts';
import { capabilitiesOf } from './imap-login.ts';
import { Idle, reportChanges } from './idle.ts';
import type { LabelledFolder } from './labelled-folders.ts';
import { commandError, commandTimeout, connectionLost, isRefusal } from './mail-errors.ts';

export interface OpenFolder {
  readonly path: string;
  readonly uidValidity: number;
  readonly exists: number;
  /** Null when messages with unknown UIDs arrived, or the server does not report it. */
  readonly uidNext: number | null;
  /** Null = any flag. */
  readonly permanentFlags: ReadonlySet<string> | null;
}

export type OpenMode = 'read' | 'write';

export interface ImapConnectionOptions {
  readonly commandTimeoutMs: number;
  readonly openedAt: number;
  /** The folders of the mailbox as they are known now. */
  readonly folders?: (() => readonly LabelledFolder[]) | undefined;
  /** Called with the outcome of each step on the server. */
  readonly onCommand?: ((outcome: 'done' | 'refused' | 'lost', seconds: number) => void) | undefined;
}

export class ImapConnection {
  readonly capabilities: ServerCapabilities;
  readonly openedAt: number;
  /** True once a command succeeded since the connection was lent: a later break is not the server's idle timeout. */
  hasAnswered = true;
  /** True once a move was answered with each message's new place (COPYUID): a message it does not name was not moved. */
  tellsMoves = false;
  /** Set by the current holder; throws when a change may no longer be made. */
  writeGuard: (() => void) | null = null;
  readonly #client: ImapFlow;
  readonly #idle: Idle;
  readonly #commandTimeoutMs: number;
  readonly #onCommand: ImapConnectionOptions['onCommand'];
  readonly #folders: ImapConnectionOptions['folders'];
  /** A counter, because a message that arrives during a scan may be missing in its answer. */
  #arrivals = 0;
  #scannedArrivals = 0;
  /** A scan on this connection has seen the UIDs below this one. */
  #scannedTo = 0;
  /** An answer in the open folder has contained the UIDs below this one. */
  #answeredTo = 0;
  #refusal: string | null = null;
  /** Counted, because a doubt that comes while the server opens a folder is newer than what it opened. */
  #doubts = 0;
  #settledDoubts = 0;

  constructor(client: ImapFlow, options: ImapConnectionOptions) {
    this.#client = client;
    this.#idle = new Idle(client);
    this.#commandTimeoutMs = options.commandTimeoutMs;
    this.#onCommand = options.onCommand;
    this.#folders = options.folders;
    this.openedAt = options.openedAt;
    this.capabilities = capabilitiesOf(client);
    client.on('mailboxOpen', () => {
      this.#scannedArrivals = this.#arrivals;
      this.#scannedTo = 0;
      this.#answeredTo = 0;
    });
    client.on('exists', ({ count, prevCount }) => {
      if (count > prevCount) this.#arrivals += 1;
    });
    client.on('response', ({ response, code }) => {
      if (response === 'NO' || response === 'BAD') this.#refusal = code?.toUpperCase() ?? null;
    });
  }

  /** False as soon as the server says goodbye: until the client closes, its commands resolve without being sent. */
  get isUsable(): boolean {
    const { usable, state, states } = this.#client;
    return usable && state !== states.LOGOUT;
  }

  /** The folders that can show one message at once; null on a server where a message is in one folder only. */
  get sharedFolders(): readonly LabelledFolder[] | null {
    return this.capabilities.sharesMessages ? (this.#folders?.() ?? []) : null;
  }

  /** True when the server reports by UID which messages vanished since a known state (QRESYNC, RFC 7162). */
  get reportsVanished(): boolean {
    return this.#client.enabled.has('QRESYNC') && this.highestModseq !== null;
  }

  /** HIGHESTMODSEQ of the open folder as last reported (RFC 7162); null where the server keeps none. */
  get highestModseq(): bigint | null {
    const { mailbox } = this.#client;
    if (mailbox === false || mailbox.noModseq === true) return null;
    return mailbox.highestModseq ?? null;
  }

  /** Calls `onChange` when something changes in the open folder (`reportChanges`), `onEnd` when the connection is gone. */
  watch(onChange: (vanished: number | null) => void, onEnd: () => void): void {
    reportChanges(this.#client, onChange);
    this.#client.on('close', onEnd);
  }

  /** True while the server reports changes of the open folder. */
  get isListening(): boolean {
    return this.#idle.isOn;
  }

  /** False where the server does not support IDLE, or refused it. */
  get canListen(): boolean {
    return this.capabilities.idle && !this.#idle.isRefused;
  }

  /** Makes the server report changes of the open folder until the next command; `onEnd` when that ends earlier. */
  listen(onEnd: () => void): void {
    this.#idle.begin(onEnd);
  }

  /** True when another folder may have taken the place of the open one, which this connection may still show. */
  get isInDoubt(): boolean {
    return this.openPath !== null && this.#doubts !== this.#settledDoubts;
  }

  /** The next `open` opens the folder again. Not by CLOSE, which expunges what others marked as deleted (RFC 9051 6.4.1). */
  doubtFolder(): void {
    this.#doubts += 1;
  }

  /** The response code of the last refused command; imapflow returns `false` where the server answered NO. */
  get lastRefusal(): string | null {
    return this.#refusal;
  }

  /**
   * Runs commands on the client. Throws `mailbox_unavailable` when the connection is or gets lost or the time is over (the
   * connection then ends, as its state is unknown), `provider_rejected` when the server refuses.
   */
  async run<T>(
    work: (client: ImapFlow) => Promise<T>,
    withinMs: number = this.#commandTimeoutMs,
  ): Promise<T> {
    this.#assertAlive();
    this.#refusal = null;
    this.#idle.giveUp();
    const expiry = { isOver: false };
    const began = performance.now();
    const ended = (outcome: 'done' | 'refused' | 'lost'): void =>
      this.#onCommand?.(outcome, (performance.now() - began) / 1_000);
    const timer = setTimeout(() => {
      expiry.isOver = true;
      this.#client.close();
    }, withinMs);
    try {
      const result = await work(this.#client);
      // Some commands resolve on a dead link (NOOP does): an answer counts only from a live one.
      this.#assertAlive();
      this.hasAnswered = true;
      ended('done');
      return result;
    } catch (error) {
      ended(isRefusal(error) ? 'refused' : 'lost');
      throw expiry.isOver ? commandTimeout() : commandError(error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** As `run`, for a change of the mailbox: only when the guard allows it. Also throws what the guard throws. */
  async write<T>(
    work: (client: ImapFlow) => Promise<T>,
    withinMs: number = this.#commandTimeoutMs,
  ): Promise<T> {
    this.writeGuard?.();
    return await this.run(work, withinMs);
  }

  /** Opens a folder, or brings the open one up to date. Throws like `run`. */
  async open(path: string, mode: OpenMode): Promise<OpenFolder> {
    return await this.run(async (client) => {
      const current = client.mailbox;
      const isOpen = current !== false && current.path === path && !this.isInDoubt;
      const stays = isOpen && (mode === 'read' || current.readOnly !== true);
      if (stays) await client.noop();
      if (!stays || !(await this.#isAsOpened(client, current))) {
        const doubts = this.#doubts;
        await client.mailboxOpen(path, { readOnly: mode === 'read' });
        this.#settledDoubts = doubts;
      }
      return this.#folder(client.mailbox === false ? null : client.mailbox);
    });
  }

  /**
   * Servers without CONDSTORE (Courier) may keep serving a folder that was removed and created again under the same
   * UIDVALIDITY; STATUS reports the new one.
   */
  async #isAsOpened(client: ImapFlow, { path, uidValidity }: MailboxObject): Promise<boolean> {
    if (this.capabilities.condstore) return true;
    const status = await askStatus(client, path, { uidValidity: true });
    return status !== false && status.uidValidity === uidValidity;
  }

  /** Opens a folder unless it is already open, which then keeps its last seen state. Throws like `run`. */
  async reopen(path: string): Promise<OpenFolder> {
    const { mailbox } = this.#client;
    if (this.isUsable && !this.isInDoubt && mailbox !== false && mailbox.path === path)
      return this.#folder(mailbox);
    return await this.open(path, 'read');
  }

  /** The folder as it was last seen, when it is open for writing; else null. */
  openForWriting(path: string): OpenFolder | null {
    const { mailbox } = this.#client;
    // Without CONDSTORE it may be another folder by now (`#isAsOpened`).
    if (!this.capabilities.condstore || this.isInDoubt || !this.isUsable) return null;
    if (mailbox === false || mailbox.path !== path || mailbox.readOnly === true) return null;
    return this.#folder(mailbox);
  }

  /** Null when no folder is open. */
  get openPath(): string | null {
    return this.#client.mailbox === false ? null : this.#client.mailbox.path;
  }

  /** True when the folder is open for reading only. */
  isOpenForReading(path: string): boolean {
    const { mailbox } = this.#client;
    return mailbox !== false && mailbox.path === path && mailbox.readOnly === true;
  }

  /** True when the folder is open for writing and the server has answered since the connection was lent. */
  isOpenForWriting(path: string): boolean {
    return this.hasAnswered && this.openForWriting(path) !== null;
  }

  /**
   * True when the server has reported messages as new as these to this connection: later arrivals do not exist for it, even
   * if another connection has seen them (RFC 9051 5.2).
   */
  knowsOf(uids: readonly number[]): boolean {
    const { mailbox } = this.#client;
    const known = Math.max(mailbox === false ? 0 : mailbox.uidNext, this.#answeredTo);
    return Math.max(...uids) < known;
  }

  /** Records that an answer in the open folder contained these. */
  noteAnswered(uids: Iterable<number>): void {
    for (const uid of uids) this.#answeredTo = Math.max(this.#answeredTo, uid + 1);
  }

  /** UIDVALIDITY and UIDNEXT without opening; null for the open folder, or when the server does not report them. */
  async status(path: string): Promise<{ readonly uidValidity: number; readonly uidNext: number } | null> {
    if (this.openPath === path) return null;
    const status = await this.run((client) => askStatus(client, path, { uidValidity: true, uidNext: true }));
    if (status === false || !status.uidValidity || !status.uidNext) return null;
    return { uidValidity: Number(status.uidValidity), uidNext: status.uidNext };
  }

  /** How often messages arrived in the open folder; read this before a scan and pass it to `markScanned` after it. */
  get arrivals(): number {
    return this.#arrivals;
  }

  /** Everything that had arrived by then was scanned: every UID below `uidNext` is known, or its message is gone. */
  markScanned(arrivals: number, uidNext: number): void {
    this.#scannedArrivals = arrivals;
    this.#scannedTo = Math.max(this.#scannedTo, uidNext);
  }

  #assertAlive(): void {
    if (!this.isUsable) throw connectionLost();
  }

  #folder(mailbox: MailboxObject | null): OpenFolder {
    if (mailbox === null) throw connectionLost();
    const { path, uidValidity, exists, uidNext, permanentFlags } = mailbox;
    const isScanned = this.#arrivals === this.#scannedArrivals;
    const anyFlag = permanentFlags === undefined || permanentFlags.has('\\*');
    return {
      path,
      uidValidity: Number(uidValidity),
      exists,
      uidNext: isScanned && uidNext ? Math.max(uidNext, this.#scannedTo) : null,
      permanentFlags: anyFlag ? null : permanentFlags,
    };
  }

  /** Logs out of the server, and waits no longer than the client does. */
  async logOut(): Promise<void> {
    if (!this.isUsable) return;
    await this.#client.logout();
  }

  close(): void {
    this.#client.close();
  }
}

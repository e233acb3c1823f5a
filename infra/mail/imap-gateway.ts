/** The mail port on ImapFlow: pooled connections per mailbox, the egress guard before each, failures reported. */
import { type ErrorCode, GatewayError } from '../../commands/values/errors.ts';
import type {
  ConnectionReport,
  HostSettings,
  Priority,
  MailAnswer,
  MailLogin,
  MailPort,
  MailSession,
} from '../../commands/ports/mail-port.ts';
import type { MailQuery } from '../../commands/mail/query.ts';
import type { Filter } from '../../commands/mail/mail-filter.ts';
import type { Log } from '../../commands/ports/ports.ts';
import { type OnMailbox, QueryRouter, type QueryRouterOptions } from '../mail-index/query-router.ts';
import { ConnectionPool, type WatchLease, type WatchLeaseOptions } from './connection-pool.ts';
import type { EgressGuard } from '../egress/egress-guard.ts';
import { ImapConnection, type ImapConnectionOptions } from './imap-connection.ts';
import { assertPlainIsLocal, logIn, type LoginOptions } from './imap-login.ts';
import { ImapSession } from './imap-session.ts';
import type { FindThreads } from './query-folders.ts';
import type { LabelledFolder } from './labelled-folders.ts';
import { isHeldBack } from './mail-errors.ts';
import { FolderGone } from './open-folder.ts';
import { ReceivedDatesCache } from './received-dates.ts';
import { type LoadSettings, withRenewedLogin } from './renewed-login.ts';
import { testImap } from './test-login.ts';

export interface MailboxSettings {
  readonly login: MailLogin;
  readonly imap: HostSettings;
  readonly smtp: HostSettings | null;
}

export interface ImapGatewayOptions {
  /** Host and login of a mailbox, read again for each connection. May throw a `GatewayError`. */
  readonly loadSettings: LoadSettings<MailboxSettings>;
  readonly guard: EgressGuard;
  readonly log: Log;
  /** A connection failed to open, or broke. Must not throw. */
  readonly onMailboxTrouble: (mailboxId: string, error: GatewayError) => void;
  /** A folder is not where the last list had it: another list is needed. Must not throw. */
  readonly onFolderGone?: (mailboxId: string, path: string) => void;
  /** A connection was opened. Must not throw. */
  readonly onMailboxHealthy: (mailboxId: string) => void;
  /** The folders of a mailbox as the directory has them; needed where one message is in several. */
  readonly foldersOf?: (mailboxId: string) => readonly LabelledFolder[];
  /** Called with the outcome of each step on a mail server. */
  readonly onCommand?: ImapConnectionOptions['onCommand'];
  /** Connections to the mail server of one mailbox (`contract.md` 15). */
  readonly providerConnections: number;
  /** Certificates to trust in addition to the system's, PEM. */
  readonly extraCertificates?: readonly string[];
  readonly limits?: Partial<MailLimits>;
  /** The index that answers queries where it can; absent = every query is live. */
  readonly queries?: QueryRouterOptions;
}

/** Before the first event: without a known log, a wait starts with everything there is. */
const BEFORE_ALL = -1n;

export interface MailLimits {
  readonly commandTimeoutMs: number;
  readonly connectTimeoutMs: number;
  /** How long a caller waits for a free connection. */
  readonly waitMs: number;
  readonly idleMs: number;
  readonly maxAgeMs: number;
  /** After a refused login no attempt is made for this long, so that no account gets locked. */
  readonly refusedLoginPauseMs: number;
  readonly maxEvaluated: number;
  readonly maxFolderMessages: number;
}

/** Paused or removed on purpose: not a failure of the mail server. */
const SAYS_NOTHING: ReadonlySet<ErrorCode> = new Set(['conflict', 'not_found']);

const LIMITS: MailLimits = {
  commandTimeoutMs: 30_000,
  connectTimeoutMs: 10_000,
  waitMs: 10_000,
  idleMs: 60_000,
  maxAgeMs: 30 * 60_000,
  refusedLoginPauseMs: 3_000,
  maxEvaluated: 5_000,
  maxFolderMessages: 200_000,
};

export class ImapGateway implements MailPort {
  readonly #options: ImapGatewayOptions;
  readonly #limits: MailLimits;
  readonly #login: LoginOptions;
  readonly #pools = new Map<string, ConnectionPool>();
  readonly #refusals = new Map<string, { readonly until: number; readonly error: GatewayError }>();
  readonly #dates: ReceivedDatesCache;
  readonly #router: QueryRouter | null;
  #closed = false;

  constructor(options: ImapGatewayOptions) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
    this.#dates = new ReceivedDatesCache(this.#limits.maxFolderMessages);
    this.#router = options.queries ? new QueryRouter(options.queries) : null;
    this.#login = {
      guard: options.guard,
      extraCertificates: options.extraCertificates ?? [],
      connectTimeoutMs: this.#limits.connectTimeoutMs,
    };
  }

  withMailbox<T>(mailboxId: string, lane: Priority, work: (mail: MailSession) => Promise<T>): Promise<T> {
    return this.#borrow(mailboxId, lane, work);
  }

  async query(mailboxId: string, query: MailQuery, live?: MailSession): Promise<MailAnswer> {
    const onMailbox: OnMailbox = (work) =>
      live instanceof ImapSession ? work(live) : this.#borrow(mailboxId, 'interactive', work);
    if (this.#router) return await this.#router.query(mailboxId, query, onMailbox);
    return { ...(await onMailbox((session) => session.query(query))), asOf: BEFORE_ALL };
  }

  async withThreadIds(mailboxId: string, filter: Filter): Promise<Filter> {
    return this.#router ? await this.#router.withThreadIds(mailboxId, filter) : filter;
  }

  async #borrow<T>(mailboxId: string, lane: Priority, work: (mail: ImapSession) => Promise<T>): Promise<T> {
    this.#assertOpen();
    const lease = await this.#pool(mailboxId).acquire(lane);
    try {
      const { maxEvaluated } = this.#limits;
      const threads: FindThreads = async (asked) => (await this.#router?.threads(mailboxId, asked)) ?? null;
      return await work(new ImapSession(lease, { mailboxId, dates: this.#dates, maxEvaluated, threads }));
    } catch (error) {
      if (error instanceof FolderGone) this.#options.onFolderGone?.(mailboxId, error.path);
      else if (
        error instanceof GatewayError &&
        error.code === 'mailbox_unavailable' &&
        !lease.connection.isUsable
      ) {
        this.#options.onMailboxTrouble(mailboxId, error);
      }
      throw error;
    } finally {
      lease.release();
    }
  }

  /**
   * Borrows a bare connection with bulk priority for a step of the mailbox's worker: one of its own where there is room, so
   * that the folders callers left open stay open. It is kept for a short while only where more work is expected (`isKept`):
   * there are many workers. The work has to end soon when a caller waits (`isWanted`). Throws as `withMailbox`.
   */
  async withConnection<T>(
    mailboxId: string,
    work: (connection: ImapConnection, isWanted: () => boolean) => Promise<T>,
    isKept = false,
  ): Promise<T> {
    this.#assertOpen();
    const lease = await this.#pool(mailboxId).acquire('bulk', 'worker');
    try {
      return await work(lease.connection, () => lease.isWanted);
    } finally {
      lease.release(isKept ? 'keep' : 'end');
    }
  }

  /** The connection of the mailbox's worker, which keeps and closes it. Throws as `withMailbox`. */
  async openWatch(mailboxId: string, options: WatchLeaseOptions): Promise<WatchLease> {
    this.#assertOpen();
    return await this.#pool(mailboxId).watch(options);
  }

  /** A folder of the mailbox left its path or was replaced: each connection opens its folder again before it is next read. */
  doubtFolders(mailboxId: string): void {
    this.#pools.get(mailboxId)?.doubtFolders();
  }

  testImap(settings: HostSettings, login: MailLogin): Promise<ConnectionReport> {
    return testImap(settings, login, this.#login);
  }

  async assertReachable(settings: HostSettings): Promise<void> {
    assertPlainIsLocal(settings, await this.#options.guard.vet(settings.host, settings.port));
  }

  /** Connections to mail servers that are open now. */
  get connections(): number {
    return [...this.#pools.values()].reduce((sum, { size }) => sum + size, 0);
  }

  async disconnect(mailboxId: string): Promise<void> {
    const pool = this.#pools.get(mailboxId);
    this.#pools.delete(mailboxId);
    this.#refusals.delete(mailboxId);
    this.#dates.forget(mailboxId);
    pool?.end();
    return Promise.resolve();
  }

  /** Closes every connection at once. Running work fails; nothing is lent any more. */
  close(): void {
    this.#closed = true;
    for (const pool of this.#pools.values()) pool.end(true);
    this.#pools.clear();
  }

  #assertOpen(): void {
    if (this.#closed) throw new GatewayError('overloaded', 'The gateway is stopping; try again in a moment.');
  }

  #pool(mailboxId: string): ConnectionPool {
    const known = this.#pools.get(mailboxId);
    if (known) return known;
    const { idleMs, maxAgeMs, waitMs } = this.#limits;
    const pool = new ConnectionPool({
      limit: this.#options.providerConnections,
      open: () => this.#connect(mailboxId),
      onHeldBack: (error) => {
        this.#noteTrouble(mailboxId, error);
      },
      idleMs,
      maxAgeMs,
      waitMs,
      now: () => performance.now(),
    });
    this.#pools.set(mailboxId, pool);
    return pool;
  }

  async #connect(mailboxId: string): Promise<ImapConnection> {
    const refusal = this.#refusals.get(mailboxId);
    if (refusal && refusal.until > performance.now()) throw refusal.error;
    const { commandTimeoutMs } = this.#limits;
    try {
      const client = await withRenewedLogin(mailboxId, this.#options.loadSettings, ({ imap, login }) =>
        logIn(imap, login, this.#login, commandTimeoutMs),
      );
      this.#refusals.delete(mailboxId);
      this.#options.onMailboxHealthy(mailboxId);
      const { onCommand, foldersOf } = this.#options;
      const folders = foldersOf && (() => foldersOf(mailboxId));
      return new ImapConnection(client, {
        commandTimeoutMs,
        openedAt: performance.now(),
        onCommand,
        folders,
      });
    } catch (error) {
      // When the server holds back logins, the pool knows whether there are connections to wait for.
      if (error instanceof GatewayError && !SAYS_NOTHING.has(error.code) && !isHeldBack(error))
        this.#noteTrouble(mailboxId, error);
      throw error;
    }
  }

  #noteTrouble(mailboxId: string, error: GatewayError): void {
    if (error.code === 'mailbox_auth_failed') {
      const until = performance.now() + this.#limits.refusedLoginPauseMs;
      this.#refusals.set(mailboxId, { until, error });
    }
    const { code, details } = error;
    this.#options.log.warn('imap: mailbox unreachable', {
      mailbox_id: mailboxId,
      code,
      reason: details['reason'],
    });
    this.#options.onMailboxTrouble(mailboxId, error);
  }
}

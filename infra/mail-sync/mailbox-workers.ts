/** The workers of this process: mailboxes are spread fairly over all processes that work on mail, by leases. */
import type { MailboxEntry } from '../../commands/kernel/directory.ts';
import type { Ports } from '../../commands/kernel/ports.ts';
import { repeat } from '../background/repeat.ts';
import { listen } from '../postgres/listen.ts';
import { IdleVerdicts } from './idle-verdicts.ts';
import { MAILBOX_BELL, readRing } from './mailbox-bell.ts';
import { MailboxLeases } from './mailbox-leases.ts';
import { MailboxWorker, type WorkerOptions } from './mailbox-worker.ts';
import { SYNC_TIMES, type SyncTimes } from './sync-times.ts';
import { Turns } from './turns.ts';
import { WorkerHeartbeat } from './worker-heartbeat.ts';

export interface WorkersOptions extends Pick<WorkerOptions, 'gateway' | 'index'> {
  readonly ports: Ports;
  readonly directUrl: string;
  readonly times?: Partial<SyncTimes>;
}

/** Logins under way at once: a provider sees them all come from one address. */
const CONNECT_AT_ONCE = 20;
const WORK_AT_ONCE = 8;
/** A lease by this prefix says that a process takes its share of the mailboxes. */
const PROCESS = 'mail-worker/';

interface Running {
  readonly worker: MailboxWorker;
  readonly done: Promise<void>;
  hasEnded: boolean;
  /** New settings or credentials begin anew with this worker. */
  readonly settings: string;
}

/** Looks after mailboxes until the signal aborts; resolves when every worker has ended and its lease is given up. */
export async function runMailboxWorkers(options: WorkersOptions, signal: AbortSignal): Promise<void> {
  await new MailboxWorkers(options, signal).run();
}

class MailboxWorkers {
  readonly #options: WorkersOptions;
  readonly #times: SyncTimes;
  readonly #signal: AbortSignal;
  readonly #leases: MailboxLeases;
  readonly #heartbeat: WorkerHeartbeat;
  readonly #running = new Map<string, Running>();
  readonly #connecting = new Turns(CONNECT_AT_ONCE);
  readonly #working = new Turns(WORK_AT_ONCE);
  readonly #verdicts = new IdleVerdicts();

  constructor(options: WorkersOptions, signal: AbortSignal) {
    this.#options = options;
    this.#times = { ...SYNC_TIMES, ...options.times };
    this.#signal = signal;
    const { sql, leases } = options.ports;
    this.#leases = new MailboxLeases(sql, leases.runId, this.#times);
    this.#heartbeat = new WorkerHeartbeat(sql, leases.runId, this.#times.beatLastsMs);
  }

  async run(): Promise<void> {
    const { ports, directUrl } = this.#options;
    const { clock, log } = ports;
    const loop = { clock, log, signal: this.#signal };
    // What is not heard while the database is away is found by the next round.
    const onNotification = (payload: string): void => {
      const ring = readRing(payload);
      if (ring !== null) this.#running.get(ring.mailboxId)?.worker.stir(ring.folders);
    };
    await Promise.all([
      repeat({ ...loop, name: 'mailbox-workers', everyMs: this.#times.lookEveryMs }, () => this.#look()),
      repeat({ ...loop, name: 'mailbox-leases', everyMs: this.#times.renewEveryMs }, () => this.#renew()),
      repeat({ ...loop, name: 'worker-heartbeat', everyMs: this.#times.beatEveryMs }, () =>
        this.#heartbeat.beat(),
      ),
      listen({ directUrl, channel: MAILBOX_BELL, clock, log, onNotification }, this.#signal),
    ]);
    this.#end([...this.#running.keys()]);
    await Promise.all([...this.#running.values()].map(({ done }) => done));
    await this.#giveUp();
    await this.#heartbeat.end();
    await ports.leases.release(this.#processLease());
  }

  async #renew(): Promise<void> {
    await this.#leases.renew(new Map([...this.#running].map(([id, { worker }]) => [id, worker.news])));
  }

  /** Waits for no worker: what one mailbox's server keeps open for long is no matter of the others. */
  async #look(): Promise<void> {
    await this.#giveUp();
    const wanted = new Map<string, MailboxEntry>();
    for (const [id, entry] of this.#options.ports.directory.state.mailboxes) {
      if (isWanted(entry)) wanted.set(id, entry);
    }
    this.#end([...this.#running.keys()].filter((id) => !wanted.has(id)));
    for (const [id, { settings }] of this.#running) {
      const entry = wanted.get(id);
      if (entry?.state === 'pending' && settingsOf(entry) !== settings) this.#end([id]);
    }
    await this.#share(wanted);
  }

  /** Gives up what is more than a fair share, takes what is free up to it. */
  async #share(wanted: ReadonlyMap<string, MailboxEntry>): Promise<void> {
    const share = Math.ceil(wanted.size / (await this.#processes()));
    const held = [...this.#running].flatMap(([id, { worker }]) => (worker.isEnding ? [] : [id]));
    if (held.length > share) {
      this.#end(held.slice(share));
      return;
    }
    const others = [...wanted.keys()].filter((id) => !this.#running.has(id));
    if (others.length === 0 || held.length === share) return;
    // The first look at a mailbox is one to vouch for.
    if (this.#heartbeat.life === null) await this.#heartbeat.beat();
    const free = shuffled(await this.#leases.free(others)).slice(0, share - held.length);
    for (const lease of await this.#leases.take(free)) {
      const entry = wanted.get(lease.mailboxId);
      if (entry && !this.#signal.aborted) this.#start(new MailboxWorker(this.#workerOptions(), lease), entry);
    }
  }

  #start(worker: MailboxWorker, entry: MailboxEntry): void {
    const done = worker.run().then(() => {
      running.hasEnded = true;
    });
    const running: Running = { worker, done, hasEnded: false, settings: settingsOf(entry) };
    this.#running.set(entry.id, running);
  }

  /** Tells workers to end; `#giveUp` follows when they did. */
  #end(mailboxIds: readonly string[]): void {
    for (const id of mailboxIds) this.#running.get(id)?.worker.end();
  }

  /** What workers that have ended looked after is free for others. */
  async #giveUp(): Promise<void> {
    const ended = [...this.#running].flatMap(([id, { hasEnded }]) => (hasEnded ? [id] : []));
    await this.#leases.release(ended);
    for (const id of ended) this.#running.delete(id);
  }

  /** How many processes work on mail now, this one among them. */
  async #processes(): Promise<number> {
    const { leases, sql } = this.#options.ports;
    if (!leases.isHeld(this.#processLease())) await leases.acquire(this.#processLease());
    const [row] = await sql.query<{ processes: number }>(
      'select count(*)::int as processes from work.lease where starts_with(name, $1) and until > now()',
      [PROCESS],
    );
    return Math.max(1, row?.processes ?? 1);
  }

  #processLease(): string {
    return `${PROCESS}${this.#options.ports.leases.runId}`;
  }

  #workerOptions(): WorkerOptions {
    const { ports, gateway, index } = this.#options;
    return {
      ports,
      gateway,
      index,
      times: this.#times,
      heartbeat: this.#heartbeat,
      verdicts: this.#verdicts,
      connecting: this.#connecting,
      working: this.#working,
    };
  }
}

const isWanted = ({ state, awaitsAuthorization }: MailboxEntry): boolean =>
  state !== 'paused' && state !== 'removed' && awaitsAuthorization !== true;

/** A mailbox whose settings or credentials are new waits to be connected under a version it never had before. */
const settingsOf = ({ state, version }: MailboxEntry): string =>
  state === 'pending' ? String(version) : 'as before';

function shuffled<T>(items: readonly T[]): readonly T[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

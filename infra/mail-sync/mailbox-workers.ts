/** The workers of this process. Leases spread the mailboxes evenly over all processes that work on mail. */
import { isWorkedOn } from '../../commands/kernel/membership.ts';
import type { MailboxEntry } from '../../commands/ports/directory.ts';
import type { Clock, Ports } from '../../commands/ports/ports.ts';
import { repeat } from '../concurrency/repeat.ts';
import type { DirectoryCopy } from '../directory/memory-directory.ts';
import { listen } from '../postgres/listen.ts';
import { IdleVerdicts } from './idle-verdicts.ts';
import { decodeNotification, MAILBOX_CHANNEL, notifyMailboxes } from './mailbox-notify.ts';
import { MailboxLeases } from './mailbox-leases.ts';
import { MailboxWorker, type WorkerOptions } from './mailbox-worker.ts';
import { SYNC_TIMES, type SyncTimes } from './sync-times.ts';
import { WakeSignal } from '../concurrency/wake-signal.ts';
import { Semaphore } from '../concurrency/semaphore.ts';
import { PROCESS, WorkerHeartbeat } from './worker-heartbeat.ts';

export interface WorkersOptions extends Pick<WorkerOptions, 'gateway' | 'index'> {
  readonly ports: Ports;
  readonly directory: Pick<DirectoryCopy, 'onMailboxChange'>;
  readonly directUrl: string;
  readonly times?: Partial<SyncTimes>;
}

/** Concurrent logins: a provider sees all of them come from one address. */
const CONNECT_AT_ONCE = 20;
const WORK_AT_ONCE = 8;

interface Running {
  readonly worker: MailboxWorker;
  readonly done: Promise<void>;
  /** New settings or credentials start a new worker. */
  readonly settings: string;
}

/** Serves mailboxes until the signal aborts; resolves when every worker has ended and its lease is released. */
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
  /** Among the running: asked to end, and ended. */
  readonly #ending = new Set<string>();
  readonly #ended = new Set<string>();
  /** Mailboxes that need a worker. */
  readonly #wanted = new Set<string>();
  /** Mailboxes to reconcile: they changed, or no live process is known to work on them. */
  readonly #open = new Set<string>();
  readonly #sweeps: Sweeps;
  /** The other processes that work on mail, as of the last heartbeat. */
  #others: readonly string[] = [];
  /** Rung when there is something to reconcile. */
  readonly #wake = new WakeSignal();
  #reconciledAt = -Infinity;
  readonly #connecting = new Semaphore(CONNECT_AT_ONCE);
  readonly #working = new Semaphore(WORK_AT_ONCE);
  readonly #verdicts = new IdleVerdicts();

  constructor(options: WorkersOptions, signal: AbortSignal) {
    this.#options = options;
    this.#times = { ...SYNC_TIMES, ...options.times };
    this.#signal = signal;
    const { sql, leases, clock } = options.ports;
    this.#sweeps = new Sweeps(clock, this.#times);
    this.#leases = new MailboxLeases(sql, leases.runId, this.#times);
    this.#heartbeat = new WorkerHeartbeat(sql, leases.runId, this.#times.beatLastsMs);
  }

  async run(): Promise<void> {
    const { ports, directUrl } = this.#options;
    const { clock, log } = ports;
    const loop = { clock, log, signal: this.#signal };
    const wake = this.#wake;
    this.#signal.addEventListener('abort', () => {
      wake.ring();
    });
    this.#options.directory.onMailboxChange(({ id }) => {
      this.#reopen(id);
    });
    // What was notified while this process did not listen is found by the sweep when it listens.
    const onListening = (): void => {
      this.#sweeps.ask();
      wake.ring();
    };
    const onNotification = (payload: string): void => {
      const notification = decodeNotification(payload);
      if (notification === null) return;
      const { mailboxId, folders, isPoll } = notification;
      const worker = this.#running.get(mailboxId)?.worker;
      if (isPoll) worker?.markChanged(folders);
      else worker?.markSettled(folders);
      // Its worker may have released it.
      if (folders.length === 0) this.#reopen(mailboxId);
    };
    await Promise.all([
      repeat({ ...loop, name: 'mailbox-workers', everyMs: () => this.#pauseMs(), wake }, () => this.#look()),
      repeat({ ...loop, name: 'mailbox-leases', everyMs: this.#times.renewEveryMs }, () => this.#renew()),
      repeat({ ...loop, name: 'worker-heartbeat', everyMs: this.#times.beatEveryMs }, () => this.#beat()),
      listen({ directUrl, channel: MAILBOX_CHANNEL, clock, log, onNotification, onListening }, this.#signal),
    ]);
    this.#end([...this.#running.keys()]);
    await Promise.all([...this.#running.values()].map(({ done }) => done));
    await this.#giveUp();
    await this.#heartbeat.end();
    await ports.leases.release(this.#processLease());
  }

  async #renew(): Promise<void> {
    await this.#leases.renew(new Map([...this.#running].map(([id, { worker }]) => [id, worker.status])));
  }

  /** Tells that this process is alive, and learns which others are. */
  async #beat(): Promise<void> {
    const { leases } = this.#options.ports;
    if (!leases.isHeld(this.#processLease())) await leases.acquire(this.#processLease());
    const others = await this.#heartbeat.beat();
    if (others.join() !== this.#others.join()) this.#wake.ring();
    this.#others = others;
  }

  #reopen(mailboxId: string): void {
    this.#open.add(mailboxId);
    this.#wake.ring();
  }

  /** Mailboxes stay open while no live process works on them; those of ended workers until they are released. */
  #pauseMs(): number {
    return this.#open.size + this.#ended.size > 0 ? this.#times.lookEveryMs : this.#times.sweepEveryMs;
  }

  async #look(): Promise<void> {
    const { clock } = this.#options.ports;
    const restMs = this.#reconciledAt + this.#times.lookEveryMs - clock.elapsedMs();
    if (restMs > 0) await clock.sleep(restMs, this.#signal);
    this.#reconciledAt = clock.elapsedMs();
    // The first poll of a mailbox attests its mirror, which requires a life.
    if (this.#heartbeat.life === null) await this.#beat();
    await this.#reconcile(this.#others);
  }

  /** Reconciles the open mailboxes. Waits for no worker: a slow server of one mailbox does not delay the others. */
  async #reconcile(others: readonly string[]): Promise<void> {
    await this.#giveUp();
    if (this.#sweeps.isDue(others)) {
      for (const id of this.#wanted) this.#open.add(id);
      for (const id of this.#options.ports.directory.state.mailboxes.keys()) this.#open.add(id);
    }
    for (const id of this.#open) this.#consider(id);
    await this.#share(others);
  }

  /** Records whether the mailbox needs a worker, and ends a worker that is not needed any more or has to restart. */
  #consider(id: string): void {
    const { state } = this.#options.ports.directory;
    const entry = state.mailboxes.get(id);
    const running = this.#running.get(id);
    if (!entry || !isWanted(entry) || !isWorkedOn(state, entry)) {
      this.#wanted.delete(id);
      this.#open.delete(id);
      this.#end([id]);
      return;
    }
    this.#wanted.add(id);
    if (!running) return;
    this.#open.delete(id);
    if (entry.state === 'pending' && settingsOf(entry) !== running.settings) this.#end([id]);
  }

  /** Releases more than a fair share, takes free mailboxes up to it. */
  async #share(others: readonly string[]): Promise<void> {
    const share = Math.ceil(this.#wanted.size / (others.length + 1));
    const held = this.#running.size - this.#ending.size;
    if (held > share) {
      this.#end([...this.#running.keys()].filter((id) => !this.#ending.has(id)).slice(share));
      return;
    }
    const free = await this.#stillOpen(others);
    if (free.length === 0 || held === share) return;
    for (const lease of await this.#leases.take(shuffled(free).slice(0, share - held))) {
      const entry = this.#options.ports.directory.state.mailboxes.get(lease.mailboxId);
      if (entry && !this.#signal.aborted) this.#start(new MailboxWorker(this.#workerOptions(), lease), entry);
      // `#giveUp` releases it: no other process can take it before.
      else this.#noteEnd(lease.mailboxId);
    }
  }

  /** Keeps open the mailboxes that no process works on; returns those that are free. */
  async #stillOpen(others: readonly string[]): Promise<readonly string[]> {
    const open = [...this.#open];
    if (open.length === 0) return [];
    // Notifications from here on concern what the database may not show yet.
    this.#open.clear();
    const unattended = await this.#leases.unattended(open, others).catch((error: unknown) => {
      for (const id of open) this.#open.add(id);
      throw error;
    });
    for (const { mailboxId } of unattended) this.#open.add(mailboxId);
    return unattended.flatMap(({ mailboxId, isFree }) => (isFree ? [mailboxId] : []));
  }

  #start(worker: MailboxWorker, entry: MailboxEntry): void {
    const done = worker.run().then(() => {
      this.#ending.add(entry.id);
      this.#noteEnd(entry.id);
    });
    this.#running.set(entry.id, { worker, done, settings: settingsOf(entry) });
  }

  #noteEnd(mailboxId: string): void {
    this.#ended.add(mailboxId);
    this.#wake.ring();
  }

  /** Asks workers to end; `#giveUp` follows when they have. */
  #end(mailboxIds: readonly string[]): void {
    for (const id of mailboxIds) {
      const running = this.#running.get(id);
      if (!running) continue;
      this.#ending.add(id);
      running.worker.end();
    }
  }

  /** Releases the mailboxes of ended workers and notifies the other processes. */
  async #giveUp(): Promise<void> {
    const ended = [...this.#ended];
    await this.#leases.release(ended);
    if (ended.length > 0) await notifyMailboxes(this.#options.ports.sql, ended);
    for (const id of ended) {
      for (const known of [this.#running, this.#ending, this.#ended]) known.delete(id);
      this.#open.add(id);
    }
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

/** A mailbox with new settings or credentials waits to be connected under a version it never had before. */
const settingsOf = ({ state, version }: MailboxEntry): string =>
  state === 'pending' ? String(version) : 'as before';

function shuffled<T>(items: readonly T[]): readonly T[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

/** When a process checks all mailboxes. Changes are notified, so a sweep is only for missed notifications. */
export class Sweeps {
  readonly #clock: Pick<Clock, 'elapsedMs'>;
  readonly #everyMs: number;
  #nextAt = -Infinity;
  #sharers = '';

  constructor(clock: Pick<Clock, 'elapsedMs'>, { sweepEveryMs }: Pick<SyncTimes, 'sweepEveryMs'>) {
    this.#clock = clock;
    this.#everyMs = sweepEveryMs;
  }

  /** Makes the next sweep due now. */
  ask(): void {
    this.#nextAt = -Infinity;
  }

  /** True when due: first, when asked, every `sweepEveryMs`, and when the other processes changed. */
  isDue(others: readonly string[]): boolean {
    const now = this.#clock.elapsedMs();
    const sharers = others.join();
    if (now < this.#nextAt && sharers === this.#sharers) return false;
    this.#sharers = sharers;
    this.#nextAt = now + this.#everyMs;
    return true;
  }
}

/**
 * The `Directory` port: the directory in the memory of this process, loaded from `read.directory` and then
 * followed from the log, so that no request queries the database for its caller.
 */
import { GatewayError } from '../../commands/values/errors.ts';
import type { Clock, Log, PersonalData, Sql } from '../../commands/ports/ports.ts';
import type { EventStore, SubscriptionItem } from '../../commands/ports/event-store.ts';
import type { StoredEvent } from '../../commands/values/event.ts';
import type { Position } from '../../commands/values/position.ts';
import type { Directory, DirectoryState } from '../../commands/ports/directory.ts';
import { type DirectorySnapshot, readDirectory } from '../../projections/directory-projection.ts';
import { changesOf, denialBy } from '../../projections/directory-changes.ts';
import {
  type DirectoryChange,
  type DirectoryEvent,
  DIRECTORY_STREAMS,
} from '../../projections/directory-entities.ts';
import { projectedEvent } from '../../projections/projection.ts';
import { type AuthzEpoch, directoryBuild, MOST_AGE_MS, watchAuthzEpoch } from './authz-epoch.ts';
import { changedRights, type RightsChange } from './changed-rights.ts';
import { DirectoryMaps } from './directory-maps.ts';
import { type MailboxListener, MailboxNews } from './mailbox-news.ts';
import { refuseCheckpointAhead } from '../projector/checkpoints.ts';
import { within } from '../concurrency/within.ts';
import { ItemBuffer } from '../projector/item-buffer.ts';
import { PositionWaiters } from '../projector/position-waiters.ts';

const READ_AHEAD = 1_000;
const AT_ONCE = 500;
const WAIT_MS = 1_000;
const CURRENT_POLL_MS = 20;
const RESUBSCRIBE_AFTER_MS = 500;
/** Readings of rebuilt rows that are older than this directory, and the pause until the next series. */
const READS = 30;
const READ_EVERY_MS = 100;
const LOAD_AGAIN_AFTER_MS = 10_000;

export interface DirectoryCopyOptions {
  readonly sql: Sql;
  /** Only for the epoch. */
  readonly epochSql: Sql;
  readonly events: EventStore;
  readonly personal: Pick<PersonalData, 'open'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Called for every change that may narrow rights, after the directory has applied it. Must not throw. */
export type RightsListener = (change: RightsChange) => void;

export interface DirectoryCopy extends Directory {
  /** False while the directory may be behind an answered change: then no rights are known. */
  readonly isCurrent: boolean;
  /** Milliseconds since this process last read how new its directory must be. */
  readonly ageMs: number;
  /** Calls the listener for every later change of a mailbox. */
  onMailboxChange(listener: MailboxListener): void;
  /** Calls the listener for every later change of rights. */
  onRightsChange(listener: RightsListener): void;
  close(): Promise<void>;
}

/** Loads the directory; resolves when it is up to date. Throws one sentence when the log is too short. */
export async function openDirectory(options: DirectoryCopyOptions): Promise<DirectoryCopy> {
  const { sql, epochSql, events, log } = options;
  const knownBuild = await directoryBuild(epochSql);
  const snapshot = await readDirectory(sql);
  const endOfLog = () => refuseCheckpointAhead(events, snapshot?.position ?? -1n);
  let copy: FollowingDirectory | null = null;
  const onRebuilt = (): void => {
    copy?.loadAgain();
  };
  const epoch = await watchAuthzEpoch({ sql: epochSql, log, endOfLog, onRebuilt, knownBuild });
  copy = new FollowingDirectory(options, epoch);
  await copy.start(snapshot);
  return copy;
}

class FollowingDirectory implements DirectoryCopy {
  readonly maps = new DirectoryMaps();
  readonly #options: DirectoryCopyOptions;
  readonly #epoch: AuthzEpoch;
  readonly #ending = new AbortController();
  readonly #waiters = new PositionWaiters();
  readonly #news = new MailboxNews(this.maps.state);
  readonly #rightsListeners: RightsListener[] = [];
  #following: Promise<void> = Promise.resolve();
  #version = 0;
  #turn = new AbortController();
  #catchingUp: Promise<boolean> | null = null;
  /** True while rebuilt rows wait to be loaded. */
  #isOutdated = false;

  constructor(options: DirectoryCopyOptions, epoch: AuthzEpoch) {
    this.#options = options;
    this.#epoch = epoch;
  }

  get state(): DirectoryState {
    return this.maps.state;
  }

  get version(): number {
    return this.#version;
  }

  get isCurrent(): boolean {
    this.#epoch.asked();
    return this.#mayAnswer();
  }

  #mayAnswer(): boolean {
    return this.#epoch.allows(this.#waiters.reached);
  }

  get ageMs(): number {
    return this.#epoch.ageMs();
  }

  untilCurrent(): Promise<boolean> {
    return (this.#catchingUp ??= this.#catchUp().finally(() => {
      this.#catchingUp = null;
    }));
  }

  /** One loop for all requests that wait. */
  async #catchUp(): Promise<boolean> {
    const giveUpAt = performance.now() + WAIT_MS;
    const { signal } = this.#ending;
    while (!this.#mayAnswer() && performance.now() < giveUpAt && !signal.aborted) {
      // A database that does not answer is as good as one that fails.
      await within(giveUpAt - performance.now(), this.#epoch.refresh(), 'late').catch(() => undefined);
      if (!this.#mayAnswer()) await this.#options.clock.sleep(CURRENT_POLL_MS, signal);
    }
    return this.#mayAnswer();
  }

  onMailboxChange(listener: MailboxListener): void {
    this.#news.listen(listener);
  }

  onRightsChange(listener: RightsListener): void {
    this.#rightsListeners.push(listener);
  }

  /** Follows from the snapshot; resolves when caught up for the first time. */
  async start(snapshot: DirectorySnapshot | null): Promise<void> {
    this.#hold(snapshot ?? { position: -1n, entities: [] });
    await new Promise<void>((resolve) => {
      this.#following = this.#follow(resolve);
    });
  }

  /** `position` is the position of an event of the directory's streams. */
  async waitFor(position: Position): Promise<void> {
    const isHeld = await this.#waiters.waitFor(position, WAIT_MS);
    // Also when this directory is behind: the change is stored, so no process may answer from the old state.
    await this.#epoch.raise(position);
    if (!isHeld) {
      throw new GatewayError(
        'store_unavailable',
        'The change is stored, but this gateway has not seen it yet; read the object again shortly.',
      );
    }
  }

  async waitForAll(position: Position): Promise<void> {
    await this.waitFor(position);
    // A process that has not read the epoch since then refuses by now.
    await this.#options.clock.sleep(MOST_AGE_MS, this.#ending.signal);
  }

  async close(): Promise<void> {
    this.#epoch.close();
    this.#ending.abort();
    this.#waiters.giveUp();
    await this.#following;
  }

  async #follow(onCaughtUp: () => void): Promise<void> {
    const { clock, log } = this.#options;
    const { signal } = this.#ending;
    while (!signal.aborted) {
      try {
        await this.#followOnce(onCaughtUp);
      } catch (error) {
        log.warn('directory: subscribed again', { error: String(error) });
        await clock.sleep(RESUBSCRIBE_AFTER_MS, signal);
      }
    }
    onCaughtUp();
  }

  /** Runs until the subscription ends. The next one starts after the last event, so each is applied once. */
  async #followOnce(onCaughtUp: () => void): Promise<void> {
    const turn = new AbortController();
    this.#turn = turn;
    if (this.#isOutdated) await this.#loadRebuilt();
    const signal = AbortSignal.any([this.#ending.signal, turn.signal]);
    const from = this.#waiters.reached < 0n ? null : this.#waiters.reached;
    const filter = { streamPrefixes: DIRECTORY_STREAMS };
    const buffer = new ItemBuffer(this.#options.events.subscribeToAll(from, signal, filter), READ_AHEAD);
    try {
      for (let items = await buffer.take(AT_ONCE); items; items = await buffer.take(AT_ONCE)) {
        for (const item of items) await this.#take(item, onCaughtUp);
      }
    } finally {
      turn.abort();
      buffer.close();
    }
  }

  /** Reloads a rebuilt `read.directory`: an event that was denied here may be allowed there. */
  loadAgain(): void {
    this.#isOutdated = true;
    this.#turn.abort();
  }

  /**
   * Replaces the directory with the rebuilt rows. It does not follow the log meanwhile: on a change, the
   * epoch stops the answers of this process until it has applied it. Rows older than the directory are
   * ignored, or a right withdrawn meanwhile would return.
   */
  async #loadRebuilt(): Promise<void> {
    const { sql, clock } = this.#options;
    for (let read = 0; read < READS && !this.#ending.signal.aborted; read += 1) {
      const snapshot = await readDirectory(sql);
      if (snapshot && snapshot.position >= this.#waiters.reached) {
        this.#hold(snapshot);
        this.#version += 1;
        this.#isOutdated = false;
        return;
      }
      await clock.sleep(READ_EVERY_MS, this.#ending.signal);
    }
    setTimeout(() => {
      this.loadAgain();
    }, LOAD_AGAIN_AFTER_MS).unref();
  }

  #hold({ position, entities }: DirectorySnapshot): void {
    const before = this.#news.all();
    this.maps.clear();
    for (const entity of entities) this.maps.put(entity);
    const unknown = [...this.state.mailboxes.keys()].filter((id) => !before.has(id));
    this.#news.tell(new Map([...before, ...unknown.map((id) => [id, null] as const)]));
    for (const listener of this.#rightsListeners) listener('everything');
    this.#waiters.move(position);
  }

  async #take(item: SubscriptionItem, onCaughtUp: () => void): Promise<void> {
    if (item.kind === 'event') await this.#apply(item.event);
    else if (item.kind === 'checkpoint') this.#waiters.move(item.position);
    else onCaughtUp();
  }

  async #apply(stored: StoredEvent): Promise<void> {
    try {
      const event = projectedEvent(stored);
      if (event) await this.#change(event);
    } catch (error) {
      // The database is unavailable; the event may be valid.
      if (error instanceof GatewayError) throw error;
      this.#deny(stored, error);
    }
    this.#waiters.move(stored.position);
    this.#epoch.applied(stored.position);
  }

  async #change(event: DirectoryEvent): Promise<void> {
    const open = this.#options.personal.open.bind(this.#options.personal);
    this.#put(await changesOf(event, this.maps.lookUp, open));
  }

  #put(change: DirectoryChange): void {
    const { put, remove } = change;
    const rights = changedRights(this.state, change);
    const mailboxes = this.#news.before([
      ...put.map(({ kind, value }) => ({ kind, id: value.id })),
      ...remove,
    ]);
    for (const entity of put) this.maps.put(entity);
    for (const key of remove) this.maps.remove(key);
    this.#version += 1;
    this.#news.tell(mailboxes);
    if (rights !== null) for (const listener of this.#rightsListeners) listener(rights);
  }

  #deny(stored: StoredEvent, error: unknown): void {
    const denial = denialBy(stored, this.maps.lookUp);
    this.#put(denial);
    this.#options.log.error('directory: event not applied, what it names is denied', {
      event_id: stored.id,
      type: stored.type,
      denied: [...denial.put.map(({ value }) => value.id), ...denial.remove.map(({ id }) => id)],
      error: String(error),
    });
  }
}

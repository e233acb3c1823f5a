/**
 * Seals the trails: computes the log itself, compares the read model with it, signs the tree of each trail that is due, and
 * tells the log. Any process may do it, one at a time. After a crash the next round continues: what was signed is in `vault`
 * before it is told, and is told under the same note.
 */
import type { KeyObject } from 'node:crypto';
import { SYSTEM_TRAIL, type TrailLine, trailLine, trailOf } from '../../commands/audit/audit-line.ts';
import type { BrokenReason } from '../../commands/audit/seal-events.ts';
import { type HeldLease, holdLease } from '../../commands/kernel/hold-lease.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import type { Seals } from '../../commands/ports/trails.ts';
import { GatewayError } from '../../commands/values/errors.ts';
import type { StoredEvent } from '../../commands/values/event.ts';
import type { Position } from '../../commands/values/position.ts';
import { isOfSealing } from '../../projections/audit-of-sealing.ts';
import { projectedEvent } from '../../projections/projection.ts';
import { Epochs } from './epochs.ts';
import type { FileAnchors } from './file-anchors.ts';
import { KeyChanges } from './key-changes.ts';
import { auditPosition, firstDifference, sealingOf, storedPlace } from './read-trails.ts';
import type { SealFile } from './seal-file.ts';
import { SealMemory, SealMemoryAltered, SealOvertaken, type TrailTree, type Watch } from './seal-memory.ts';
import { CheckpointSigner } from './sign-checkpoint.ts';

export type SealPorts = Pick<Ports, 'sql' | 'events' | 'ids' | 'clock' | 'leases' | 'log'>;

export interface SealSettings {
  readonly masterKey: KeyObject;
  /** The beginning of every origin, where the installation has none yet. */
  readonly auditName: string;
  /** The longest that a line waits for its checkpoint. */
  readonly everyMs: number;
  /** Null where no folder outside is set. */
  readonly anchors: FileAnchors | null;
  /** Beside the database; null where nothing is kept there. */
  readonly file: SealFile | null;
}

/** Events of one transaction. */
const CHUNK = 2_000;
/** Trails signed in one round. */
const MOST_SIGNED = 100;
/** So many lines are sealed without waiting. */
const MANY_LINES = 10_000;
/** What only sealing itself wrote waits this long. */
const QUIET_MS = 3_600_000;

/** Of a change that other processes change before it. */
const MOST_TRIES = 5;

const LEASE = 'audit-sealer';

/** How long a caller waits for a checkpoint, and how soon it is looked for again. */
const ASKED_WITHIN_MS = 3_000;
const LOOK_AGAIN_MS = 50;
const ASK_AGAIN_SECONDS = 5;

/** Intervals without a checkpoint, though lines wait. */
const BEHIND_AFTER = 10;

export type SealingState = 'ok' | 'behind' | 'broken';

/** `behind`: the read model has not everything yet; `held`: another process seals. */
export type RoundEnd = 'done' | 'more' | 'behind' | 'held';

/** A checkpoint that somebody waits for. */
interface Wanted {
  readonly trail: string;
  readonly atLeast: number;
}

/** What is wrong with a trail, and in which epoch that was found. */
interface Finding {
  readonly epoch: number;
  readonly size: number;
  readonly reason: BrokenReason;
}

export class Sealer implements Seals {
  readonly keys: KeyChanges;
  readonly #ports: SealPorts;
  readonly #settings: SealSettings;
  readonly #memory: SealMemory;
  readonly #epochs: Epochs;
  readonly #signer: CheckpointSigner;
  /** Since when this process sees events beyond this position that no round computed. */
  #waiting: { readonly beyond: string; readonly since: number } | null = null;

  constructor(ports: SealPorts, settings: SealSettings) {
    this.#ports = ports;
    this.#settings = settings;
    this.#memory = new SealMemory(ports.sql, settings.masterKey);
    this.keys = new KeyChanges(ports, { ...settings, memory: this.#memory });
    this.#epochs = new Epochs(ports, { ...settings, memory: this.#memory });
    this.#signer = new CheckpointSigner(ports, { ...settings, memory: this.#memory });
  }

  /** For the sweeper that stores checkpoints there. */
  get anchors(): FileAnchors | null {
    return this.#settings.anchors;
  }

  get anchorKinds(): readonly string[] {
    return this.anchors === null ? [] : ['file'];
  }

  async sealNow(trail: string, atLeast: number): Promise<void> {
    const { clock } = this.#ports;
    const until = clock.elapsedMs() + ASKED_WITHIN_MS;
    while (!(await this.isSealed(trail, atLeast))) {
      if (clock.elapsedMs() >= until) throw sealBehind();
      const end = await this.round([{ trail, atLeast }]).catch(laterIfStopped);
      if (end !== 'more' && !(await this.isSealed(trail, atLeast))) await clock.sleep(LOOK_AGAIN_MS);
    }
  }

  async isSealed(trail: string, atLeast: number): Promise<boolean> {
    const [row] = await this.#ports.sql.query<{ sealed: boolean }>(
      `select exists (select from vault.audit_watch w join vault.audit_signed s using (epoch)
         where s.trail = $1 and s.size >= $2 and s.released_at is not null and not w.restored) as sealed`,
      [trail, atLeast],
    );
    return row?.sealed === true;
  }

  /** One round. `asked`: these are due now. Throws `SealMemoryAltered`, `store_unavailable`, or the error of the database. */
  async round(asked: readonly Wanted[] = []): Promise<RoundEnd> {
    const lease = await holdLease(this.#ports.leases, LEASE);
    if (lease === null) return 'held';
    try {
      return await this.#round(lease, asked);
    } catch (error) {
      if (error instanceof SealMemoryAltered)
        await this.#signer.tellBroken(SYSTEM_TRAIL, 'memory_altered', 0);
      throw error;
    } finally {
      await lease.release();
    }
  }

  /**
   * `broken`: a trail is not what was signed. `behind`: no checkpoint for ten times the interval, though lines wait. Throws the
   * error of the database.
   */
  async state(): Promise<SealingState> {
    try {
      await this.#memory.watch(this.#settings.auditName);
    } catch (error) {
      if (error instanceof SealMemoryAltered) return 'broken';
      throw error;
    }
    const { clock } = this.#ports;
    const { everyMs } = this.#settings;
    const { broken, dueAt, beyond } = await sealingOf(this.#ports.sql);
    const now = clock.elapsedMs();
    if (beyond === null) this.#waiting = null;
    else if (this.#waiting?.beyond !== beyond) this.#waiting = { beyond, since: now };
    const isStuck = this.#waiting !== null && now - this.#waiting.since > BEHIND_AFTER * everyMs;
    const isLate = dueAt !== null && clock.now().getTime() - dueAt.getTime() > (BEHIND_AFTER - 1) * everyMs;
    return broken > 0 ? 'broken' : isStuck || isLate ? 'behind' : 'ok';
  }

  /**
   * Nothing is signed over this trail until it is mended. What was found in an earlier epoch no longer counts. It is stored before
   * the log tells it: no later round finds it.
   */
  async stop(trail: string, { epoch, size, reason }: Finding): Promise<void> {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const watch = await this.#memory.watch(this.#settings.auditName);
      if (watch.epoch !== epoch) return;
      const [held] = await this.#memory.trees([trail]);
      if (held === undefined || (held.broken !== null && held.broken !== 'read_model')) return;
      try {
        await this.#memory.move(watch, watch, [this.#signer.stopped(held, reason)]);
        await this.#signer.tellBroken(trail, reason, size);
        return;
      } catch (error) {
        if (!(error instanceof SealOvertaken)) throw error;
      }
    }
    throw new SealOvertaken();
  }

  /** Begins a new epoch at an operator's word: what was signed before is no longer asked of the log. */
  async newEpoch(comment: string): Promise<number> {
    return await this.#epochs.begin(comment);
  }

  async #round(lease: HeldLease, asked: readonly Wanted[]): Promise<RoundEnd> {
    let watch = await this.#epochs.present();
    await this.keys.tell();
    await this.#signer.release();
    const position = await auditPosition(this.#ports.sql);
    if (position < watch.position) return 'behind';
    const place = await this.#placeOf(watch);
    if (place === 'unknown') return 'behind';
    if (place === 'elsewhere') watch = await this.#memory.recount(watch);
    const events = upTo(await this.#ports.events.readAll(positionOrStart(watch), CHUNK), position);
    if (events.length > 0) watch = await this.#compute(watch, events);
    if (watch.position < position) return 'more';
    const due = await this.#due(asked, watch);
    lease.assertHeld();
    if (due.length > 0) await this.#epochs.remember(await this.#signer.sign(watch, due));
    await this.#signer.release();
    return due.length < MOST_SIGNED ? 'done' : 'more';
  }

  /**
   * Where the log has the event that was computed last. In a copy of the log its position is another: everything is counted
   * again, and every root has to come out again. `unknown` while the read model does not know it.
   */
  async #placeOf({ eventId, position }: Watch): Promise<'here' | 'elsewhere' | 'unknown'> {
    if (eventId === null) return 'here';
    const found = await storedPlace(this.#ports.sql, eventId);
    if (found === null) return 'unknown';
    const [event] = await this.#ports.events.readStream(found.stream, found.revision);
    return event?.id === eventId && event.position === position ? 'here' : 'elsewhere';
  }

  /** Adds the events to the trees of their trails, and compares the lines of the read model with them. */
  async #compute(watch: Watch, events: readonly StoredEvent[]): Promise<Watch> {
    const { sql, clock } = this.#ports;
    const now = clock.now();
    const trees = await this.#memory.trees([...new Set(events.map(trailOf))]);
    const byTrail = new Map(trees.map((tree) => [tree.trail, { ...tree }]));
    const lines: TrailLine[] = [];
    for (const event of events) {
      const held = byTrail.get(trailOf(event));
      if (held === undefined) throw new Error('a trail without a tree');
      const line = trailLine(event, held.tree.size + 1);
      held.tree.push(line.leaf);
      lines.push(line);
      byTrail.set(held.trail, { ...held, dueAt: this.#dueAt(held, event, now) });
    }
    for (const [trail, seq] of await firstDifference(sql, lines)) {
      const held = byTrail.get(trail);
      this.#ports.log.error('audit: a line of the read model is not what the log says', { trail, seq });
      if (held) byTrail.set(trail, { ...held, broken: held.broken ?? 'read_model' });
    }
    const last = events.at(-1);
    if (last === undefined) return watch;
    const to = { ...watch, position: last.position, eventId: last.id, events: watch.events + events.length };
    return await this.#memory.move(watch, to, [...byTrail.values()]);
  }

  #dueAt({ dueAt, tree, signedSize }: TrailTree, event: StoredEvent, now: Date): Date {
    const waits =
      tree.size - signedSize >= MANY_LINES ? 0 : isQuiet(event) ? QUIET_MS : this.#settings.everyMs;
    const at = new Date(now.getTime() + waits);
    return dueAt !== null && dueAt < at ? dueAt : at;
  }

  async #due(asked: readonly Wanted[], { epoch }: Watch): Promise<readonly TrailTree[]> {
    const due = await this.#memory.due(this.#ports.clock.now(), MOST_SIGNED);
    const trees = await this.#memory.trees([...new Set(asked.map(({ trail }) => trail))]);
    const wanted = trees.filter(
      (tree) =>
        asked.some((one) => one.trail === tree.trail && isMissing(tree, one, epoch)) &&
        !due.some(({ trail }) => trail === tree.trail),
    );
    return [...wanted, ...due];
  }
}

const isMissing = (held: TrailTree, { atLeast }: Wanted, epoch: number): boolean =>
  held.tree.size >= atLeast && (held.signedEpoch !== epoch || held.signedSize < atLeast);

const positionOrStart = ({ position }: Watch): Position | null => (position < 0n ? null : position);

const upTo = (events: readonly StoredEvent[], position: Position): readonly StoredEvent[] =>
  events.filter((event) => event.position <= position);

/** Written by sealing itself. What nobody can read is not. */
function isQuiet(event: StoredEvent): boolean {
  try {
    const projected = projectedEvent(event);
    return projected !== null && isOfSealing(projected.fact);
  } catch {
    return false;
  }
}

/** Another process may go on; what only an operator can mend is in the log and in health already. */
function laterIfStopped(error: unknown): RoundEnd {
  if (error instanceof SealOvertaken || error instanceof SealMemoryAltered) return 'held';
  throw error;
}

const sealBehind = (): GatewayError =>
  new GatewayError('seal_behind', 'The lines are not sealed yet; ask again shortly.', {
    retryAfterSeconds: ASK_AGAIN_SECONDS,
  });

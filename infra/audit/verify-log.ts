/**
 * Verifies every trail from the first event: computes the trees again and compares each with every checkpoint that was signed
 * in this epoch, and with the read model. It changes nothing.
 */
import { trailLine, type TrailLine, trailOf } from '../../commands/audit/audit-line.ts';
import { Frontier } from '../../commands/audit/merkle.ts';
import type { BrokenReason } from '../../commands/audit/seal-events.ts';
import { isSignedBy, rootIn } from '../../commands/audit/signed-note.ts';
import type { Ports, Sql } from '../../commands/ports/ports.ts';
import type { Position } from '../../commands/values/position.ts';
import type { StoredEvent } from '../../commands/values/event.ts';
import { auditPosition, firstDifference, trailsWithOtherNodes } from './read-trails.ts';
import { publicKeysOf } from './seal-keys.ts';

type VerifyPorts = Pick<Ports, 'sql' | 'events'>;

const CHUNK = 2_000;

export interface Difference {
  /** The checkpoint, or the line. */
  readonly size: number;
  readonly reason: BrokenReason;
}

export interface VerifiedTrail {
  /** The one in which the verification began. */
  readonly epoch: number;
  readonly size: number;
  readonly root: Uint8Array;
  /** The first one found; null when all agrees. */
  readonly difference: Difference | null;
}

export interface VerifiedLog {
  /** When the verification began, by the clock of the database. */
  readonly began: Date;
  /** The trails of the log, by name. */
  readonly trails: ReadonlyMap<string, VerifiedTrail>;
}

interface SignedSize {
  readonly trail: string;
  readonly size: number;
  readonly note: string;
}

/** Checkpoints of this moment: those that are signed meanwhile may be larger than what is read here. */
interface Signed {
  readonly epoch: number;
  readonly before: Date;
}

/** Throws the signal's reason when it aborts, or `store_unavailable`. */
export async function verifyLog(ports: VerifyPorts, signal: AbortSignal): Promise<VerifiedLog> {
  const signed = await signedBy(ports.sql);
  const verification = new Verification(ports, signed, await auditPosition(ports.sql));
  return { began: signed.before, trails: await verification.run(await ports.events.headPosition(), signal) };
}

async function signedBy(sql: Sql): Promise<Signed> {
  const [row] = await sql.query<{ before: Date; epoch: string | null }>(
    'select now() as before, (select epoch from vault.audit_watch) as epoch',
  );
  return { epoch: Number(row?.epoch ?? 1), before: row?.before ?? new Date(0) };
}

class Verification {
  readonly #sql: Sql;
  readonly #events: VerifyPorts['events'];
  readonly #signed: Signed;
  /** Later lines are not in the read model yet. */
  readonly #readUpTo: Position;
  readonly #trees = new Map<string, Frontier>();
  readonly #differences = new Map<string, Difference>();
  /** Events of each stream so far. */
  readonly #revisions = new Map<string, bigint>();

  constructor({ sql, events }: VerifyPorts, signed: Signed, readUpTo: Position) {
    this.#sql = sql;
    this.#events = events;
    this.#signed = signed;
    this.#readUpTo = readUpTo;
  }

  async run(to: Position, signal: AbortSignal): Promise<ReadonlyMap<string, VerifiedTrail>> {
    for (let after: Position | null = null; ;) {
      signal.throwIfAborted();
      const read: readonly StoredEvent[] = await this.#events.readAll(after, CHUNK);
      const page = read.filter(({ position }) => position <= to);
      const last: StoredEvent | undefined = page.at(-1);
      if (last === undefined) break;
      await this.#verify(page);
      after = last.position;
    }
    for (const { trail, size } of await this.#beyond()) this.#note(trail, { size, reason: 'log_is_shorter' });
    for (const trail of await trailsWithOtherNodes(this.#sql))
      this.#note(trail, { size: this.#sizeOf(trail), reason: 'read_model' });
    const trails = new Set([...this.#trees.keys(), ...this.#differences.keys()]);
    return new Map([...trails].map((trail) => [trail, this.#resultOf(trail)]));
  }

  #resultOf(trail: string): VerifiedTrail {
    const tree = this.#trees.get(trail) ?? new Frontier();
    const difference = this.#differences.get(trail) ?? null;
    return { epoch: this.#signed.epoch, size: tree.size, root: tree.root(), difference };
  }

  #sizeOf(trail: string): number {
    return this.#trees.get(trail)?.size ?? 0;
  }

  /** What the read model lacks weighs less than what the log lacks. */
  #note(trail: string, difference: Difference): void {
    const known = this.#differences.get(trail);
    if (known === undefined || (known.reason === 'read_model' && difference.reason !== 'read_model'))
      this.#differences.set(trail, difference);
  }

  async #verify(page: readonly StoredEvent[]): Promise<void> {
    const signed = await this.#within(page);
    const wanted = Map.groupBy(signed, ({ trail, size }) => `${trail} ${String(size)}`);
    const shown: TrailLine[] = [];
    for (const event of page) {
      const line = this.#push(event);
      if (event.position <= this.#readUpTo) shown.push(line);
      for (const one of wanted.get(`${line.trail} ${String(line.seq)}`) ?? [])
        await this.#compare(one, this.#trees.get(line.trail)?.root() ?? new Uint8Array());
    }
    for (const [trail, seq] of await firstDifference(this.#sql, shown))
      this.#note(trail, { size: seq, reason: 'read_model' });
    for (const { trail, size } of await this.#otherNotes(page))
      this.#note(trail, { size, reason: 'note_missing' });
  }

  #push(event: StoredEvent): TrailLine {
    const trail = trailOf(event);
    const tree = this.#trees.get(trail) ?? new Frontier();
    this.#trees.set(trail, tree);
    const line = trailLine(event, tree.size + 1);
    tree.push(line.leaf);
    const { streamName, revision } = event;
    if (revision !== (this.#revisions.get(streamName) ?? 0n))
      this.#note(trail, { size: line.seq, reason: 'revision_missing' });
    this.#revisions.set(streamName, revision + 1n);
    return line;
  }

  async #compare({ trail, size, note }: SignedSize, root: Uint8Array): Promise<void> {
    const [name = ''] = note.split('\n', 1);
    const keys = await publicKeysOf(this.#sql, trail);
    if (!keys.some((publicKey) => isSignedBy(note, { name, publicKey })))
      this.#note(trail, { size, reason: 'signature_differs' });
    else if (!Buffer.from(rootIn(note)).equals(root)) this.#note(trail, { size, reason: 'root_differs' });
  }

  /** The checkpoints whose sizes are reached within these events. */
  async #within(page: readonly StoredEvent[]): Promise<readonly SignedSize[]> {
    const ranges = [...Map.groupBy(page, trailOf)].map(([trail, own]) => {
      const from = this.#sizeOf(trail);
      return { trail, from, to: from + own.length };
    });
    return await this.#signedIn(
      `join unnest($3::text[], $4::bigint[], $5::bigint[]) as w(trail, after, last)
         on a.trail = w.trail and a.size > w.after and a.size <= w.last`,
      [ranges.map(({ trail }) => trail), ranges.map(({ from }) => from), ranges.map(({ to }) => to)],
    );
  }

  /** The checkpoints that are larger than their trail in the log. */
  async #beyond(): Promise<readonly SignedSize[]> {
    const known = [...this.#trees];
    return await this.#signedIn(
      `left join unnest($3::text[], $4::bigint[]) as w(trail, size) on a.trail = w.trail
        where a.size > coalesce(w.size, 0)`,
      [known.map(([trail]) => trail), known.map(([, { size }]) => size)],
    );
  }

  async #signedIn(join: string, parameters: readonly unknown[]): Promise<readonly SignedSize[]> {
    const rows = await this.#sql.query<{ trail: string; size: string; note: string }>(
      `select a.trail, a.size, a.note
         from (select * from vault.audit_signed where epoch = $1 and signed_at < $2) a ${join}
        order by a.trail, a.size`,
      [this.#signed.epoch, this.#signed.before, ...parameters],
    );
    return rows.map((row) => ({ ...row, size: Number(row.size) }));
  }

  /** Checkpoints that the log tells of and the memory of the sealer does not have so. */
  async #otherNotes(page: readonly StoredEvent[]): Promise<readonly { trail: string; size: number }[]> {
    const told = page.filter(
      ({ type, data }) => type === 'AuditCheckpointSealed' && data['epoch'] === this.#signed.epoch,
    );
    if (told.length === 0) return [];
    const rows = await this.#sql.query<{ trail: string; size: string }>(
      `select w.trail, w.size from unnest($2::text[], $3::bigint[], $4::text[]) as w(trail, size, note)
         left join vault.audit_signed a on a.trail = w.trail and a.epoch = $1 and a.size = w.size
        where a.note is distinct from w.note`,
      [
        this.#signed.epoch,
        told.map(trailOf),
        told.map(({ data }) => data['size']),
        told.map(({ data }) => data['note']),
      ],
    );
    return rows.map(({ trail, size }) => ({ trail, size: Number(size) }));
  }
}

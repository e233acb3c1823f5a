/**
 * What the sealer remembers: how far it computed the log, and the tree of each trail there. Rows carry an HMAC under a key
 * derived from the key file, because the database holds the log too: who changed both would otherwise be believed.
 */
import { createHmac, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { BrokenReason } from '../../commands/audit/seal-events.ts';
import { Frontier, HASH_BYTES, subtreesOf } from '../../commands/audit/merkle.ts';
import type { Sql } from '../../commands/ports/ports.ts';
import type { Position } from '../../commands/values/position.ts';

export interface Watch {
  readonly version: number;
  readonly name: string;
  readonly epoch: number;
  readonly epochReason: string | null;
  readonly epochComment: string | null;
  /** -1n before the first event. */
  readonly position: Position;
  readonly eventId: string | null;
  readonly events: number;
  readonly restored: boolean;
}

export interface TrailTree {
  readonly trail: string;
  readonly tree: Frontier;
  readonly signedEpoch: number | null;
  readonly signedSize: number;
  readonly dueAt: Date | null;
  /** Null while all is well. */
  readonly broken: BrokenReason | null;
}

/** How far the log was computed, as the sealer remembers it, was changed by somebody without the key file. */
export class SealMemoryAltered extends Error {
  constructor() {
    super(
      "The sealer's memory of the log was altered: nothing is signed until an operator begins a new epoch.",
    );
    this.name = 'SealMemoryAltered';
  }
}

/** Another process changed the memory first. */
export class SealOvertaken extends Error {
  constructor() {
    super('another process changed the memory of the sealer');
    this.name = 'SealOvertaken';
  }
}

const KEY_BYTES = 32;

export class SealMemory {
  readonly #sql: Sql;
  readonly #key: Buffer;

  constructor(sql: Sql, masterKey: KeyObject) {
    this.#sql = sql;
    this.#key = Buffer.from(hkdfSync('sha256', masterKey, Buffer.alloc(0), 'audit seal memory', KEY_BYTES));
  }

  /** Who has the same key file can have signed under the same origins. */
  get installation(): string {
    return this.#mac(['installation']).toString('hex');
  }

  /** The watch, made under this audit name at the first call. Throws `SealMemoryAltered`. */
  async watch(name: string): Promise<Watch> {
    const first: Watch = {
      version: 0,
      name,
      epoch: 1,
      epochReason: null,
      epochComment: null,
      position: -1n,
      eventId: null,
      events: 0,
      restored: false,
    };
    await this.#sql.query(
      `insert into vault.audit_watch (version, name, epoch, position, events, mac) values (0, $1, 1, -1, 0, $2)
       on conflict do nothing`,
      [name, this.#macOfWatch(first)],
    );
    // After a restore of a backup without seals.
    await this.#sql.query(
      `update vault.audit_watch set name = $1, mac = $2 where name = '' and restored and version = 0 and events = 0`,
      [name, this.#macOfWatch(first)],
    );
    const [row] = await this.#sql.query<WatchRow>('select * from vault.audit_watch');
    if (!row) throw new Error('the sealer has no memory');
    const watch = watchOf(row);
    if (!isSame(row.mac, this.#macOfWatch(watch))) throw new SealMemoryAltered();
    return watch;
  }

  /** The watch as it is stored, for an operator who begins a new epoch over whatever it says; null before the first round. */
  async watchUnchecked(): Promise<Watch | null> {
    const [row] = await this.#sql.query<WatchRow>('select * from vault.audit_watch');
    return row ? watchOf(row) : null;
  }

  /** The trees of these trails; a new trail begins empty, and one that was altered is broken. */
  async trees(trails: readonly string[]): Promise<readonly TrailTree[]> {
    const rows = await this.#sql.query<TreeRow>(
      'select * from vault.audit_tree where trail = any($1::text[])',
      [trails],
    );
    const known = new Map(rows.map((row) => [row.trail, this.#treeOf(row)]));
    return trails.map((trail) => known.get(trail) ?? emptyTree(trail));
  }

  /** Trails whose time has come, the longest due first. */
  async due(now: Date, limit: number): Promise<readonly TrailTree[]> {
    const rows = await this.#sql.query<TreeRow>(
      'select * from vault.audit_tree where due_at <= $1 order by due_at limit $2',
      [now, limit],
    );
    return rows.map((row) => this.#treeOf(row));
  }

  /** Begins with the first event again, and keeps what was signed: it has to come out again. */
  async recount(from: Watch): Promise<Watch> {
    const start = { ...from, position: -1n, eventId: null, events: 0 };
    const rows = await this.#sql.query<TreeRow>('select * from vault.audit_tree');
    const trees = rows.map((row) => ({ ...this.#treeOf(row), tree: new Frontier() }));
    return await this.move(from, start, trees);
  }

  /** Forgets every tree and begins with the first event again, in a new epoch. */
  async restart(from: Watch, to: Omit<Watch, 'version'>): Promise<Watch> {
    const start = { ...to, position: -1n, eventId: null, events: 0 };
    return await this.move(from, start, [], async (inside) => {
      await inside.query('delete from vault.audit_tree');
    });
  }

  /** Moves from one watch to the next and stores trees, in one transaction with `also`. Throws `SealOvertaken`. */
  async move(
    from: Watch,
    to: Omit<Watch, 'version'>,
    trees: readonly TrailTree[],
    also: (sql: Sql) => Promise<void> = () => Promise.resolve(),
  ): Promise<Watch> {
    const next: Watch = { ...to, version: from.version + 1 };
    await this.#sql.transaction(async (inside) => {
      const moved = await inside.query(
        `update vault.audit_watch set version = $2, epoch = $3, epoch_reason = $4, epoch_comment = $5, position = $6,
           event_id = $7, events = $8, restored = $9, mac = $10
         where version = $1 returning version`,
        [
          from.version,
          next.version,
          next.epoch,
          next.epochReason,
          next.epochComment,
          String(next.position),
          next.eventId,
          next.events,
          next.restored,
          this.#macOfWatch(next),
        ],
      );
      if (moved.length === 0) throw new SealOvertaken();
      await this.#store(inside, trees);
      await also(inside);
    });
    return next;
  }

  async #store(sql: Sql, trees: readonly TrailTree[]): Promise<void> {
    if (trees.length === 0) return;
    await sql.query(
      `insert into vault.audit_tree as t (trail, size, frontier, signed_epoch, signed_size, due_at, broken, mac)
       select * from unnest($1::text[], $2::bigint[], $3::bytea[], $4::bigint[], $5::bigint[], $6::timestamptz[], $7::text[], $8::bytea[])
       on conflict (trail) do update set size = excluded.size, frontier = excluded.frontier,
         signed_epoch = excluded.signed_epoch, signed_size = excluded.signed_size, due_at = excluded.due_at,
         broken = excluded.broken, mac = excluded.mac`,
      [
        trees.map(({ trail }) => trail),
        trees.map(({ tree }) => tree.size),
        trees.map(({ tree }) => hex(tree.toBytes())),
        trees.map(({ signedEpoch }) => signedEpoch),
        trees.map(({ signedSize }) => signedSize),
        trees.map(({ dueAt }) => dueAt?.toISOString() ?? null),
        trees.map(({ broken }) => broken),
        trees.map((tree) => hex(this.#macOfTree(tree))),
      ],
    );
  }

  #treeOf(row: TreeRow): TrailTree {
    const altered: TrailTree = { ...emptyTree(row.trail), dueAt: row.due_at, broken: 'memory_altered' };
    if (row.frontier.length !== subtreesOf(Number(row.size)).length * HASH_BYTES) return altered;
    const tree: TrailTree = {
      trail: row.trail,
      tree: new Frontier(Number(row.size), row.frontier),
      signedEpoch: row.signed_epoch === null ? null : Number(row.signed_epoch),
      signedSize: Number(row.signed_size),
      dueAt: row.due_at,
      broken: row.broken as BrokenReason | null,
    };
    return isSame(row.mac, this.#macOfTree(tree)) ? tree : altered;
  }

  #macOfWatch({ version, name, epoch, epochReason, epochComment, position, eventId, events }: Watch): Buffer {
    return this.#mac([
      'watch',
      version,
      name,
      epoch,
      epochReason,
      epochComment,
      String(position),
      eventId,
      events,
    ]);
  }

  /** Not over `due_at`: when something is signed proves nothing. */
  #macOfTree({ trail, tree, signedEpoch, signedSize, broken }: TrailTree): Buffer {
    return this.#mac([
      'tree',
      trail,
      tree.size,
      tree.toBytes().toString('hex'),
      signedEpoch,
      signedSize,
      broken,
    ]);
  }

  #mac(parts: readonly (string | number | null)[]): Buffer {
    return createHmac('sha256', this.#key).update(JSON.stringify(parts)).digest();
  }
}

const emptyTree = (trail: string): TrailTree => ({
  trail,
  tree: new Frontier(),
  signedEpoch: null,
  signedSize: 0,
  dueAt: null,
  broken: null,
});

interface WatchRow extends Record<string, unknown> {
  readonly version: string;
  readonly name: string;
  readonly epoch: string;
  readonly epoch_reason: string | null;
  readonly epoch_comment: string | null;
  readonly position: string;
  readonly event_id: string | null;
  readonly events: string;
  readonly restored: boolean;
  readonly mac: Buffer;
}

const watchOf = (row: WatchRow): Watch => ({
  version: Number(row.version),
  name: row.name,
  epoch: Number(row.epoch),
  epochReason: row.epoch_reason,
  epochComment: row.epoch_comment,
  position: BigInt(row.position),
  eventId: row.event_id,
  events: Number(row.events),
  restored: row.restored,
});

interface TreeRow extends Record<string, unknown> {
  readonly trail: string;
  readonly size: string;
  readonly frontier: Buffer;
  readonly signed_epoch: string | null;
  readonly signed_size: string;
  readonly due_at: Date | null;
  readonly broken: string | null;
  readonly mac: Buffer;
}

const isSame = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b);
const hex = (bytes: Uint8Array): string => `\\x${Buffer.from(bytes).toString('hex')}`;

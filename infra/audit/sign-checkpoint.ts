/** Signs the trees of trails, remembers every note before anybody sees it, and then tells the log. */
import type { KeyObject } from 'node:crypto';
import { type BrokenReason, seal, type SealEvent, type SealState } from '../../commands/audit/seal-events.ts';
import { checkpointText, isSignedBy, originOf, rootIn } from '../../commands/audit/signed-note.ts';
import { type Author, decideAndAppend, systemAuthor } from '../../commands/kernel/decide-and-append.ts';
import type { Ports, Sql } from '../../commands/ports/ports.ts';
import type { Fact } from '../../commands/values/event.ts';
import type { AnchoredNote, FileAnchors } from './file-anchors.ts';
import { linesAgree, VERSIONED_TABLES } from './read-trails.ts';
import { foundIn } from './remember-verified.ts';
import { publicKeysOf, SealKeyMissing, sealKeys, signNote } from './seal-keys.ts';
import { type SealMemory, SealOvertaken, type TrailTree, type Watch } from './seal-memory.ts';
import type { Difference } from './verify-log.ts';
import { rangeRoot } from '../../projections/audit-tree.ts';

type SignPorts = Pick<Ports, 'sql' | 'events' | 'ids' | 'clock' | 'log'>;

interface Signed {
  readonly trail: string;
  readonly epoch: number;
  readonly size: number;
  readonly note: string;
}

/** A trail that is stopped is judged again after this: its read model may be mended, or the log does not tell it yet. */
const LOOK_AGAIN_MS = 60_000;

/** Notes told in one round. */
const MOST_RELEASED = 100;

export class CheckpointSigner {
  readonly #ports: SignPorts;
  readonly #masterKey: KeyObject;
  readonly #memory: SealMemory;

  readonly #anchors: FileAnchors | null;

  constructor(
    ports: SignPorts,
    parts: {
      readonly masterKey: KeyObject;
      readonly memory: SealMemory;
      readonly anchors: FileAnchors | null;
    },
  ) {
    this.#ports = ports;
    this.#masterKey = parts.masterKey;
    this.#memory = parts.memory;
    this.#anchors = parts.anchors;
  }

  /** Signs each of these trees, or says why not. Throws `SealOvertaken`, or the error of the database. */
  async sign(watch: Watch, due: readonly TrailTree[]): Promise<Watch> {
    const trees: TrailTree[] = [];
    const notes: Signed[] = [];
    for (const tree of due) {
      const judged = await this.#judge(watch, tree);
      if (judged === null) trees.push({ ...tree, dueAt: null, broken: null });
      else if ('reason' in judged) trees.push(await this.#refused(tree, judged));
      else {
        notes.push(judged);
        trees.push({
          ...tree,
          dueAt: null,
          broken: null,
          signedEpoch: judged.epoch,
          signedSize: judged.size,
        });
      }
    }
    return await this.#memory.move(watch, watch, trees, (inside) => remember(inside, notes));
  }

  /** Tells the log before it is stored: nothing is signed meanwhile, and a process that dies between the two finds it again. */
  async #refused(tree: TrailTree, { size, reason: broken }: Difference): Promise<TrailTree> {
    await this.tellBroken(tree.trail, broken, size);
    const { dueAt } = this.stopped(tree, broken);
    return { ...tree, broken, dueAt: broken === 'read_model' ? dueAt : null };
  }

  /** The tree as nothing is signed over it. It is due again soon: a round tells the log if nobody did. */
  stopped(tree: TrailTree, broken: BrokenReason): TrailTree {
    return { ...tree, broken, dueAt: new Date(this.#ports.clock.now().getTime() + LOOK_AGAIN_MS) };
  }

  /** Once for each reason. */
  async tellBroken(trail: string, reason: BrokenReason, size: number): Promise<void> {
    this.#ports.log.error('audit: a trail is not sealed', { trail, reason, size });
    await decideAndAppend(this.#ports, sealAuthor(this.#ports, trail), seal, {
      id: trail,
      decide: ({ broken }): readonly Fact<SealEvent>[] =>
        broken === reason ? [] : [{ type: 'AuditSealBroken', data: { size, reason } }],
    });
  }

  /**
   * The note, null when the trail is signed at this size, or why the tree may not be signed: no verification found the log
   * changed in this epoch, and the tree itself must agree.
   */
  async #judge(watch: Watch, held: TrailTree): Promise<Signed | Difference | null> {
    const { trail, tree, broken } = held;
    if (broken !== null && broken !== 'read_model') return { size: tree.size, reason: broken };
    const found = await foundIn(this.#ports.sql, trail, watch.epoch);
    if (found !== null) return found;
    const judged = await this.#compared(watch, held);
    return typeof judged === 'string' ? { size: tree.size, reason: judged } : judged;
  }

  /** The read model must agree with the tree now, and with the last note at its size. */
  async #compared(watch: Watch, held: TrailTree): Promise<Signed | BrokenReason | null> {
    const { trail, tree, broken } = held;
    const { sql } = this.#ports;
    if (broken === 'read_model' && !(await linesAgree(sql, trail))) return 'read_model';
    if (!(await this.#hasRoot(trail, tree.size, tree.root()))) return 'read_model';
    if (await this.#differsOutside(watch, held)) return 'anchor_differs';
    const earlier = await this.#earlier(held);
    if (earlier !== null) return earlier;
    if (held.signedEpoch === watch.epoch && held.signedSize >= tree.size)
      return held.signedSize === tree.size ? null : 'log_is_shorter';
    return await this.#signed(watch, held);
  }

  async #signed(watch: Watch, { trail, tree, signedEpoch }: TrailTree): Promise<Signed | BrokenReason> {
    try {
      const keys = await sealKeys(this.#ports.sql, this.#masterKey, {
        trail,
        wasSigned: signedEpoch === watch.epoch,
      });
      const origin = originOf(watch.name, trail, watch.epoch);
      const note = signNote(checkpointText(origin, tree.size, tree.root()), origin, keys);
      return { trail, epoch: watch.epoch, size: tree.size, note };
    } catch (error) {
      if (error instanceof SealKeyMissing) return 'key_missing';
      throw error;
    }
  }

  /** True when a checkpoint outside is larger than what was signed here, or has another root. Throws `SealOvertaken`. */
  async #differsOutside(watch: Watch, { trail, signedEpoch, signedSize }: TrailTree): Promise<boolean> {
    const outside = await this.#newestOutside(originOf(watch.name, trail, watch.epoch));
    if (outside === null) return false;
    if (outside.size > (signedEpoch === watch.epoch ? signedSize : 0)) {
      // It may be one that another process signed since this tree was read.
      if ((await this.#memory.watch(watch.name)).version !== watch.version) throw new SealOvertaken();
      return true;
    }
    return !(await this.#hasRoot(trail, outside.size, rootIn(outside.note)));
  }

  /** A folder that cannot be read is no reason to stop sealing. */
  async #newestOutside(origin: string): Promise<AnchoredNote | null> {
    try {
      return (await this.#anchors?.newest(origin)) ?? null;
    } catch (error) {
      this.#ports.log.error('audit: the checkpoints outside cannot be read', {
        origin,
        error: String(error),
      });
      return null;
    }
  }

  /** What is wrong with the last note that was signed; null when the trail begins with what it says. */
  async #earlier({ trail, signedEpoch, signedSize }: TrailTree): Promise<BrokenReason | null> {
    if (signedEpoch === null) return null;
    const [last] = await this.#ports.sql.query<{ note: string }>(
      'select note from vault.audit_signed where trail = $1 and epoch = $2 and size = $3',
      [trail, signedEpoch, signedSize],
    );
    if (last === undefined) return 'note_missing';
    const root = await this.#signedRoot(trail, last.note);
    if (root === null) return 'signature_differs';
    return (await this.#hasRoot(trail, signedSize, root)) ? null : 'root_differs';
  }

  async #hasRoot(trail: string, size: number, root: Uint8Array): Promise<boolean> {
    try {
      const held = await rangeRoot(this.#ports.sql, VERSIONED_TABLES, trail, { from: 0, to: size });
      return Buffer.from(held).equals(root);
    } catch (error) {
      // The read model has fewer lines.
      if (error instanceof RangeError) return false;
      throw error;
    }
  }

  /** The root of a note of this trail; null when none of its keys signed it. */
  async #signedRoot(trail: string, note: string): Promise<Uint8Array | null> {
    const [name = ''] = note.split('\n', 1);
    const keys = await publicKeysOf(this.#ports.sql, trail);
    return keys.some((publicKey) => isSignedBy(note, { name, publicKey })) ? rootIn(note) : null;
  }

  /** Tells the log of every note that it does not have yet, oldest first in each trail. */
  async release(): Promise<void> {
    const { sql } = this.#ports;
    const waiting = await sql.query<{ trail: string; epoch: string; size: string; note: string }>(
      `select trail, epoch, size, note from vault.audit_signed where released_at is null
        order by trail, epoch, size limit ${String(MOST_RELEASED)}`,
    );
    if (waiting.length === 0) return;
    const [watch] = await sql.query<{ reason: string | null; comment: string | null }>(
      'select epoch_reason as reason, epoch_comment as comment from vault.audit_watch',
    );
    for (const { trail, epoch, size, note } of waiting) {
      const signed: Signed = { trail, epoch: Number(epoch), size: Number(size), note };
      await this.#append(signed, watch ?? { reason: null, comment: null });
      await sql.query(
        'update vault.audit_signed set released_at = now() where trail = $1 and epoch = $2 and size = $3',
        [trail, epoch, size],
      );
    }
  }

  async #append(
    signed: Signed,
    began: { readonly reason: string | null; readonly comment: string | null },
  ): Promise<void> {
    await decideAndAppend(this.#ports, sealAuthor(this.#ports, signed.trail), seal, {
      id: signed.trail,
      decide: (state) => factsOf(state, signed, began),
    });
  }
}

export const sealAuthor = (ports: SignPorts, trail: string): Author =>
  systemAuthor(ports, trail.startsWith('org_') ? trail : null);

async function remember(sql: Sql, notes: readonly Signed[]): Promise<void> {
  await sql.query(
    `insert into vault.audit_signed (trail, epoch, size, note)
     select * from unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[])`,
    [
      notes.map(({ trail }) => trail),
      notes.map(({ epoch }) => epoch),
      notes.map(({ size }) => size),
      notes.map(({ note }) => note),
    ],
  );
}

/** Nothing where the log has it already: a process died between telling the log and noting so. */
function factsOf(
  { epoch, sealed }: SealState,
  signed: Signed,
  began: { readonly reason: string | null; readonly comment: string | null },
): readonly Fact<SealEvent>[] {
  const isKnown =
    sealed !== null &&
    (sealed.epoch > signed.epoch || (sealed.epoch === signed.epoch && sealed.size >= signed.size));
  if (isKnown) return [];
  const root = Buffer.from(rootIn(signed.note)).toString('base64');
  const checkpoint: Fact<SealEvent> = {
    type: 'AuditCheckpointSealed',
    data: { epoch: signed.epoch, size: signed.size, root, note: signed.note },
  };
  if (signed.epoch === epoch) return [checkpoint];
  return [
    {
      type: 'AuditEpochStarted',
      data: {
        epoch: signed.epoch,
        reason: began.reason === 'operator' ? 'operator' : 'restore',
        comment: began.comment,
        previous_note: sealed?.note ?? null,
      },
    },
    checkpoint,
  ];
}

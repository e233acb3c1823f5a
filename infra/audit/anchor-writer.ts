/** Stores the newest checkpoint of each trail outside, at most once an hour each, and tells the log. Sealing never waits for it. */
import { seal, type SealEvent } from '../../commands/audit/seal-events.ts';
import { decideAndAppend } from '../../commands/kernel/decide-and-append.ts';
import { holdLease } from '../../commands/kernel/hold-lease.ts';
import type { Fact } from '../../commands/values/event.ts';
import { codeOf, type FileAnchors } from './file-anchors.ts';
import type { SealPorts } from './sealer.ts';
import { sealAuthor } from './sign-checkpoint.ts';

const LEASE = 'audit-anchors';
const KIND = 'file';
const HOUR_MS = 3_600_000;
/** Of one pass. */
const MOST_TRAILS = 100;

interface Due extends Record<string, unknown> {
  readonly trail: string;
  readonly epoch: string;
  readonly size: string;
  readonly note: string;
}

export class AnchorWriter {
  readonly #ports: SealPorts;
  readonly #anchors: FileAnchors;

  constructor(ports: SealPorts, anchors: FileAnchors) {
    this.#ports = ports;
    this.#anchors = anchors;
  }

  /** False when another process does it. A trail that cannot be stored is tried again after an hour. */
  async write(): Promise<boolean> {
    const lease = await holdLease(this.#ports.leases, LEASE);
    if (lease === null) return false;
    try {
      for (const due of await this.#due()) await this.#store(due);
      return true;
    } finally {
      await lease.release();
    }
  }

  async #due(): Promise<readonly Due[]> {
    const anHourAgo = new Date(this.#ports.clock.now().getTime() - HOUR_MS);
    return await this.#ports.sql.query<Due>(
      `select s.trail, s.epoch, s.size, s.note
         from vault.audit_tree t
         join vault.audit_signed s on s.trail = t.trail and s.epoch = t.signed_epoch and s.size = t.signed_size
        where s.released_at is not null and not exists (
          select from vault.audit_anchor a where a.trail = s.trail and a.kind = $1
             and (a.anchored_at > $2 or (a.epoch = s.epoch and a.size = s.size and a.error is null)))
        order by s.trail limit $3`,
      [KIND, anHourAgo, MOST_TRAILS],
    );
  }

  async #store({ trail, epoch, size, note }: Due): Promise<void> {
    const [origin = ''] = note.split('\n', 1);
    let name = origin;
    let error: string | null = null;
    try {
      name = await this.#anchors.store(origin, { size: Number(size), note });
      await this.#tell(trail, Number(size), name);
    } catch (cause) {
      error = codeOf(cause);
      this.#ports.log.error('audit: a checkpoint is not stored outside', {
        trail,
        size,
        error: String(cause),
      });
    }
    await this.#ports.sql.query(
      `insert into vault.audit_anchor (trail, epoch, size, kind, name, anchored_at, error)
       values ($1, $2, $3, $4, $5, $6, $7)
       on conflict (trail, epoch, size, kind, name) do update set anchored_at = excluded.anchored_at, error = excluded.error`,
      [trail, epoch, size, KIND, name, this.#ports.clock.now(), error],
    );
  }

  async #tell(trail: string, size: number, name: string): Promise<void> {
    await decideAndAppend(this.#ports, sealAuthor(this.#ports, trail), seal, {
      id: trail,
      decide: ({ anchored }): readonly Fact<SealEvent>[] =>
        anchored >= size ? [] : [{ type: 'AuditCheckpointAnchored', data: { size, kind: KIND, name } }],
    });
  }
}

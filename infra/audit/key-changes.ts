/**
 * A new signing key for a trail, and the end of one that may be in wrong hands. Both are in `vault` first, and a new key signs
 * only once the log tells of it; after a crash the next round of sealing, or the same command, tells it.
 */
import type { KeyObject } from 'node:crypto';
import { seal, type SealEvent, type SealState } from '../../commands/audit/seal-events.ts';
import { originOf, readVkey, rootIn, rotationText, vkeyOf } from '../../commands/audit/signed-note.ts';
import { decideAndAppend } from '../../commands/kernel/decide-and-append.ts';
import type { Ports, Sql } from '../../commands/ports/ports.ts';
import type { Fact } from '../../commands/values/event.ts';
import { foundIn } from './remember-verified.ts';
import { newKey, type SealKey, sealKeys, signNote } from './seal-keys.ts';
import { type SealMemory, SealOvertaken, type Watch } from './seal-memory.ts';
import { sealAuthor } from './sign-checkpoint.ts';

type KeyPorts = Pick<Ports, 'sql' | 'events' | 'ids' | 'clock' | 'log'>;

interface Parts {
  readonly masterKey: KeyObject;
  readonly auditName: string;
  readonly memory: SealMemory;
}

/** Of a change that the sealer overtakes. */
const MOST_TRIES = 20;
const TRY_AGAIN_MS = 50;
/** Signatures of one note (`docs/audit-format.md` 5). */
const MOST_SIGNATURES = 16;
/** Changes told in one round. */
const MOST_TOLD = 100;

interface ChangedKey extends Record<string, unknown> {
  readonly trail: string;
  readonly public_key: Buffer;
  readonly rotation_note: string | null;
  readonly since: Date | null;
  readonly comment: string | null;
  readonly to_size: string | null;
}

export class KeyChanges {
  readonly #ports: KeyPorts;
  readonly #masterKey: KeyObject;
  readonly #auditName: string;
  readonly #memory: SealMemory;

  constructor(ports: KeyPorts, { masterKey, auditName, memory }: Parts) {
    this.#ports = ports;
    this.#masterKey = masterKey;
    this.#auditName = auditName;
    this.#memory = memory;
  }

  /** The vkey of the new key. One that was made before a crash is told, and no other is made. Throws one sentence. */
  async rotate(trail: string): Promise<string> {
    const begun = await this.#untold(trail);
    if (begun === null) return await this.#change((watch) => this.#rotated(watch, trail));
    await this.tell();
    return begun;
  }

  /**
   * From now on the key signs nothing; the vkey of the new one where it was the active one. The comment is shown to all who
   * check the trail. The same call again, as after a crash, has the same result. Throws one sentence.
   */
  async revoke(
    trail: string,
    { vkey, since, comment }: { vkey: string; since: Date; comment: string },
  ): Promise<string | null> {
    const key = readVkey(vkey);
    if (key === null) throw new Error('The key is no vkey: take it from GET /audit/keys.');
    if (since > this.#ports.clock.now()) throw new Error('The time since when it is in doubt is not over.');
    // What is told of a key before is told first.
    await this.tell();
    const given = { trail, publicKey: key.publicKey, since, comment };
    const done = await this.#revokedBefore(given);
    return done === null ? await this.#change((watch) => this.#revoked(watch, given)) : done.vkey;
  }

  /** What the same call did before: the vkey of the key that it made. Null when the key is not revoked. Throws one sentence. */
  async #revokedBefore({
    trail,
    publicKey,
    since,
    comment,
  }: Revocation): Promise<Pick<Change<string | null>, 'vkey'> | null> {
    const [row] = await this.#ports.sql.query<{ is_same: boolean; next: Buffer | null }>(
      // Both were stored in one transaction.
      `select k.revoked_since = $3 and k.revoked_comment = $4 as is_same, n.public_key as next
         from vault.audit_key k left join vault.audit_key n
           on n.trail = k.trail and n.created_at = k.revoked_at and n.rotation_note is null and n.revoked_at is null
        where k.trail = $1 and k.public_key = $2 and k.revoked_at is not null`,
      [trail, publicKey, since, comment],
    );
    if (row === undefined) return null;
    if (!row.is_same)
      throw new Error('This key is revoked already, since another time or for another reason.');
    const watch = await this.#memory.watch(this.#auditName);
    return { vkey: row.next && vkeyIn(watch, trail, row.next) };
  }

  /** Tells the log of every change that it does not have yet. */
  async tell(): Promise<void> {
    const { sql } = this.#ports;
    const waiting = await sql.query<ChangedKey>(
      `select trail, public_key, rotation_note, revoked_since as since, revoked_comment as comment, to_size
         from vault.audit_key
        where not told and (rotation_note is not null or revoked_at is not null)
        order by trail, created_at limit ${String(MOST_TOLD)}`,
    );
    if (waiting.length === 0) return;
    const watch = await this.#memory.watch(this.#auditName);
    for (const key of waiting) {
      await decideAndAppend(this.#ports, sealAuthor(this.#ports, key.trail), seal, {
        id: key.trail,
        decide: (state) => factsOf(state, key, vkeyIn(watch, key.trail, key.public_key)),
      });
      // With a revocation also the key that was made in its place.
      await sql.query(
        `update vault.audit_key set told = true
          where trail = $1 and (public_key = $2 or ($3 and rotation_note is null and revoked_at is null))`,
        [key.trail, key.public_key, key.since !== null],
      );
    }
  }

  /** The vkey of a new key that the log does not know yet. */
  async #untold(trail: string): Promise<string | null> {
    const [row] = await this.#ports.sql.query<{ public_key: Buffer }>(
      'select public_key from vault.audit_key where trail = $1 and not told and revoked_at is null',
      [trail],
    );
    return row ? vkeyIn(await this.#memory.watch(this.#auditName), trail, row.public_key) : null;
  }

  /** The sealer signs nothing with the keys of before: what it has begun is overtaken. */
  async #change<V>(change: (watch: Watch) => Promise<Change<V>>): Promise<V> {
    for (let tries = 1; ; tries += 1) {
      const watch = await this.#memory.watch(this.#auditName);
      const { vkey, store } = await change(watch);
      try {
        await this.#memory.move(watch, watch, [], store);
        await this.tell();
        return vkey;
      } catch (error) {
        if (!(error instanceof SealOvertaken) || tries === MOST_TRIES) throw error;
        await this.#ports.clock.sleep(TRY_AGAIN_MS);
      }
    }
  }

  async #rotated(watch: Watch, trail: string): Promise<Change<string>> {
    const { sql } = this.#ports;
    const [held] = await this.#memory.trees([trail]);
    const found = await foundIn(sql, trail, watch.epoch);
    if (held?.signedEpoch !== watch.epoch || held.broken !== null || found !== null || watch.restored)
      throw new Error(`The trail ${trail} has no checkpoint of this epoch, or is broken: seal it first.`);
    const [last] = await sql.query<{ note: string }>(
      'select note from vault.audit_signed where trail = $1 and epoch = $2 and size = $3',
      [trail, watch.epoch, held.signedSize],
    );
    if (last === undefined) throw new Error(`The last checkpoint of the trail ${trail} is missing.`);
    const keys = await sealKeys(sql, this.#masterKey, { trail, wasSigned: true });
    const [active] = keys;
    if (active === undefined || keys.length >= MOST_SIGNATURES)
      throw new Error(`Too many keys of the trail ${trail} were retired in the last 30 days.`);
    const { publicKey, wrapped, privateKey } = newKey(this.#masterKey, trail);
    const vkey = vkeyIn(watch, trail, publicKey);
    const note = introduction({ watch, trail, size: held.signedSize, root: rootIn(last.note), vkey }, [
      active,
      { publicKey, privateKey },
    ]);
    const store = async (inside: Sql): Promise<void> => {
      await inside.query(
        `update vault.audit_key set retired_at = now(), to_size = $2
          where trail = $1 and retired_at is null and revoked_at is null`,
        [trail, held.signedSize],
      );
      await inside.query(
        `insert into vault.audit_key (trail, public_key, wrapped, from_size, rotation_note, told)
         values ($1, $2, $3, $4, $5, false)`,
        [trail, publicKey, wrapped, held.signedSize, note],
      );
    };
    return { vkey, store };
  }

  async #revoked(
    watch: Watch,
    { trail, publicKey, since, comment }: Revocation,
  ): Promise<Change<string | null>> {
    const { sql } = this.#ports;
    const [row] = await sql.query<{ is_active: boolean; is_revoked: boolean }>(
      `select retired_at is null and revoked_at is null as is_active, revoked_at is not null as is_revoked
         from vault.audit_key where trail = $1 and public_key = $2`,
      [trail, publicKey],
    );
    if (row === undefined) throw new Error(`The trail ${trail} has no such key.`);
    if (row.is_revoked) throw new Error('Another command revoked this key just now.');
    const next = row.is_active ? newKey(this.#masterKey, trail) : null;
    const store = async (inside: Sql): Promise<void> => {
      const [last] = await inside.query<{ size: string }>(
        'select size from vault.audit_signed where trail = $1 order by epoch desc, size desc limit 1',
        [trail],
      );
      const size = last?.size ?? '0';
      await inside.query(
        `update vault.audit_key set revoked_at = now(), revoked_since = $3, to_size = $4, revoked_comment = $5,
                told = false
          where trail = $1 and public_key = $2`,
        [trail, publicKey, since, size, comment],
      );
      if (next === null) return;
      await inside.query(
        `insert into vault.audit_key (trail, public_key, wrapped, from_size, told) values ($1, $2, $3, $4, false)`,
        [trail, next.publicKey, next.wrapped, size],
      );
    };
    return { vkey: next && vkeyIn(watch, trail, next.publicKey), store };
  }
}

interface Revocation {
  readonly trail: string;
  readonly publicKey: Uint8Array;
  readonly since: Date;
  readonly comment: string;
}

interface Change<V> {
  /** Of the new key; null where none is made. */
  readonly vkey: V;
  readonly store: (inside: Sql) => Promise<void>;
}

const vkeyIn = ({ name, epoch }: Watch, trail: string, publicKey: Uint8Array): string =>
  vkeyOf({ name: originOf(name, trail, epoch), publicKey });

/** The note in which both keys say that the new one follows. */
function introduction(
  about: { watch: Watch; trail: string; size: number; root: Uint8Array; vkey: string },
  keys: readonly SealKey[],
): string {
  const origin = originOf(about.watch.name, about.trail, about.watch.epoch);
  return signNote(rotationText(origin, about.size, about.root, about.vkey), origin, keys);
}

/** Nothing where the log has it already: a process died between telling the log and noting so. */
function factsOf(
  { rotation, revoked }: SealState,
  { rotation_note: note, since, comment, to_size: size, public_key: publicKey }: ChangedKey,
  vkey: string,
): readonly Fact<SealEvent>[] {
  if (since === null)
    return note === null || note === rotation ? [] : [{ type: 'AuditKeyRotated', data: { note } }];
  const isKnown = revoked.some((known) => publicKey.equals(readVkey(known)?.publicKey ?? Buffer.of()));
  if (isKnown) return [];
  const data = { vkey, since: since.toISOString(), size: Number(size), comment };
  return [{ type: 'AuditKeyRevoked', data }];
}

/**
 * What the authorization server keeps between two steps, in `vault.oauth_state`. A row is found and opened only with its id, which
 * is never stored.
 */
import { createHash, type KeyObject } from 'node:crypto';
import type { Clock, Row, Sql } from '../../commands/ports/ports.ts';
import { openBox, sealBox } from '../security/sealed-box.ts';

export type StateModel = 'Interaction' | 'AuthorizationCode' | 'RefreshToken' | 'Client' | 'ClientDocument';
export type StatePayload = Readonly<Record<string, unknown>>;

export interface StateRow {
  readonly payload: StatePayload;
  readonly decidedHash: Buffer | null;
  readonly consumedAt: Date | null;
}

export interface NewState {
  readonly model: StateModel;
  readonly id: string;
  readonly payload: StatePayload;
  /** Null = never. */
  readonly expiresAt: Date | null;
  readonly grantId?: string;
  readonly rotation?: number;
}

/** What a client gets a refresh token for: a code, or the refresh token before. */
export interface Predecessor {
  readonly model: 'AuthorizationCode' | 'RefreshToken';
  readonly id: string;
}

/** A code or refresh token, and the refresh token that follows it. */
export interface Succession {
  readonly from: Predecessor;
  readonly next: NewState & { readonly grantId: string; readonly rotation: number };
}

/** Why a code or refresh token has no successor: its grant must end. */
export type Reuse = 'code_reused' | 'refresh_token_reused';

interface StoredRow extends Row {
  readonly sealed: Buffer;
  readonly decided_sha256: Buffer | null;
  readonly consumed_at: Date | null;
}

interface LockedRow extends Row {
  readonly rotation: number;
  readonly is_used: boolean;
}

export const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

/** How long a used refresh token is recognised, so that its use by a second party ends the grant. */
const RECOGNISED_MS = 7 * 24 * 60 * 60 * 1_000;

export class StateRows {
  readonly #sql: Sql;
  readonly #masterKey: KeyObject;
  readonly #clock: Clock;

  constructor({
    sql,
    masterKey,
    clock,
  }: {
    readonly sql: Sql;
    readonly masterKey: KeyObject;
    readonly clock: Clock;
  }) {
    this.#sql = sql;
    this.#masterKey = masterKey;
    this.#clock = clock;
  }

  /** Null when it is unknown or its time is over. */
  async find(model: StateModel, id: string): Promise<StateRow | null> {
    const rows = await this.#sql.query<StoredRow>(FIND, [model, sha256(id), this.#clock.now()]);
    const [row] = rows;
    const content = row && openBox(this.#masterKey, row.sealed, contextOf(model, id));
    if (!content) return null;
    return {
      payload: JSON.parse(content.toString()) as StatePayload,
      decidedHash: row.decided_sha256,
      consumedAt: row.consumed_at,
    };
  }

  /** Stores it, or replaces what is stored under its id; a decision stays. */
  async put(state: NewState): Promise<void> {
    await this.#insert(this.#sql, state);
  }

  /** Removes it. False when it was removed before: of two requests only one goes on. */
  async take(model: StateModel, id: string): Promise<boolean> {
    return (await this.#sql.query(TAKE, [model, sha256(id)])).length > 0;
  }

  /** Replaces the payload of a request that is not decided. False when it is, or when its time is over. */
  async decide(id: string, payload: StatePayload, decidedHash: Buffer): Promise<boolean> {
    const sealed = this.#seal('Interaction', id, payload);
    return (await this.#sql.query(DECIDE, [sha256(id), sealed, decidedHash, this.#clock.now()])).length > 0;
  }

  /**
   * Consumes a code or a whole generation of refresh tokens and stores the next one: both or neither. Null when it is done. It is
   * not for a code that was consumed before, and for a refresh token whose successor was used: its answer was not lost.
   */
  async succeed({ from, next }: Succession): Promise<Reuse | null> {
    const now = this.#clock.now();
    return await this.#sql.transaction(async (sql) => {
      if (from.model === 'AuthorizationCode') {
        if ((await sql.query(CONSUME_CODE, [sha256(from.id), now])).length === 0) return 'code_reused';
      } else {
        const locked = await sql.query<LockedRow>(LOCK_TOKENS, [next.grantId]);
        if (locked.some(({ rotation, is_used: isUsed }) => isUsed && rotation >= next.rotation))
          return 'refresh_token_reused';
        await sql.query(CONSUME_GENERATION, [next.grantId, next.rotation - 1, now]);
      }
      await this.#insert(sql, next);
      return null;
    });
  }

  /** Removes every code and refresh token of the grants. */
  async forgetGrants(grantIds: readonly string[]): Promise<void> {
    await forgetGrants(this.#sql, grantIds);
  }

  /** From now on it has no end. */
  async keep(model: StateModel, id: string): Promise<void> {
    await this.#sql.query(KEEP, [model, sha256(id)]);
  }

  #seal(model: StateModel, id: string, payload: StatePayload): Buffer {
    return sealBox(this.#masterKey, Buffer.from(JSON.stringify(payload)), contextOf(model, id));
  }

  async #insert(sql: Sql, { model, id, payload, expiresAt, grantId, rotation }: NewState): Promise<void> {
    const sealed = this.#seal(model, id, payload);
    await sql.query(INSERT, [model, sha256(id), sealed, grantId ?? null, rotation ?? null, expiresAt]);
  }
}

/** Removes every code and refresh token of the grants. */
export async function forgetGrants(sql: Sql, grantIds: readonly string[]): Promise<void> {
  await sql.query('delete from vault.oauth_state where grant_id = any($1::text[])', [grantIds]);
}

/** The grants of which something is kept. */
export async function keptGrants(sql: Sql): Promise<readonly string[]> {
  const rows = await sql.query<{ readonly grant_id: string }>(KEPT_GRANTS);
  return rows.map(({ grant_id: id }) => id);
}

/** Removes what is over. */
export async function sweepState(sql: Sql, now: Date): Promise<void> {
  await sql.query(SWEEP, [now, new Date(now.getTime() - RECOGNISED_MS)]);
}

const contextOf = (model: StateModel, id: string): string =>
  `oauth_state ${model} ${sha256(id).toString('hex')}`;

const FIND = `select sealed, decided_sha256, consumed_at from vault.oauth_state
  where model = $1 and id_sha256 = $2 and (expires_at is null or expires_at > $3)`;
const INSERT = `insert into vault.oauth_state (model, id_sha256, sealed, grant_id, rotation, expires_at)
  values ($1, $2, $3, $4, $5, $6)
  on conflict (model, id_sha256) do update set sealed = excluded.sealed, expires_at = excluded.expires_at`;
const TAKE = 'delete from vault.oauth_state where model = $1 and id_sha256 = $2 returning 1';
const DECIDE = `update vault.oauth_state set sealed = $2, decided_sha256 = $3
  where model = 'Interaction' and id_sha256 = $1 and decided_sha256 is null and expires_at > $4 returning 1`;
const KEEP = 'update vault.oauth_state set expires_at = null where model = $1 and id_sha256 = $2';
const CONSUME_CODE = `update vault.oauth_state set consumed_at = $2
  where model = 'AuthorizationCode' and id_sha256 = $1 and consumed_at is null returning 1`;
/** Of two that use tokens of a grant at once, the second waits, and sees what the first did. */
const LOCK_TOKENS = `select rotation, consumed_at is not null as is_used from vault.oauth_state
  where model = 'RefreshToken' and grant_id = $1 order by id_sha256 for update`;
/** Also the tokens that a repeat within the grace made from the same one: the first that is used ages its siblings. */
const CONSUME_GENERATION = `update vault.oauth_state set consumed_at = coalesce(consumed_at, $3)
  where model = 'RefreshToken' and grant_id = $1 and rotation <= $2`;
const KEPT_GRANTS = 'select distinct grant_id from vault.oauth_state where grant_id is not null';
const SWEEP = 'delete from vault.oauth_state where expires_at <= $1 or consumed_at <= $2';

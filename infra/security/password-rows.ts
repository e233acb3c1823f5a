/** What `vault.password` holds: the argon2id of each person's password. */
import type { Sql } from '../../commands/ports/ports.ts';
import type { HashedPassword } from '../../commands/ports/secrets.ts';

/** In the place of the one there was. */
export async function writePassword(sql: Sql, userId: string, password: HashedPassword): Promise<void> {
  await sql.query(
    `insert into vault.password (user_id, argon2id) values ($1, $2)
     on conflict (user_id) do update set argon2id = excluded.argon2id, updated_at = now()`,
    [userId, password],
  );
}

/** Null for nobody (null), and for a person who has none. Its salt makes each one set another. */
export async function readPassword(sql: Sql, userId: string | null): Promise<HashedPassword | null> {
  const [row] = await sql.query<{ argon2id: HashedPassword }>(
    'select argon2id from vault.password where user_id = $1',
    [userId],
  );
  return row?.argon2id ?? null;
}

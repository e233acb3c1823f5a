/** `work.token_use`: the last use of each token. */
import type { Sql } from '../commands/ports/ports.ts';

/** Last uses by token id, to the minute; a token that was never used is missing. */
export async function listTokenUses(
  sql: Sql,
  tokenIds: readonly string[],
): Promise<ReadonlyMap<string, Date>> {
  const rows = await sql.query<{ token_id: string; last_used_at: Date }>(
    'select token_id, last_used_at from work.token_use where token_id = any($1)',
    [tokenIds],
  );
  return new Map(rows.map(({ token_id, last_used_at }) => [token_id, last_used_at]));
}

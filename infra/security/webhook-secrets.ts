/** The `WebhookSecrets` port: signing secrets in `vault.webhook_secret`, sealed under the master key. */
import { type KeyObject, randomBytes, randomUUID } from 'node:crypto';
import type { Row, Sql } from '../../commands/ports/ports.ts';
import type { WebhookSecrets } from '../../commands/ports/webhook-port.ts';
import { BoundedMap } from '../../commands/values/bounded-map.ts';
import { openBox, sealBox } from './sealed-box.ts';

const SECRET_BYTES = 32;
/** A secret never changes, so an opened one stays right. */
const CACHED = 2_000;

const contextOf = (endpointId: string, id: string): string => `webhook_secret ${endpointId} ${id}`;

/** A new secret in the form of Standard Webhooks. */
export const newWebhookSecret = (): string => `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;

interface SecretRow extends Row {
  readonly id: string;
  readonly sealed: Buffer;
}

export function createWebhookSecrets(sql: Sql, masterKey: KeyObject): WebhookSecrets {
  const opened = new BoundedMap<string, string>(CACHED);

  const load = async (endpointId: string, ids: readonly string[]): Promise<void> => {
    const rows = await sql.query<SecretRow>(
      'select id, sealed from vault.webhook_secret where endpoint_id = $1 and id = any($2::text[])',
      [endpointId, ids],
    );
    for (const { id, sealed } of rows) {
      const secret = openBox(masterKey, sealed, contextOf(endpointId, id));
      if (secret === null) throw new Error(`The secret ${id} was not sealed for ${endpointId}.`);
      opened.set(contextOf(endpointId, id), secret.toString());
    }
  };

  return {
    create: async (endpointId) => {
      const id = randomUUID();
      const secret = newWebhookSecret();
      const box = sealBox(masterKey, Buffer.from(secret), contextOf(endpointId, id));
      await sql.query('insert into vault.webhook_secret (id, endpoint_id, sealed) values ($1, $2, $3)', [
        id,
        endpointId,
        box,
      ]);
      return { id, secret };
    },
    read: async (endpointId, ids) => {
      const missing = ids.filter((id) => opened.get(contextOf(endpointId, id)) === undefined);
      if (missing.length > 0) await load(endpointId, missing);
      return ids.flatMap((id) => opened.get(contextOf(endpointId, id)) ?? []);
    },
    erase: async (endpointId, ids) => {
      const rows = await sql.query<SecretRow>(
        `delete from vault.webhook_secret where endpoint_id = $1 and ($2::text[] is null or id = any($2))
         returning id`,
        [endpointId, ids ?? null],
      );
      for (const { id } of rows) opened.delete(contextOf(endpointId, id));
    },
  };
}

/** What webhooks leave in `vault`: parts of payloads that are no longer kept, and secrets that no endpoint signs with. */
import { loadAggregate } from '../../commands/kernel/decide-and-append.ts';
import type { Ports, Sql } from '../../commands/ports/ports.ts';
import { liveSecrets, webhookEndpoint } from '../../commands/webhooks/endpoint.ts';
import { eraseOldPayloads } from './payload-bytes.ts';

/** The longest overlap of two secrets: nothing in the making is erased. */
const SECRETS_LEFT_FOR_MS = 7 * 86_400_000;
/** Endpoints looked at in one pass. */
const MOST_ENDPOINTS = 100;

type Used = Pick<Ports, 'sql' | 'directory' | 'events' | 'webhookSecrets' | 'server'>;

export async function eraseWebhookLeftovers(ports: Used, now: Date): Promise<void> {
  const ago = (ms: number): Date => new Date(now.getTime() - ms);
  await eraseOldPayloads(ports, ago(ports.server.webhookTimes.keptForMs));
  await eraseLeftSecrets(ports, ago(SECRETS_LEFT_FOR_MS));
}

interface Secrets {
  readonly endpointId: string;
  readonly ids: readonly string[];
}

/**
 * Erases secrets that were made before a time, and that no endpoint names as signing since then: it was deleted, was never
 * created, or got others. An erased secret cannot be had back, so the read model only says where to look, and the log decides.
 */
async function eraseLeftSecrets({ sql, events, webhookSecrets }: Used, time: Date): Promise<void> {
  for (const { endpointId, ids } of await listUnnamed(sql, time)) {
    const { state } = await loadAggregate(events, webhookEndpoint, endpointId);
    const live = state.status === 'removed' ? [] : liveSecrets(state.secrets, time.toISOString());
    const left = ids.filter((id) => live.every((secret) => secret.id !== id));
    if (left.length > 0) await webhookSecrets.erase(endpointId, left);
  }
}

/** Of each endpoint, the secrets that its row does not name as signing. */
async function listUnnamed(sql: Sql, time: Date): Promise<readonly Secrets[]> {
  const rows = await sql.query<{ endpoint_id: string; ids: readonly string[] }>(
    `select s.endpoint_id, array_agg(s.id) as ids from vault.webhook_secret s
     where s.created_at < $1 and not exists (
       select from read.webhook_endpoint e, jsonb_to_recordset(e.secrets) as named(id text, "expiresAt" timestamptz)
       where e.id = s.endpoint_id and named.id = s.id and (named."expiresAt" is null or named."expiresAt" > $1))
     group by s.endpoint_id limit ${String(MOST_ENDPOINTS)}`,
    [time],
  );
  return rows.map(({ endpoint_id, ids }) => ({ endpointId: endpoint_id, ids }));
}

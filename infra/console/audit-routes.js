/** The REST routes of the audit trail, with their types (`contract.md` 12, 17). */
import { call, download } from './api.js';

/** @import { Page } from './payloads.d.ts' */
/** @import { Checkpoint, SealFacts, TrailKey, TrailLine, Verification } from './audit-payloads.d.ts' */

/**
 * The newest first.
 * @param {Record<string, string>} query
 * @param {AbortSignal} signal
 * @returns {Promise<Page<TrailLine>>}
 */
export const listLines = (query, signal) =>
  call('GET', `/audit?${new URLSearchParams(query).toString()}`, { signal });

/**
 * @param {string} id
 * @param {AbortSignal} signal
 * @returns {Promise<TrailLine>}
 */
export const readLine = (id, signal) => call('GET', `/audit/${encodeURIComponent(id)}`, { signal });

/**
 * That the line stands at its place under a checkpoint.
 * @param {string} id
 * @param {AbortSignal} signal
 */
export const readProof = (id, signal) => download(`/audit/${encodeURIComponent(id)}/proof`, signal);

/** How many checkpoints are looked at for one that somebody outside holds. */
const LATELY = '50';

/**
 * @param {AbortSignal} signal
 * @returns {Promise<SealFacts>}
 */
export async function readSeal(signal) {
  const [{ items: checkpoints }, verification, { items: anchors }] = await Promise.all([
    listCheckpoints({ limit: LATELY }, signal),
    readVerification(signal),
    listLines({ type: 'AuditCheckpointAnchored', limit: '1' }, signal),
  ]);
  return { checkpoints, verification, anchored: anchors[0] ?? null };
}

/**
 * @param {Record<string, string>} query
 * @param {AbortSignal} signal
 * @returns {Promise<Page<Checkpoint>>}
 */
const listCheckpoints = (query, signal) =>
  call('GET', `/audit/checkpoints?${new URLSearchParams(query).toString()}`, { signal });

/**
 * @param {AbortSignal} signal
 * @returns {Promise<Verification>}
 */
const readVerification = (signal) => call('GET', '/audit/verifications', { signal });

/**
 * Has the whole trail computed again from the log, in the background.
 * @returns {Promise<unknown>}
 */
export const checkNow = () => call('POST', '/audit/verifications', { body: {} });

/**
 * Signs the lines so far.
 * @returns {Promise<Checkpoint>}
 */
export const sealNow = () => call('POST', '/audit/checkpoints', { body: {} });

/**
 * @param {AbortSignal} signal
 * @returns {Promise<TrailKey[]>}
 */
export async function readKeys(signal) {
  const { items } = await keysOf(signal);
  return items;
}

/**
 * @param {AbortSignal} signal
 * @returns {Promise<{ items: TrailKey[] }>}
 */
const keysOf = (signal) => call('GET', '/audit/keys', { signal });

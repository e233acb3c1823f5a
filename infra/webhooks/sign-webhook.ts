/** Signatures of Standard Webhooks, version 1. */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { BoundedMap } from '../../commands/values/bounded-map.ts';

const PREFIX = 'whsec_';
/** Making a key takes longer than signing with it. */
const keys = new BoundedMap<string, KeyObject>(1_000);

function keyOf(secret: string): KeyObject {
  const key = keys.get(secret) ?? createSecretKey(secret.slice(PREFIX.length), 'base64');
  keys.set(secret, key);
  return key;
}

/** The three headers: one signature per secret, over exactly these bytes. */
export function signedHeaders(
  { id, body, secrets }: { readonly id: string; readonly body: string; readonly secrets: readonly string[] },
  at: Date,
): Readonly<Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>> {
  const timestamp = String(Math.floor(at.getTime() / 1_000));
  const signatures = secrets.map((secret) => {
    return `v1,${createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}

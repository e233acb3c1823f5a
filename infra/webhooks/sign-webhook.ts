/** Signatures of Standard Webhooks, version 1. */
import { createHmac } from 'node:crypto';

const PREFIX = 'whsec_';

/** The three headers: one signature per secret, over exactly these bytes. */
export function signedHeaders(
  { id, body, secrets }: { readonly id: string; readonly body: string; readonly secrets: readonly string[] },
  at: Date,
): Readonly<Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>> {
  const timestamp = String(Math.floor(at.getTime() / 1_000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}

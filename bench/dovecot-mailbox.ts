/** Mailboxes on a Dovecot in its own process: the demo's mail server shares the process of the gateway. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { seedMailbox } from '../infra/demo/seed-mailbox.ts';
import {
  type DovecotOptions,
  type DovecotProcess,
  startDovecot,
} from '../test/support/servers/dovecot-process.ts';
import { ensureDovecot } from '../test/support/servers/ensure-dovecot.ts';
import type { Figure } from './figures.ts';
import type { DemoFacts } from './processes.ts';

const FILL_WITHIN_MS = 10 * 60_000;
const LOOK_EVERY_MS = 200;
const TRIES = 60;

/** Starts a Dovecot on which every user name is a mailbox; the server and its mail are removed afterwards. */
export async function withDovecot<T>(
  options: Pick<DovecotOptions, 'password' | 'maxUserConnections' | 'mostClients'>,
  work: (server: DovecotProcess, folder: string) => Promise<T>,
): Promise<T> {
  const program = await ensureDovecot();
  if (program === null) throw new Error('This benchmark needs Dovecot.');
  const folder = mkdtempSync(join(tmpdir(), 'gateway-bench-mail-'));
  // Under root, Dovecot runs as another account, which must be able to enter.
  chmodSync(folder, 0o755);
  const server = await startDovecot({
    program, folder, tls: null, capability: null, specialUse: true, ...options,
  }); // prettier-ignore
  try {
    return await work(server, folder);
  } finally {
    await server.stop('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Measures on a Dovecot mailbox with the same content as the demo's. */
export async function onDovecot(
  facts: DemoFacts,
  measure: (facts: DemoFacts) => Promise<readonly Figure[]>,
): Promise<readonly Figure[]> {
  const { password } = facts.imap;
  return await withDovecot({ password, maxUserConnections: 100 }, async ({ ports }) => {
    const user = `bench${String(ports.imap)}@example.com`;
    const imap = { host: '127.0.0.1', port: ports.imap, user, password };
    const id = await addIndexed(facts, imap, await seedMailbox(imap));
    return await measure({ ...facts, mailbox_id: id, imap });
  });
}

interface Mailbox {
  readonly id: string;
  readonly state: string;
  readonly sync: { readonly indexed: number; readonly total: number };
}

/**
 * Adds the mailbox to the gateway; returns its id once that many messages are mirrored, else throws. Without
 * `smtpPort` it cannot send.
 */
export async function addIndexed(
  facts: DemoFacts,
  imap: DemoFacts['imap'],
  size: number,
  smtpPort: number = imap.port,
): Promise<string> {
  const { host, port, user, password } = imap;
  // Connections that the gateway closed while files were being written are noticed only now.
  await sleep(LOOK_EVERY_MS);
  const { id } = await call(facts, 'POST', '', {
    email: user,
    imap: { host, port, security: 'none' },
    smtp: { host, port: smtpPort, security: 'none' },
    auth: { type: 'password', username: user, password },
  });
  for (const until = performance.now() + FILL_WITHIN_MS; performance.now() < until;) {
    const { state, sync } = await call(facts, 'GET', `/${id}`);
    if (state === 'connected' && sync.indexed >= size) return id;
    await sleep(LOOK_EVERY_MS);
  }
  throw new Error('the mailbox was not indexed in time');
}

async function call(facts: DemoFacts, method: string, path: string, body?: object): Promise<Mailbox> {
  // Filling a mailbox loads the machine so much that the gateway may ask for a retry.
  for (let tries = TRIES; ; tries -= 1) {
    const response = await fetch(`${facts.base_url}/api/v1/mailboxes${path}`, {
      method,
      headers: { authorization: `Bearer ${facts.rest_token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (response.ok) return (await response.json()) as Mailbox;
    if (response.status !== 503 || tries === 0)
      throw new Error(`HTTP ${String(response.status)} ${await response.text()}`);
    await sleep(1_000);
  }
}

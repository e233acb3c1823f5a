/**
 * B8: 25 downloads and 25 uploads of 25 MiB at once, and the gateway's memory meanwhile, beside raw IMAP and a
 * bare HTTP server.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Figure, ratio } from './figures.ts';
import { openRaw } from './mail-site.ts';
import type { DemoFacts } from './processes.ts';

const AT_ONCE = 25;
const FILE_BYTES = 25 * 1024 * 1024;
const LOOK_EVERY_MS = 25;
/** A tenth of a second apart: a busy machine is slow with 35 MB. */
const ARRIVAL_LOOKS = 600;
const MIB = 1024 * 1024;
const RAW_TIMES = 3;

/** Memory of the serving process, without its Postgres, in MiB. */
function residentMiB(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${String(pid)}/status`, 'utf8'))?.[1];
  return Number(kib) / 1_024;
}

const request = async (facts: DemoFacts, method: string, path: string, body?: unknown): Promise<Response> => {
  const isBytes = body instanceof Uint8Array;
  const answer = await fetch(`${facts.base_url}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${facts.rest_token}`,
      'idempotency-key': `b8-${randomBytes(8).toString('hex')}`,
      ...(body === undefined ? {} : { 'content-type': isBytes ? 'application/zip' : 'application/json' }),
    },
    ...(body === undefined ? {} : { body: isBytes ? new Blob([body]) : JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${path}: HTTP ${String(answer.status)} ${await answer.text()}`);
  return answer;
};

/** Puts a message with one file into the inbox and returns the path of that file. */
async function attachedFile(facts: DemoFacts): Promise<string> {
  const client = await openRaw(facts.imap);
  const lines = randomBytes(FILE_BYTES).toString('base64').replaceAll(/.{76}/g, '$&\r\n');
  const head =
    'From: bench@example.com\r\nSubject: B8\r\nMIME-Version: 1.0\r\nContent-Type: application/zip; name=b8.zip\r\n';
  await client.append('INBOX', `${head}Content-Transfer-Encoding: base64\r\n\r\n${lines}\r\n`);
  await client.logout();
  const mailbox = `/mailboxes/${facts.mailbox_id}`;
  for (let attempt = 0; attempt < ARRIVAL_LOOKS; attempt += 1) {
    const select = { folder: 'inbox', filter: { subject_contains: 'B8', size_min: FILE_BYTES } };
    const found = await request(facts, 'POST', `${mailbox}/email.query`, { select, view: 'full' });
    const { items } = (await found.json()) as { items: { attachments: { id: string }[] }[] };
    const id = items[0]?.attachments[0]?.id;
    if (id !== undefined) return `${mailbox}/attachments/${id}`;
    await sleep(100);
  }
  throw new Error('the message with the file did not arrive');
}

async function download(facts: DemoFacts, path: string): Promise<void> {
  const { body } = await request(facts, 'GET', path);
  let length = 0;
  for await (const piece of body ?? []) length += (piece as Uint8Array).length;
  if (length !== FILE_BYTES) throw new Error(`a download had ${String(length)} bytes`);
}

/** MiB a second of one raw client that fetches the same file as it is stored, in base64, some times. */
async function rawDownloads(facts: DemoFacts): Promise<number> {
  const client = await openRaw(facts.imap);
  try {
    await client.mailboxOpen('INBOX', { readOnly: true });
    const found = await client.search({ larger: FILE_BYTES }, { uid: true });
    const uid = String(Array.isArray(found) ? found[0] : undefined);
    const begin = performance.now();
    for (let n = 0; n < RAW_TIMES; n += 1) {
      const message = await client.fetchOne(uid, { bodyParts: ['1'] }, { uid: true });
      const bytes = message && message.bodyParts?.get('1')?.length;
      if (!bytes || bytes < FILE_BYTES) throw new Error('the raw download was short');
    }
    return (RAW_TIMES * FILE_BYTES) / MIB / ((performance.now() - begin) / 1_000);
  } finally {
    await client.logout();
  }
}

/** MiB a second of the same uploads to a server that only reads them, in this process. */
async function bareUploads(file: Uint8Array<ArrayBuffer>): Promise<number> {
  const server = createServer((incoming, answer) => {
    incoming.resume().once('end', () => answer.end());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`;
  const begin = performance.now();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      await (await fetch(url, { method: 'POST', body: new Blob([file]) })).arrayBuffer();
    }),
  );
  const perSecond = (AT_ONCE * FILE_BYTES) / MIB / ((performance.now() - begin) / 1_000);
  server.closeAllConnections();
  server.close();
  return perSecond;
}

/** Runs `work` on all at once; returns the memory added and the time taken. */
async function growth(
  pid: number,
  work: () => Promise<void>,
): Promise<{ readonly mib: number; readonly ms: number }> {
  const before = residentMiB(pid);
  let most = before;
  const looking = setInterval(() => {
    most = Math.max(most, residentMiB(pid));
  }, LOOK_EVERY_MS);
  const begin = performance.now();
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  } finally {
    clearInterval(looking);
  }
  return { mib: most - before, ms: performance.now() - begin };
}

export async function measureAttachments(facts: DemoFacts, gatewayPid: number): Promise<readonly Figure[]> {
  const path = await attachedFile(facts);
  const draft = await request(facts, 'POST', `/mailboxes/${facts.mailbox_id}/start_draft`, { subject: 'B8' });
  const { id } = (await draft.json()) as { id: string };
  const file = randomBytes(FILE_BYTES);
  const upload = async (): Promise<void> => {
    await request(facts, 'POST', `/drafts/${id}/attachments?filename=b8.zip`, file);
  };
  // Each runs once beforehand: what a first run allocates stays allocated.
  await download(facts, path);
  await upload();
  const down = await growth(gatewayPid, () => download(facts, path));
  const up = await growth(gatewayPid, upload);
  const rawDown = await rawDownloads(facts);
  const bareUp = await bareUploads(file);
  const rate = (ms: number): number => (AT_ONCE * FILE_BYTES) / MIB / (ms / 1_000);
  return [
    { name: 'B8 RSS growth, 25 downloads', value: down.mib, unit: 'MiB', target: { atMost: 64 } },
    { name: 'B8 downloads', value: rate(down.ms), unit: 'MiB/s' },
    { name: 'B8 raw IMAP FETCH on one connection', value: rawDown, unit: 'MiB/s' },
    ratio('B8 downloads ÷ raw', rate(down.ms) / rawDown, 'more'),
    { name: 'B8 RSS growth, 25 uploads', value: up.mib, unit: 'MiB', target: { atMost: 64 } },
    { name: 'B8 uploads', value: rate(up.ms), unit: 'MiB/s' },
    { name: 'B8 uploads to a bare HTTP server', value: bareUp, unit: 'MiB/s' },
    ratio('B8 uploads ÷ bare', rate(up.ms) / bareUp, 'more'),
  ];
}

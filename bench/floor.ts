/**
 * The floor of an operation: the steps that no gateway with these promises can leave out, done by a program that does nothing
 * else, beside the raw protocol in the same run. `docs/floors.md` says why each step is there.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { ImapFlow } from 'imapflow';
import { createTransport } from 'nodemailer';
import { countOf, inBothPaces } from './beside-raw.ts';
import { secondsOf } from './cpu-time.ts';
import { withDovecot } from './dovecot-mailbox.ts';
import { type Figure, median, ratio, took } from './figures.ts';
import type { Job, Step } from './floor/worker.ts';
import { onEachSize } from './log-databases.ts';
import { fetchText, type MailAccount, message, openRaw } from './mail-site.ts';
import { endChild } from './processes.ts';

/** A request is one round trip over HTTP; its steps follow each other. */
type Requests = readonly (readonly Step[])[];

interface Floor {
  readonly name: string;
  readonly anchor: 'IMAP FETCH' | 'IMAP MOVE' | 'IMAP STORE' | 'SMTP';
  readonly requests: Requests;
}

const FLOORS: readonly Floor[] = [
  { name: 'read of one message with text', anchor: 'IMAP FETCH', requests: [['noop', 'text', 'append']] },
  {
    name: 'archive',
    anchor: 'IMAP MOVE',
    requests: [['statement', 'append', 'move', 'append', 'statement']],
  },
  { name: 'flag', anchor: 'IMAP STORE', requests: [['statement', 'append', 'flag', 'append', 'statement']] },
  {
    name: 'archive with an approval',
    anchor: 'IMAP MOVE',
    requests: [
      ['fetch', 'append'],
      ['append'],
      ['statement', 'append', 'noop', 'fetch', 'statement', 'append', 'move', 'append', 'statement'],
    ],
  },
  {
    name: 'send',
    anchor: 'SMTP',
    requests: [['statement', 'statement', 'connect', 'append', 'append', 'envelope', 'append', 'data']],
  },
];

const PASSWORD = 'floor';
/** Each floor and each anchor takes a message of its own. */
const messagesFor = (rounds: number): number => FLOORS.length * countOf(rounds);

/** `rounds`: counted operations of each floor back to back. */
export const measureFloors = (rounds: number): Promise<readonly Figure[]> =>
  onEachSize([0], (databaseUrl) =>
    withDovecot({ password: PASSWORD, maxUserConnections: 100 }, async ({ ports }) => {
      const account = (user: string): MailAccount => ({
        ...{ host: '127.0.0.1', port: ports.imap, user: `${user}@example.com`, password: PASSWORD },
      });
      const accounts = [account('floor'), account('raw')];
      for (const each of accounts) await fill(each, messagesFor(rounds));
      const sink = fork('bench/b3/submission-sink.ts');
      const [smtpPort] = (await once(sink, 'message')) as [number];
      const [imap = account('floor'), rawAccount = imap] = accounts;
      const worker = fork('bench/floor/worker.ts', [JSON.stringify({ databaseUrl, imap, smtpPort })]);
      const raw = await openRaw(rawAccount);
      try {
        const [port] = (await once(worker, 'message')) as [number];
        await raw.mailboxOpen('INBOX');
        return await measureAll({ worker, port, raw, smtpPort, rounds });
      } finally {
        await raw.logout();
        await Promise.all([endChild(worker), endChild(sink)]);
      }
    }),
  );

interface Parts {
  readonly worker: ChildProcess;
  readonly port: number;
  readonly raw: ImapFlow;
  readonly smtpPort: number;
  readonly rounds: number;
}

async function fill(account: MailAccount, count: number): Promise<void> {
  const client = await openRaw(account);
  for (const folder of ['Archive']) await client.mailboxCreate(folder).catch(() => undefined);
  for (let index = 0; index < count; index += 1) await client.append('INBOX', message('Floor', index));
  await client.logout();
}

async function measureAll(parts: Parts): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const [index, floor] of FLOORS.entries())
    figures.push(...(await measureOne(parts, floor, index * countOf(parts.rounds))));
  return figures;
}

/** Messages of a mailbox that was filled once have the UIDs from 1 on. */
async function measureOne(parts: Parts, floor: Floor, takenBefore: number): Promise<readonly Figure[]> {
  const sides = {
    ours: (index: number) => took(() => request(parts, floor.requests, takenBefore + index + 1)),
    theirs: (index: number) => took(() => rawOf(parts, floor.anchor, takenBefore + index + 1)),
  };
  const cpu = (): number => secondsOf(parts.worker.pid ?? 0);
  const measured = await inBothPaces(sides, parts.rounds, async (work) => {
    const begun = cpu();
    await work();
    return cpu() - begun;
  });
  return measured.flatMap(({ pace, taken: { ours, theirs }, watched }): readonly Figure[] => {
    const title = (what: string): string => `Floor of ${floor.name}, ${pace}: ${what}`;
    const [floorMs, rawMs] = [median(ours), median(theirs)];
    const cpuMs = (watched / ours.length) * 1_000;
    const figures: readonly Figure[] = [
      { name: title('p50'), value: floorMs, unit: 'ms' },
      { name: title(`raw ${floor.anchor} p50`), value: rawMs, unit: 'ms' },
      { name: title('added at p50'), value: floorMs - rawMs, unit: 'ms' },
      ratio(title('÷ raw'), floorMs / rawMs, 'less'),
    ];
    // At the other pace most of the CPU is what an idle program uses.
    if (pace !== 'back to back') return figures;
    return [...figures, { name: title('CPU of node and program'), value: cpuMs, unit: 'ms' }];
  });
}

async function request({ port }: Parts, requests: Requests, uid: number): Promise<void> {
  for (const [part, steps] of requests.entries()) {
    const job: Job = { steps, uid, stream: `floor-${String(uid)}x${String(part)}` };
    const answer = await fetch(`http://127.0.0.1:${String(port)}/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(job),
    });
    if (!answer.ok) throw new Error(await answer.text());
    await answer.text();
  }
}

async function rawOf({ raw, smtpPort }: Parts, anchor: Floor['anchor'], uid: number): Promise<void> {
  const uids = String(uid);
  if (anchor === 'IMAP FETCH') await fetchText(raw, uids);
  else if (anchor === 'IMAP MOVE') await raw.messageMove(uids, 'Archive', { uid: true });
  else if (anchor === 'IMAP STORE') await raw.messageFlagsAdd(uids, ['\\Seen'], { uid: true });
  else
    await createTransport({
      ...{ host: '127.0.0.1', port: smtpPort, secure: false, ignoreTLS: true },
      auth: { user: 'raw', pass: PASSWORD },
    }).sendMail({ from: 'raw@example.com', to: 'bob@example.com', subject: uids, text: 'One of many.' });
}

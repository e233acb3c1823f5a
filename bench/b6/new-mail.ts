/** B6: from the moment an IDLE client hears of a new mail to the arrival of its webhook, mail after mail. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ImapFlow } from 'imapflow';
import { percentile } from '../alternating-moves.ts';
import type { Figure } from '../figures.ts';
import type { DemoFacts } from '../processes.ts';

const MAILS = 60;
const WARM_UP = 10;
/** The next mail follows while the connection is busy with the one before, or when it is idle again. */
const PAUSES_MS = [20, 400];
const ARRIVE_WITHIN_MS = 20_000;

const open = async ({ imap: { host, port, user, password } }: DemoFacts): Promise<ImapFlow> => {
  const client = new ImapFlow({ host, port, secure: false, auth: { user, pass: password }, logger: false });
  await client.connect();
  return client;
};

/** `arrivals`: the times at which webhooks came since the last call, in milliseconds. */
export async function measureNewMail(
  facts: DemoFacts,
  arrivals: () => Promise<readonly number[]>,
): Promise<readonly Figure[]> {
  const [idle, writer] = [await open(facts), await open(facts)];
  try {
    const heard: number[] = [];
    idle.on('exists', () => heard.push(Date.now()));
    const lock = await idle.getMailboxLock('INBOX');
    lock.release();
    void idle.idle();
    await arrivals();
    const came: number[] = [];
    for (let n = 0; n < MAILS; n += 1) {
      await writer.append('INBOX', `From: a@example.com\r\nSubject: New ${String(n)}\r\n\r\nHello.\r\n`);
      const until = Date.now() + ARRIVE_WITHIN_MS;
      while ((came.length <= n || heard.length <= n) && Date.now() < until) {
        await sleep(5);
        came.push(...(await arrivals()));
      }
      await sleep(PAUSES_MS[n % PAUSES_MS.length]);
    }
    if (came.length !== MAILS || heard.length !== MAILS)
      throw new Error(
        `${String(came.length)} webhooks of ${String(MAILS)} mails, heard ${String(heard.length)}`,
      );
    const added = came.map((at, n) => at - (heard[n] ?? at)).slice(WARM_UP);
    return [
      {
        name: 'B6 new mail → webhook after IDLE, p50',
        value: percentile(added, 0.5),
        unit: 'ms',
        target: { atMost: 50 },
      },
      { name: 'B6 new mail → webhook after IDLE, p99', value: percentile(added, 0.99), unit: 'ms' },
    ];
  } finally {
    idle.close();
    await writer.logout();
  }
}

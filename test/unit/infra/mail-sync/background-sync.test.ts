import { expect } from 'chai';
import { BackgroundSync } from '../../../../infra/mail-sync/background-sync.ts';
import type { MailboxSync } from '../../../../infra/mail-sync/mailbox-sync.ts';
import { SYNC_TIMES } from '../../../../infra/mail-sync/sync-times.ts';
import { Semaphore } from '../../../../infra/concurrency/semaphore.ts';
import type { ImapConnection } from '../../../../infra/mail/imap-connection.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { systemClock } from '../../../../infra/platform/system-clock.ts';

const STEP_MS = 5;
const INBOX = { number: 1, path: 'INBOX' };

/** A mailbox whose first pass never ends, because each step takes a while. */
function endless(turns: Semaphore, turnMs: number) {
  const seen = { logins: 0, steps: 0 };
  const sync = {
    mailboxId: 'mbx_1',
    index: { unnamed: () => Promise.resolve([]) },
    mirrorOf: () => Promise.resolve({ indexedFrom: 2 }),
    inTurn: async () => {
      await systemClock.sleep(STEP_MS);
      seen.steps += 1;
      return false;
    },
  } as unknown as MailboxSync;
  const background: BackgroundSync = new BackgroundSync({
    sync,
    gateway: {
      withConnection: (_, work) => {
        seen.logins += 1;
        return work({} as unknown as ImapConnection, () => false);
      },
    },
    times: { ...SYNC_TIMES, turnMs },
    turns,
    folders: () => [INBOX],
    onComplete: () => Promise.resolve(),
    onRefused: () => undefined,
    onGone: () => undefined,
    // The watch does the same.
    onDone: () => void background.start(),
    onFailure: (error) => {
      throw error;
    },
  });
  return { background, seen };
}

/** A mailbox in which there is nothing to do. */
function complete(analyzed: Promise<void>, seen: string[]): BackgroundSync {
  const warn = (message: string): void => {
    seen.push(message);
  };
  const sync = {
    mailboxId: 'mbx_1',
    ports: { log: { ...silentLog, warn } },
    index: { unnamed: () => Promise.resolve([]), analyze: () => analyzed },
    mirrorOf: () => Promise.resolve({ indexedFrom: 1 }),
  } as unknown as MailboxSync;
  return new BackgroundSync({
    sync,
    gateway: { withConnection: () => Promise.reject(new Error('there is no work')) },
    times: SYNC_TIMES,
    turns: new Semaphore(1),
    folders: () => [INBOX],
    onComplete: () => {
      seen.push('complete');
      return Promise.resolve();
    },
    onRefused: () => undefined,
    onGone: () => undefined,
    onDone: () => undefined,
    onFailure: (error) => {
      seen.push(String(error));
    },
  });
}

describe('BackgroundSync', () => {
  it('gives every mailbox its turn when none of them ends', async () => {
    const turns = new Semaphore(1);
    const all = Array.from({ length: 3 }, () => endless(turns, 20));
    for (const { background } of all) await background.start();
    await systemClock.sleep(500);
    await eventually(() => all.every(({ seen }) => seen.logins > 2));
    await Promise.all(all.map(({ background }) => background.end()));
    for (const { seen } of all) expect(seen.logins, 'turns').to.be.greaterThan(1);
    const steps = all.map(({ seen }) => seen.steps);
    expect(Math.max(...steps), steps.join(' ')).to.be.below(Math.min(...steps) * 4);
  });

  it('stays on its connection when no other mailbox waits', async () => {
    const { background, seen } = endless(new Semaphore(2), 20);
    await background.start();
    await systemClock.sleep(200);
    await background.end();
    expect(seen.logins).to.equal(1);
    expect(seen.steps).to.be.greaterThan(4);
  });

  it('ends at once without a login when it waits for its turn', async () => {
    const turns = new Semaphore(1);
    const [first, second] = [endless(turns, 60_000), endless(turns, 60_000)];
    await first.background.start();
    await second.background.start();
    await second.background.end();
    expect(second.seen).to.deep.equal({ logins: 0, steps: 0 });
    await first.background.end();
  });

  it('reports a complete mailbox without waiting for its tables to be analyzed, or minding that they were not', async () => {
    const seen: string[] = [];
    const { promise: analyzed, reject } = Promise.withResolvers<never>();
    const background = complete(analyzed, seen);
    await background.start();
    expect(seen).to.deep.equal(['complete']);
    reject(new Error('canceled'));
    await eventually(() => seen.length === 2);
    expect(seen).to.deep.equal(['complete', 'mailbox sync: tables not analyzed']);
    await background.start();
    await background.end();
    expect(seen, 'once').to.have.length(2);
  });
});

import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { appendMessages, plainMessage } from '../support/servers/mail-append.ts';
import { eventually, startWithMailbox, type TestGateway } from '../support/worlds/gateway.ts';
import { WorkCounter, type WorkCounts } from '../support/worlds/work-counts.ts';

/** Archives that warm the connections up, and that are counted, at each pace. */
const WARM = 10;
const COUNTED = { backToBack: 60, alone: 20 };
const ALL = 2 * WARM + COUNTED.backToBack + COUNTED.alone;

/** One comes every 300 ms. */
const PACE_MS = 300;
/** What follows an archive has ended by then. */
const AFTERMATH_MS = 2_500;

/** With room for a busy machine: it gathers less of what comes together. */
const MOST = { backToBack: 20, alone: 26 };

interface Cost {
  readonly statements: number;
  readonly transactions: number;
  readonly logins: number;
}

describe('the cost of an archive', function () {
  this.timeout(120_000);
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let mailbox: string;
  let ids: string[];
  let counter: WorkCounter;
  /** Per second, of a gateway that nobody asks anything. */
  let idle: WorkCounts;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    counter = new WorkCounter();
    const messages = Array.from({ length: ALL }, (_, index) => ({
      raw: plainMessage({ subject: `Archived ${String(index)}` }),
    }));
    await appendMessages(dovecot.imap(), 'anna', [
      { folder: 'Archive', raw: plainMessage({ subject: 'The first' }) },
      ...messages,
    ]);
    const started = await startWithMailbox(dovecot);
    gateway = started.gateway;
    mailbox = `/mailboxes/${started.mailboxId}`;
    ids = await eventually(listAll);
    await sleep(AFTERMATH_MS);
    idle = await counter.during(() => sleep(1_000 * IDLE_SECONDS));
  });

  after(async () => {
    counter[Symbol.dispose]();
    await gateway.stop();
    await dovecot.dispose();
  });

  /** The ids of all messages to archive, once everything is indexed. */
  async function listAll(): Promise<string[]> {
    const { body } = await gateway.rest('GET', mailbox);
    const { indexed } = (body as { sync: { indexed: number } }).sync;
    if (indexed < ALL + 1) throw new Error(`${String(indexed)} messages are indexed`);
    const page = await gateway.rest('POST', `${mailbox}/email.query`, {
      select: { folder: 'inbox', limit: 200 },
    });
    const ids = (page.body as { items: { id: string }[] }).items.map(({ id }) => id);
    expect(ids).to.have.lengthOf(ALL);
    return ids;
  }

  const archive = async (): Promise<void> => {
    const { status, body } = await gateway.rest(
      'POST',
      `${mailbox}/email.act`,
      {
        operation: {
          type: 'message_actions',
          actions: [{ type: 'archive' }],
          select: { message_ids: [ids.pop()] },
        },
      },
      { key: `archive-${String(ids.length)}` },
    );
    expect(body, `status ${String(status)}`).to.include({ status: 'completed' });
  };

  const archiveAll = async (count: number, paceMs: number): Promise<void> => {
    for (let number = 0; number < count; number += 1) {
      await archive();
      if (paceMs > 0) await sleep(paceMs);
    }
  };

  /** What each archive costs beyond what an idle gateway does in the same time. */
  async function costOf(count: number, paceMs: number): Promise<Cost> {
    await archiveAll(WARM, paceMs);
    await sleep(AFTERMATH_MS);
    const beganAt = performance.now();
    const all = await counter.during(async () => {
      await archiveAll(count, paceMs);
      await sleep(AFTERMATH_MS);
    });
    const idles = (performance.now() - beganAt) / 1_000 / IDLE_SECONDS;
    if (process.env['SHOW_COUNTS'] === '1') show(all, idle, idles, count);
    return {
      statements: (all.statements - idles * idle.statements) / count,
      transactions: (all.transactions - idles * idle.transactions) / count,
      logins: all.imapLogins / count,
    };
  }

  it('is few statements back to back', async () => {
    const { statements, transactions, logins } = await costOf(COUNTED.backToBack, 0);
    expect(statements, 'statements').to.be.at.most(MOST.backToBack);
    expect(transactions, 'transactions').to.be.at.most(1);
    expect(logins, 'IMAP logins').to.be.at.most(0.1);
  });

  it('is few statements and no IMAP login for one that comes alone', async () => {
    const { statements, transactions, logins } = await costOf(COUNTED.alone, PACE_MS);
    expect(statements, 'statements').to.be.at.most(MOST.alone);
    expect(transactions, 'transactions').to.be.at.most(2.5);
    expect(logins, 'IMAP logins').to.be.at.most(0.2);
  });
});

const IDLE_SECONDS = 4;

function show(all: WorkCounts, idle: WorkCounts, idles: number, count: number): void {
  const rows = [...all.byText].map(([text, times]) => ({
    text,
    each: (times - idles * (idle.byText.get(text) ?? 0)) / count,
  }));
  const lines = rows
    .filter(({ each }) => Math.abs(each) >= 0.05)
    .sort((a, b) => b.each - a.each)
    .map(({ text, each }) => `${each.toFixed(2).padStart(7)}  ${text}`);
  const sum = (all.statements - idles * idle.statements) / count;
  const logins = (all.imapLogins / count).toFixed(2);
  const commands = [...all.commands]
    .map(([name, times]) => `${name} ${(times / count).toFixed(2)}`)
    .join(', ');
  process.stdout.write(
    `${sum.toFixed(2).padStart(7)}  statements, ${logins} logins, ${commands}\n${lines.join('\n')}\n`,
  );
}

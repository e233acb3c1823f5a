import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { appendMessages, plainMessage } from '../support/servers/mail-append.ts';
import { eventually, type Json, startWithMailbox, type TestGateway } from '../support/worlds/gateway.ts';
import { type SignedInPerson, signInOwner } from '../support/worlds/sign-in.ts';
import { OperationCost } from '../support/worlds/operation-cost.ts';

/** Archives that warm the connections up, and that are counted, at each pace. */
const WARM = 10;
const COUNTED = { backToBack: 60, alone: 20, approved: 20 };
const ALL = 3 * WARM + COUNTED.backToBack + COUNTED.alone + COUNTED.approved;

/** One comes every 300 ms. */
const PACE_MS = 300;
/** What follows an archive has ended by then. */
const AFTERMATH_MS = 2_500;

/** With room for a slow machine: it gathers less of what comes together. */
const MOST = { backToBack: 20, alone: 26, approved: 52 };

describe('the cost of an archive', function () {
  this.timeout(120_000);
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let owner: SignedInPerson;
  let mailbox: string;
  let ids: string[];
  let cost: OperationCost;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    cost = new OperationCost();
    const messages = Array.from({ length: ALL }, (_, index) => ({
      raw: plainMessage({ subject: `Archived ${String(index)}` }),
    }));
    await appendMessages(dovecot.imap(), 'anna', [
      { folder: 'Archive', raw: plainMessage({ subject: 'The first' }) },
      ...messages,
    ]);
    const started = await startWithMailbox(dovecot);
    gateway = started.gateway;
    owner = await signInOwner(gateway);
    mailbox = `/mailboxes/${started.mailboxId}`;
    ids = await eventually(listAll);
    await sleep(AFTERMATH_MS);
    await cost.rest();
  });

  after(async () => {
    cost[Symbol.dispose]();
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

  /** The answer to a request to archive the next message. */
  const ask = async (more: object = {}): Promise<Json> => {
    const operation = {
      type: 'message_actions',
      actions: [{ type: 'archive' }],
      select: { message_ids: [ids.pop()] },
    };
    const key = `archive-${String(ids.length)}`;
    const { body } = await gateway.rest('POST', `${mailbox}/email.act`, { operation, ...more }, { key });
    return body;
  };

  const archive = async (): Promise<void> => {
    expect(await ask()).to.include({ status: 'completed' });
  };

  const archiveApproved = async (): Promise<void> => {
    const { approval } = await ask({ authorization: { mode: 'request_approval', reason: 'Counted.' } });
    const path = `/approvals/${String(approval.id)}`;
    const vote = { decision: 'approve', content_hash: approval.content_hash };
    await owner.rest('POST', `${path}/decision`, vote);
    const commit = { key: `commit-${String(ids.length)}` };
    const { body } = await gateway.rest('POST', `${path}/approval_commit`, {}, commit);
    expect(body.approval).to.include({ status: 'committed' });
  };

  const costOf = (count: number, paceMs: number, operate = archive) =>
    cost.of(operate, { warm: WARM, count, paceMs, aftermathMs: AFTERMATH_MS });

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

  it('is few statements with an approval, whose commit takes a lease for its key', async () => {
    const approved = await costOf(COUNTED.approved, PACE_MS, archiveApproved);
    const { statements, transactions, leases, reads } = approved;
    expect(statements, 'statements').to.be.at.most(MOST.approved);
    expect(transactions, 'transactions').to.be.at.most(4);
    expect(leases, 'leases').to.be.within(0.9, 1.2);
    expect(reads, 'reads of streams').to.be.within(1, 2.5);
  });
});

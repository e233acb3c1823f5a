import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { MailRelay } from '../support/servers/mail-relay.ts';
import { eventually } from '../support/worlds/gateway.ts';
import { OperationCost } from '../support/worlds/operation-cost.ts';
import { SendingWorld } from '../support/worlds/sending-world.ts';

const WARM = 3;
const COUNTED = 15;
/** How long the mail server's own Sent copy is awaited: some looks of the background work. */
const OWN_COPY_WITHIN_SECONDS = 3;
/** A draft is copied two seconds after its last edit. */
const COPIED_AFTER_MS = 6_000;
const AFTERMATH_MS = 1_000 * OWN_COPY_WITHIN_SECONDS + 5_000;

/** All that follows a send, with its copies in Drafts and Sent; with room for a busy machine. */
const MOST = { statements: 95, transactions: 5, leases: 3.6, reads: 4.6 };

describe('the cost of a send', function () {
  this.timeout(120_000);
  let dovecot: TestDovecot;
  let relay: MailRelay;
  let world: SendingWorld;
  let cost: OperationCost;
  const drafts: string[] = [];

  before(async function () {
    dovecot = await requireTestDovecot(this);
    cost = new OperationCost();
    relay = await MailRelay.start(dovecot);
    world = await SendingWorld.open(dovecot, relay.port, {
      SEND_OWN_COPY_WITHIN_SECONDS: String(OWN_COPY_WITHIN_SECONDS),
    });
    for (let number = 0; number < WARM + COUNTED; number += 1)
      drafts.push((await world.draft(['bob@elsewhere.example'])).id);
    await sleep(COPIED_AFTER_MS);
    await cost.rest();
  });
  after(async () => {
    cost[Symbol.dispose]();
    await world.stop();
    await relay.stop();
    await dovecot.dispose();
  });

  const send = async (): Promise<void> => {
    const { body } = await world.send(drafts.pop() ?? '', randomUUID());
    expect(body).to.include({ status: 'completed' });
  };

  it('is a lease each for itself, its Sent copy and its copy in Drafts, and few statements', async () => {
    const [last = ''] = drafts;
    const paced = { warm: WARM, count: COUNTED, paceMs: 300, aftermathMs: AFTERMATH_MS };
    const { statements, transactions, leases, reads } = await cost.of(send, paced);
    await eventually(async () => {
      const stored = await world.gateway.gateway.ports.events.readStream(`draft-${last}`);
      expect(stored.at(-1)?.type).to.equal('SentCopyFiled');
    });
    expect(statements, 'statements').to.be.at.most(MOST.statements);
    expect(transactions, 'transactions').to.be.at.most(MOST.transactions);
    expect(leases, 'leases').to.be.within(1, MOST.leases);
    expect(reads, 'reads of streams').to.be.within(1, MOST.reads);
  });
});

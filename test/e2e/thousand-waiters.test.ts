import { expect } from 'chai';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { startWithMailbox, type TestGateway } from '../support/worlds/gateway.ts';
import { appendMessages, plainMessage } from '../support/servers/mail-append.ts';
import { verifies } from '../support/suite/verifies.ts';

const WAITERS = 1_000;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('1,000 waits for one mailbox', function () {
  this.timeout(90_000);
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let mailboxId: string;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    const env = { LIMIT_CONCURRENT_WAITS: String(WAITERS) };
    ({ gateway, mailboxId } = await startWithMailbox(dovecot, { env }));
  });
  after(async () => {
    await gateway.stop();
    await dovecot.dispose();
  });

  const monitor = (body: object) => gateway.rest('POST', `/mailboxes/${mailboxId}/monitor_inbox`, body);

  it(`need one connection to its server and all report a new message ${verifies('contract:5:many-waiters')}`, async () => {
    const { cursor } = (await monitor({ timeout_seconds: 0 })).body as { cursor: string };
    const before = process.memoryUsage().heapUsed;
    const connections = await dovecot.connectionsOf('anna');
    const waiting = Array.from({ length: WAITERS }, () => monitor({ cursor, timeout_seconds: 25 }));
    await pause(3_000);
    const held = await dovecot.connectionsOf('anna');
    const grown = process.memoryUsage().heapUsed - before;
    await appendMessages(dovecot.imap(), 'anna', [{ raw: plainMessage({ subject: 'For all' }) }]);
    const cpu = process.cpuUsage();
    for (const { body } of await Promise.all(waiting)) {
      expect(body, JSON.stringify(body)).to.have.nested.property('items[0].subject', 'For all');
    }
    const { user, system } = process.cpuUsage(cpu);
    // Of both ends, and of the stores: a few milliseconds for each.
    expect((user + system) / 1_000).to.be.below(8_000);
    expect(held).to.be.at.most(connections);
    // Both ends of the connections are in this process.
    expect(grown).to.be.below(250 * 1024 * 1024);
  });
});

/** What a gateway costs that nobody asks anything: statements, and how often its process wakes up. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import pg from 'pg';
import { requireTestDovecot } from '../support/servers/dovecot.ts';
import { figure } from '../support/suite/long.ts';
import { startTestGateway, type TestGateway } from '../support/worlds/gateway.ts';

/** The first scans have ended by then, and rights are not kept ready any more: that ends a minute after somebody asked. */
const SETTLE_MS = 65_000;
const LASTS_MS = 20_000;
/** Half of it is usual; the rest is room for a machine with other work, and for the runner of this test. */
const MOST_STATEMENTS = 8;
const MOST_WAKE_UPS = 40;

/** Counts what every client of this process sends, also those of the embedded node. */
function countStatements(): { readonly texts: string[]; readonly stop: () => void } {
  const texts: string[] = [];
  const client = pg.Client.prototype as unknown as { query: (...of: unknown[]) => unknown };
  const { query } = client;
  client.query = function (this: unknown, ...of: unknown[]) {
    const [first] = of;
    texts.push(typeof first === 'string' ? first : (first as { text: string }).text);
    return query.apply(this, of);
  };
  return {
    texts,
    stop: () => {
      client.query = query;
    },
  };
}

describe('a gateway that nobody asks anything', function () {
  this.timeout(SETTLE_MS + LASTS_MS + 60_000);
  let test: TestGateway;

  before(async function () {
    const dovecot = await requireTestDovecot(this);
    test = await startTestGateway();
    await test.addMailbox(dovecot.imap(), 'anna');
  });
  after(() => test.stop());

  it('hardly asks its database, and sleeps', async () => {
    await delay(SETTLE_MS);
    const statements = countStatements();
    const before = process.resourceUsage();
    await delay(LASTS_MS);
    const after = process.resourceUsage();
    statements.stop();
    const perSecond = (count: number): number => (count / LASTS_MS) * 1_000;
    const asked = perSecond(statements.texts.length);
    const wakeUps = perSecond(after.voluntaryContextSwitches - before.voluntaryContextSwitches);
    const cpuPercent =
      perSecond(after.userCPUTime + after.systemCPUTime - before.userCPUTime - before.systemCPUTime) / 10_000;
    figure(`an idle gateway sends ${asked.toFixed(2)} statements a second`);
    figure(`wakes up ${wakeUps.toFixed(1)} times a second`);
    figure(`and takes ${cpuPercent.toFixed(2)} % of a core`);
    expect(asked).to.be.below(MOST_STATEMENTS);
    expect(wakeUps).to.be.below(MOST_WAKE_UPS);
  });
});

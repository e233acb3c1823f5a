import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { eventually } from '../support/worlds/gateway.ts';
import { figure, timesOf } from '../support/suite/long.ts';
import { withClient } from '../support/servers/mail-append.ts';
import { MailRelay } from '../support/servers/mail-relay.ts';
import { ReplicaSet } from '../support/worlds/replica-set.ts';
import { SoakLoad } from '../support/worlds/soak-load.ts';
import { verifies } from '../support/suite/verifies.ts';

const LASTS_MS = timesOf(30_000, 30 * 60_000);
const RESTART_EVERY_MS = timesOf(10_000, 120_000);
const SAMPLE_EVERY_MS = timesOf(1_000, 10_000);
/** What the last third may have over the middle one; a process of a minute is still warming up. */
const GROWTH = timesOf(1.4, 1.15);

const residentMiB = async (pid: number): Promise<number> =>
  Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${String(pid)}/status`, 'utf8'))?.[1]) / 1_024;

const middle = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

/** How often each subject lies in each folder. */
async function counted(dovecot: TestDovecot, user: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const places = new Map<string, string[]>();
  await withClient(dovecot.imap(), user, async (client) => {
    for (const path of ['INBOX', 'Archive', 'Sent']) {
      await client.mailboxOpen(path, { readOnly: true });
      for await (const { envelope } of client.fetch('1:*', { envelope: true })) {
        const subject = envelope?.subject ?? '';
        places.set(subject, [...(places.get(subject) ?? []), path]);
      }
    }
  });
  return places;
}

describe('reading, moving and sending during restarts of the mail server', function () {
  this.timeout(LASTS_MS + 120_000);
  let dovecot: TestDovecot;
  let relay: MailRelay;
  let set: ReplicaSet;
  let load: SoakLoad;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    relay = await MailRelay.start(dovecot);
    set = await ReplicaSet.start({}, () => [{}]);
    await set.allowSending('example.com');
    const mailboxId = await set.addMailbox(dovecot.imap(), relay.port);
    const address = set.replicas[0]?.address ?? '';
    const failures = () => set.replicas[0]?.failures ?? '';
    load = new SoakLoad({ address, token: set.tokens.rest_token, mailboxId, relay, user: 'anna', failures });
  });

  after(async () => {
    await set.remove();
    await relay.stop();
    await dovecot.dispose();
  });

  it(`loses and repeats no mail, and keeps its memory constant ${verifies('contract:7:draft-is-the-lock', 'contract:14:no-second-effect')}`, async () => {
    const pid = set.replicas[0]?.pid ?? 0;
    const resident: number[] = [];
    let restarts = 0;
    const startedAt = performance.now();
    load.start();
    for (let at = 0; at < LASTS_MS; at = performance.now() - startedAt) {
      await delay(SAMPLE_EVERY_MS);
      load.assertUnhurt();
      resident.push(await residentMiB(pid));
      if (at < (restarts + 1) * RESTART_EVERY_MS) continue;
      restarts += 1;
      await relay.pausedFor(async () => {
        await dovecot.stop();
        await delay(500);
        await dovecot.start();
      });
    }
    await load.stop();
    await relay.delivered();

    // One after the other: at half an hour there are more of them than requests are let in at once.
    let unsent = load.drafts;
    await eventually(async () => {
      const open: string[] = [];
      for (const id of unsent) {
        const { body } = await set.rest(0, ['GET', `/drafts/${id}`]);
        if (body.status !== 'sent') open.push(id);
      }
      unsent = open;
      if (open.length > 0) {
        const { body } = await set.rest(0, ['GET', `/drafts/${open[0] ?? ''}`]);
        throw new Error(`${String(open.length)} drafts are not sent, one of them: ${JSON.stringify(body)}`);
      }
    }, 60_000);
    const taken = relay.accepted.filter(({ raw }) => raw.includes('Subject: soak sent'));
    expect(new Set(taken.map(({ messageId }) => messageId)).size, 'no message was sent twice').to.equal(
      taken.length,
    );
    expect(taken.length, 'every draft was sent').to.equal(load.drafts.length);
    // The copies in Sent may still be on their way.
    await eventually(async () => {
      const places = await counted(dovecot, 'anna');
      for (const subject of load.sent)
        expect(places.get(subject)?.toSorted()).to.deep.equal(['INBOX', 'Sent']);
    }, 60_000);
    const places = await counted(dovecot, 'anna');
    const elsewhere = load.brought.filter((subject) => places.get(subject)?.length !== 1);
    expect(elsewhere, 'messages from outside that lie nowhere or twice').to.deep.equal([]);

    const third = Math.floor(resident.length / 3);
    const [second, last] = [middle(resident.slice(third, 2 * third)), middle(resident.slice(2 * third))];
    figure(
      `${(LASTS_MS / 1_000).toFixed(0)} s, ${String(restarts)} restarts: ${String(load.answered)} requests answered, ${String(load.disturbed)} told to come again, ` +
        `${String(load.archived)} archived, ${String(load.sent.length)} sent; resident ${second.toFixed(0)}, then ${last.toFixed(0)} MiB`,
    );
    expect(last / second, 'resident memory of the last third over the middle one').to.be.below(GROWTH);
  });
});

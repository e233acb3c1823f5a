import { expect } from 'chai';
import { simpleParser } from 'mailparser';
import { emailKey, emailReservation, reserveEmail } from '../../../../commands/accounts/account.ts';
import { decideAndAppend, systemAuthor } from '../../../../commands/kernel/decide-and-append.ts';
import type { Ports } from '../../../../commands/ports/ports.ts';
import { requestMail, type SystemMailRequest } from '../../../../commands/system-mail/system-mail.ts';
import { systemClock } from '../../../../infra/platform/system-clock.ts';
import { sendSystemMail } from '../../../../infra/system-mail/send-system-mail.ts';
import { openSystemMailer } from '../../../../infra/system-mail/system-mailer.ts';
import { systemMails } from '../../../../projections/system-mail.ts';
import { dyingAfter, dyingBefore } from '../../../support/fakes/dying-ports.ts';
import { ProcessGone } from '../../../support/fakes/breaking-mailbox.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { ScriptedSmtp } from '../../../support/servers/scripted-smtp.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import {
  memoryLeases,
  type MemoryGateway,
  OWNER,
  startMemoryGateway,
} from '../../../support/worlds/memory-gateway.ts';
import { runNamedSweepers } from '../../../support/worlds/named-sweepers.ts';
import { openRig, type Rig } from '../projector/projector-rig.ts';

const MINUTE = 60_000;
const ID = '5f0b2d9e-0000-5000-8000-000000000001';

describe('sending the mails of the gateway', () => {
  let gateway: MemoryGateway;
  let smtp: ScriptedSmtp;
  let ports: Ports;
  let erased: string[];
  let lines: string[];

  beforeEach(async () => {
    gateway = await startMemoryGateway();
    smtp = await ScriptedSmtp.start();
    erased = [];
    lines = [];
    let made = 0;
    const log = {
      ...silentLog,
      warn: (message: string) => lines.push(`warn ${message}`),
      error: (message: string) => lines.push(`error ${message}`),
    };
    const smtpUrl = `smtp://127.0.0.1:${String(smtp.port)}`;
    const { baseUrl } = gateway.ports.server;
    ports = {
      ...gateway.ports,
      log,
      systemMailer: openSystemMailer({ smtpUrl, from: null, baseUrl, log }),
      links: {
        ...gateway.ports.links,
        make: (purpose, subject) => Promise.resolve(`${purpose}-${String(subject)}-${String((made += 1))}`),
      },
      personal: {
        ...gateway.ports.personal,
        erase: (ownerId) => {
          erased.push(ownerId);
          return Promise.resolve();
        },
      },
    };
    const key = emailKey(ports, OWNER.ownerEmail);
    await decideAndAppend(ports, systemAuthor(ports, null), emailReservation, {
      id: key,
      decide: (state) => reserveEmail(state, gateway.org.userId),
    });
  });
  afterEach(() => smtp.stop());

  const ask = (request: Partial<SystemMailRequest> & Pick<SystemMailRequest, 'kind'>, id = ID) =>
    requestMail(ports, systemAuthor(ports, gateway.org.orgId), id, { user_id: null, to: null, ...request });
  const forgotten = async (email = OWNER.ownerEmail): Promise<void> => {
    await ask({ kind: 'password_reset', to: await ports.personal.seal(ID, email) });
  };
  const typesOf = (id = ID): readonly string[] =>
    gateway.events.all.filter(({ streamName }) => streamName === `systemMail-${id}`).map(({ type }) => type);
  const lastOf = (id = ID) =>
    gateway.events.all.findLast(({ streamName }) => streamName === `systemMail-${id}`)?.data;

  it(`sends a mail once, with a link made now, and forgets the address ${verifies('contract:18:system-mail')}`, async () => {
    await forgotten();
    expect(await sendSystemMail(ports, ID)).to.equal('settled');
    expect(await sendSystemMail(ports, ID)).to.equal('held');
    expect(smtp.accepted).to.have.length(1);
    const { text = '', to } = await simpleParser(smtp.accepted[0]?.raw ?? '');
    expect(to).to.deep.include({ text: OWNER.ownerEmail });
    expect(text).to.contain(`${ports.server.baseUrl}/console#reset=reset-${gateway.org.userId}-1`);
    expect(erased).to.deep.equal([ID]);
    expect(
      JSON.stringify(gateway.events.all, (_, value: unknown) => (typeof value === 'bigint' ? '' : value)),
    ).not.to.contain('reset-usr');
  });

  it(`tries again after a deferral, and not earlier ${verifies('contract:18:system-mail-retries')}`, async () => {
    await forgotten();
    smtp.script = { rcpt: (_, count) => (count === 1 ? '451 4.3.0 later' : undefined) };
    await sendSystemMail(ports, ID);
    expect(lastOf()).to.deep.include({ outcome: 'failed', code: '451' });
    expect(lines).to.deep.equal(['warn system mail: retry scheduled']);
    expect(erased).to.deep.equal([]);
    gateway.clock.advance(MINUTE - 1_000);
    expect(await sendSystemMail(ports, ID)).to.equal('held');
    gateway.clock.advance(1_000);
    await sendSystemMail(ports, ID);
    expect(lastOf()).to.deep.include({ outcome: 'sent' });
    expect(smtp.accepted).to.have.length(1);
  });

  it('gives up after a permanent refusal, with an error line', async () => {
    await forgotten();
    smtp.script = { rcpt: () => '550 5.1.1 nobody' };
    await sendSystemMail(ports, ID);
    expect(lastOf()).to.deep.equal({ outcome: 'failed', code: '550', next_at: null });
    expect(lines).to.deep.equal(['error system mail: failed']);
    expect(erased).to.deep.equal([ID]);
  });

  it('skips a mail to an address without an account', async () => {
    await forgotten('stranger@example.com');
    await sendSystemMail(ports, ID);
    expect(lastOf()).to.deep.equal({ reason: 'no_account' });
    expect(erased).to.deep.equal([ID]);
    expect(smtp.accepted).to.deep.equal([]);
  });

  it('tells the owner of an address that it has an account, without a link into it', async () => {
    await ask({ kind: 'verify_email', to: await ports.personal.seal(ID, OWNER.ownerEmail) });
    await sendSystemMail(ports, ID);
    const { subject, text } = await simpleParser(smtp.accepted[0]?.raw ?? '');
    expect(subject).to.equal('You have an account already');
    expect(text).not.to.contain('verify');
  });

  it('skips what no longer holds', async () => {
    await ask({ kind: 'invite', invite_id: 'inv_gone' });
    await sendSystemMail(ports, ID);
    expect(lastOf()).to.deep.equal({ reason: 'no_longer_true' });
    const other = '5f0b2d9e-0000-5000-8000-000000000002';
    await ask({ kind: 'organisation_deleted', user_id: gateway.org.userId }, other);
    await sendSystemMail(ports, other);
    expect(lastOf(other)).to.deep.equal({ reason: 'no_longer_true' });
  });

  it('sends nothing when it dies before', async () => {
    await forgotten();
    const dead = { ...ports, links: { ...ports.links, make: () => Promise.reject(new ProcessGone()) } };
    expect(await rejection(sendSystemMail(dead, ID))).to.be.instanceOf(ProcessGone);
    expect(smtp.accepted).to.deep.equal([]);
    await sendSystemMail(ports, ID);
    expect(smtp.accepted).to.have.length(1);
  });

  it(`sends a second copy under the same Message-ID when it dies before the outcome is recorded ${verifies('contract:18:system-mail')}`, async () => {
    await forgotten();
    expect(await rejection(sendSystemMail(dyingBefore(ports, /^SystemMailAttempted$/), ID))).to.be.instanceOf(
      ProcessGone,
    );
    await sendSystemMail(ports, ID);
    const ids = await Promise.all(smtp.accepted.map(async ({ raw }) => (await simpleParser(raw)).messageId));
    expect(ids).to.have.length(2);
    expect(new Set(ids).size).to.equal(1);
    expect(typesOf()).to.deep.equal(['SystemMailRequested', 'SystemMailAttempted']);
  });

  it('sends no second copy when it dies after the outcome is recorded', async () => {
    await forgotten();
    expect(await rejection(sendSystemMail(dyingAfter(ports, /^SystemMailAttempted$/), ID))).to.be.instanceOf(
      ProcessGone,
    );
    await sendSystemMail(ports, ID);
    expect(smtp.accepted).to.have.length(1);
  });

  it('sends one copy from two replicas', async () => {
    await forgotten();
    const held = new Map<string, string>();
    const replicas = ['run_1', 'run_2'].map((runId) => ({ ...ports, leases: memoryLeases(runId, held) }));
    for (let round = 0; round < 3; round += 1)
      await Promise.all(replicas.map((replica) => sendSystemMail(replica, ID)));
    expect(smtp.accepted).to.have.length(1);
  });

  describe('in the background', () => {
    let home: Rig;
    before(async () => {
      home = await openRig();
    });
    after(async () => {
      await home[Symbol.asyncDispose]();
    });

    it('waits for a mail server that is down, erases a key that was left, and sends when it is back', async () => {
      const projector = await home.start({ events: gateway.events, projections: [systemMails] });
      await home.sql.query("insert into vault.personal_key (owner_id, wrapped) values ($1, 'x')", [ID]);
      const personal: Ports['personal'] = {
        ...ports.personal,
        erase: async (ownerId) => {
          await ports.personal.erase(ownerId);
          if (erased.length < 2) return;
          await home.sql.query(
            'update vault.personal_key set wrapped = null, erased_at = now() where owner_id = $1',
            [ownerId],
          );
        },
      };
      const clock = { ...systemClock, now: () => gateway.clock.now() };
      const stop = new AbortController();
      smtp.script = { greeting: () => 'drop' };
      const worker = runNamedSweepers(
        { ...ports, sql: home.sql, personal, clock },
        ['system-mail', 'system-mail-addresses'],
        stop.signal,
      );
      try {
        await forgotten();
        await eventually(() => typesOf().length === 2);
        expect(lastOf()).to.deep.include({ outcome: 'failed', code: 'connection_failed' });
        smtp.script = {};
        gateway.clock.advance(MINUTE);
        await eventually(() => typesOf().length === 3);
        expect(lastOf()).to.deep.include({ outcome: 'sent' });
      } finally {
        stop.abort();
        await worker;
      }
      await projector.readModels.waitFor(await gateway.events.headPosition(), 3_000);
      // However long the process was away.
      gateway.clock.advance(3 * 24 * 60 * MINUTE);
      const again = new AbortController();
      const second = runNamedSweepers(
        { ...ports, sql: home.sql, personal, clock },
        ['system-mail-addresses'],
        again.signal,
      );
      try {
        await eventually(() => erased.length === 2);
        const [row] = await home.sql.query('select status, attempts from read.system_mail where id = $1', [
          ID,
        ]);
        expect(row).to.deep.equal({ status: 'sent', attempts: 2 });
      } finally {
        again.abort();
        await second;
        await projector.close();
      }
    }).timeout(120_000);
  });
});

import { expect } from 'chai';
import { simpleParser } from 'mailparser';
import { decideApproval } from '../../../../commands/approvals/decide-approval.ts';
import type { PersonEntry } from '../../../../commands/ports/directory.ts';
import type { Ports } from '../../../../commands/ports/ports.ts';
import { ApproverNotices } from '../../../../infra/background/approver-notices.ts';
import { SweeperRun } from '../../../../infra/background/run-sweeper.ts';
import { sendSystemMail } from '../../../../infra/system-mail/send-system-mail.ts';
import { openSystemMailer } from '../../../../infra/system-mail/system-mailer.ts';
import { approvals } from '../../../../projections/approvals.ts';
import { approverNotices } from '../../../../projections/approver-notices.ts';
import { ScriptedSmtp } from '../../../support/servers/scripted-smtp.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { WORLD_NOW } from '../../../support/worlds/access-world.ts';
import { type ApprovalRig, approvalRig, NEEDS_APPROVAL } from '../../../support/worlds/approval-rig.ts';
import { personEntry } from '../../../support/worlds/people.ts';
import { openRig, type Rig } from '../projector/projector-rig.ts';

const HOUR = 3_600;

describe('notices to approvers', () => {
  let home: Rig;
  let rig: ApprovalRig;
  let smtp: ScriptedSmtp;
  let ports: Ports;
  let stop: () => Promise<void>;
  let settle: () => Promise<void>;
  let runs: SweeperRun[];
  let second: number;

  beforeEach(async () => {
    home = await openRig();
    rig = approvalRig();
    smtp = await ScriptedSmtp.start();
    second = 0;
    const projector = await home.start({ events: rig.events, projections: [approvals, approverNotices] });
    stop = () => projector.close();
    settle = async () => {
      if (!(await projector.readModels.waitFor(await rig.events.headPosition(), 3_000)))
        throw new Error('the read models did not catch up');
    };
    const clock = {
      ...rig.ports.clock,
      now: () => new Date(WORLD_NOW.getTime() + second * 1_000),
      elapsedMs: () => second * 1_000,
    };
    const { baseUrl } = rig.ports.server;
    const smtpUrl = `smtp://127.0.0.1:${String(smtp.port)}`;
    ports = {
      ...rig.ports,
      ...{ clock, sql: home.sql },
      systemMailer: openSystemMailer({ smtpUrl, from: null, baseUrl, log: rig.ports.log }),
    };
    // Two processes.
    runs = [0, 1].map(() => new SweeperRun(new ApproverNotices(ports), { ...ports, clock }));
  });
  afterEach(async () => {
    await stop();
    await smtp.stop();
    await home[Symbol.asyncDispose]();
  });

  const at = (seconds: number): void => {
    second = seconds;
    rig.at(seconds);
  };
  const requested = () =>
    rig.events.all
      .filter(({ type }) => type === 'SystemMailRequested')
      .map(({ streamName, data }) => ({
        id: streamName.slice('systemMail-'.length),
        userId: data['user_id'],
        approvalIds: data['approval_ids'] as string[],
        remindedIds: data['reminded_ids'] as string[],
      }));
  const sweep = async (): Promise<void> => {
    await settle();
    // Every process looks before the read model has what another requested.
    for (const run of runs) await run.pass();
    for (const run of runs) await run.end();
    await settle();
  };
  /** Another message that may be archived only with an approval. */
  const ask = async () => {
    const asked = await rig.ask([rig.arrive('INBOX', `<${String(Math.random())}@example.com>`)], 'archive');
    return { id: asked.approval?.id ?? '', hash: asked.approval?.content_hash };
  };
  const set = (id: string, traits: Partial<PersonEntry>): void => {
    (ports.directory.state.people as Map<string, PersonEntry>).set(id, personEntry(id, traits));
  };

  it(`are one at once and one a quarter of an hour later, however many approvals and processes there are ${verifies('contract:9:approvers-told')}`, async () => {
    rig.person('usr_boss', 'owner');
    await ask();
    await sweep();
    expect(requested()).to.have.length(1);
    for (let n = 0; n < 50; n += 1) await ask();
    for (const seconds of [5, 60, 890]) {
      at(seconds);
      await sweep();
    }
    expect(requested()).to.have.length(1);
    at(900);
    await sweep();
    at(910);
    await sweep();
    const [, later, ...more] = requested();
    expect(more).to.deep.equal([]);
    expect(later?.approvalIds).to.have.length(50);
  }).timeout(120_000);

  it('remind once, and not of what was decided', async () => {
    const boss = rig.person('usr_boss', 'owner');
    rig.rules({ ...NEEDS_APPROVAL, then: { decision: 'require', quorum: 2, auto_commit: false } });
    rig.person('usr_second', 'owner');
    const { id, hash: content_hash } = await ask();
    await sweep();
    await rig.approvalAs(boss, decideApproval, { approval_id: id, decision: 'approve', content_hash });
    at(22 * HOUR);
    await sweep();
    at(22 * HOUR + 120);
    await sweep();
    expect(requested().map(({ userId, remindedIds }) => [userId, remindedIds])).to.have.deep.members([
      ['usr_boss', []],
      ['usr_second', []],
      ['usr_second', [id]],
    ]);
  });

  it('keep no record of an approval that ended before its notice', async () => {
    rig.person('usr_boss', 'owner');
    await home.sql.query(
      "insert into read.approver_told (approval_id, user_id, at, is_reminded) values ('chk_ended', 'usr_boss', '2020-01-01', false)",
    );
    const { id } = await ask();
    await sweep();
    const rows = await home.sql.query('select approval_id from read.approver_told');
    expect(rows).to.deep.equal([{ approval_id: id }]);
  });

  it('go to those who may decide, have a verified address and want them', async () => {
    rig.person('usr_boss', 'owner');
    rig.person('usr_off', 'owner');
    rig.person('usr_new', 'owner');
    rig.person('usr_reader', 'auditor');
    set('usr_off', { notifications: 'off' });
    set('usr_new', { isVerified: false });
    await ask();
    await sweep();
    expect(requested().map(({ userId }) => userId)).to.deep.equal(['usr_boss']);
    set('usr_off', { notifications: 'each' });
    at(61);
    await sweep();
    expect(requested().map(({ userId }) => userId)).to.deep.equal(['usr_boss', 'usr_off']);
  });

  it(`say who asks what, where, with which warnings and until when, and nothing of the mail ${verifies('contract:9:approvers-told')}`, async () => {
    rig.person('usr_boss', 'owner');
    const asked = await rig.ask([rig.arrive('INBOX', '<secret-subject@example.org>')], 'expunge');
    await sweep();
    await sendSystemMail(ports, requested()[0]?.id ?? '');
    const raw = String(smtp.accepted[0]?.raw);
    const { subject, text = '', headers, to } = await simpleParser(raw);
    expect(to).to.deep.include({ text: 'usr_boss@example.com' });
    expect(subject).to.equal('An approval waits for you');
    expect(text).to.contain('asks to delete 1 message permanently');
    expect(text).to.contain('Warning: Messages are deleted permanently.');
    expect(text).to.match(/Until: \d+ \w+ \d{4} at \d\d:\d\d UTC/);
    expect(text).to.contain(`${ports.server.baseUrl}/console#/approvals/${String(asked.approval?.id)}`);
    expect(text).not.to.contain('secret-subject');
    expect(text).not.to.contain('INBOX');
    expect(headers.get('list')).to.deep.include({
      'unsubscribe-post': { name: 'List-Unsubscribe=One-Click' },
    });
    expect(raw.replaceAll(/\r\n\s+/g, ' ')).to.match(
      new RegExp(`^List-Unsubscribe: <${ports.server.baseUrl}/unsubscribe/[0-9a-z]+>`, 'm'),
    );
    const request = rig.events.all.find(({ type }) => type === 'ApprovalRequested');
    expect(request?.data).to.deep.include({ warning_codes: ['permanent_deletion'] });
  });

  it('are not sent when the person wants none meanwhile', async () => {
    rig.person('usr_boss', 'owner');
    await ask();
    await sweep();
    set('usr_boss', { notifications: 'off' });
    await sendSystemMail(ports, requested()[0]?.id ?? '');
    expect(rig.events.all.at(-1)?.data).to.deep.equal({ reason: 'not_wanted' });
    expect(smtp.accepted).to.deep.equal([]);
  });

  it('are not sent when everything was decided meanwhile', async () => {
    const boss = rig.person('usr_boss', 'owner');
    const { id: approval_id, hash: content_hash } = await ask();
    await sweep();
    await rig.approvalAs(boss, decideApproval, { approval_id, decision: 'approve', content_hash });
    await sendSystemMail(ports, requested()[0]?.id ?? '');
    expect(rig.events.all.at(-1)?.data).to.deep.equal({ reason: 'no_longer_true' });
    expect(smtp.accepted).to.deep.equal([]);
  });
});

import { expect } from 'chai';
import type { ApprovalWarning } from '../../../../commands/operations/approval-warnings.ts';
import { openWarnings } from '../../../../commands/operations/approval-warnings.ts';
import type { Ports } from '../../../../commands/ports/ports.ts';
import { skippedWarnings } from '../../../../commands/sending/send-warnings.ts';
import { ApprovedSendRig } from '../../../support/worlds/approved-send-rig.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const KEY = 'key-1';

/** The ports of a gateway that wrote to some, and whose mirror knows others; null = the mirror is incomplete. */
const knowing = (
  rig: ApprovedSendRig,
  writtenTo: readonly string[],
  correspondents: readonly string[] | null,
): Ports => ({
  ...rig.ports,
  contacts: {
    writtenTo: (_, asked) => Promise.resolve(new Set(asked.filter((one) => writtenTo.includes(one)))),
  },
  mirrorVersions: {
    ...rig.ports.mirrorVersions,
    knownCorrespondents: (mail, asked) => {
      expect(mail).to.deep.include({ folderNumbers: [1, 2], sentNumber: 2 });
      return Promise.resolve(correspondents && new Set(asked.filter((one) => correspondents.includes(one))));
    },
  },
});

async function notedFor(
  rig: ApprovedSendRig,
  ports: Ports,
  to: readonly string[],
): Promise<readonly ApprovalWarning[]> {
  await rig.ask(await rig.startDraft(to), KEY, ports);
  const { approval } = await rig.operation(rig.operationId(KEY));
  const sealed = approval?.requested.warnings;
  return openWarnings(sealed === undefined ? null : await ports.personal.open(sealed)) ?? [];
}

const RECIPIENTS = ['bob@example.org', 'carol@example.org', 'dave@example.org', 'anna@example.com'];

describe('a contact warning', () => {
  const first = async (writtenTo: readonly string[], correspondents: readonly string[] | null) => {
    const rig = new ApprovedSendRig();
    const warnings = await notedFor(rig, knowing(rig, writtenTo, correspondents), RECIPIENTS);
    return warnings.find(({ code }) => code === 'first_contact');
  };

  it(`names recipients without earlier mail, except the mailbox itself ${verifies('contract:9:contact-warnings')}`, async () => {
    expect(await first(['bob@example.org'], ['carol@example.org'])).to.deep.equal({
      code: 'first_contact',
      severity: 'low',
      text: 'No earlier mail with 1 recipient is known: dave@example.org.',
    });
    expect(await first(['bob@example.org'], ['carol@example.org', 'dave@example.org'])).to.equal(undefined);
  });

  it('names everyone the gateway has not written to when the mirror is incomplete', async () => {
    expect((await first(['bob@example.org'], null))?.text).to.equal(
      'No earlier mail with 2 recipients is known: carol@example.org, dave@example.org.',
    );
  });

  it(`names the addresses that a reply leaves out, with invisible characters marked ${verifies('contract:9:contact-warnings')}`, () => {
    const reason = 'It is no address.';
    const skipped = [
      { address: 'john doe@example.org', reason },
      { address: 'j\u200b..d@example.org', reason },
    ];
    const [warning, ...others] = skippedWarnings(skipped);
    expect(others).to.deep.equal([]);
    expect(warning).to.deep.include({ code: 'skipped_recipients', severity: 'medium' });
    expect(warning?.text).to.match(
      /^The answer does not go to 2 addresses of the message it answers: john doe@example\.org, j.+\.\.d@example\.org\. It is no address\.$/u,
    );
    expect(warning?.text).not.to.include('\u200b');
    expect(skippedWarnings([])).to.deep.equal([]);
  });
});

describe('a policy that trusts recipients the mailbox wrote to', () => {
  const KNOWN = [
    { id: 'known', when: { first_contact: false }, then: { decision: 'allow' } },
    { id: 'others', when: {}, then: { decision: 'require' } },
  ];

  it(`allows mail to them, and requires approval for those who only wrote ${verifies('contract:8:recipients')}`, async () => {
    const rig = new ApprovedSendRig();
    rig.setPolicy(KNOWN);
    const ports = knowing(rig, ['bob@example.org'], ['carol@example.org']);
    const sent = async (key: string, ...to: string[]) =>
      await rig.send(await rig.startDraft(to), key, { ports });
    expect(await sent('key-1', 'bob@example.org')).to.include({ status: 'completed' });
    for (const to of [['carol@example.org'], ['bob@example.org', 'carol@example.org']]) {
      const refused = await rejection(sent(`key-${to.join('-')}`, ...to));
      expect(refused).to.include({ code: 'approval_required' });
    }
  });

  it(`is evaluated again at the commit of an approval ${verifies('contract:8:recipients')}`, async () => {
    const rig = new ApprovedSendRig();
    await rig.granted(KEY);
    rig.setPolicy([
      { id: 'strangers', when: { first_contact: true }, then: { decision: 'deny' } },
      { id: 'others', when: {}, then: { decision: 'require' } },
    ]);
    const reply = await rig.commit(KEY, knowing(rig, ['bob@example.org'], null));
    expect(reply.status).to.equal('completed');
  });
});

import { expect } from 'chai';
import { approvalFacts, confirmationOf, isOwnRequest } from '../../../../commands/operations/confirmation.ts';
import { low } from '../../../../commands/operations/approval-warnings.ts';
import { domainsOf } from '../../../../commands/policy/address-look.ts';
import { sendManifest } from '../../../support/samples/send-manifest.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const DOMAINS = domainsOf({ internal_domains: ['example.com'] }, 'anna@example.com');

describe('confirmationOf', () => {
  it(`names every recipient and who is outside the organisation ${verifies('contract:9:confirmation')}`, () => {
    const manifest = sendManifest({
      to: [{ name: null, email: 'erika@kunde.example' }],
      cc: [{ name: null, email: 'max@example.com' }],
      bcc: [{ name: null, email: 'archive@outside.example' }],
      subject: 'Invoice\u200b',
    });
    const attachments = [{ filename: 'a.pdf', content_type: 'application/pdf', size: 1, sha256: 'e' }];
    const { sentence, what, destructive, recipients } = confirmationOf(
      { ...manifest, attachments },
      DOMAINS,
      2,
    );
    expect(sentence).to.equal(
      'Send “Invoice⟦U+200B⟧”: To erika@kunde.example (outside) · Cc max@example.com · ' +
        'Bcc archive@outside.example (outside) · 1 attachment · 2 warnings',
    );
    expect(what).to.equal('Send “Invoice⟦U+200B⟧”');
    expect(destructive).to.equal(false);
    expect(recipients?.map(({ field, outside }) => [field, outside])).to.deep.equal([
      ['to', true],
      ['cc', false],
      ['bcc', true],
    ]);
  });

  it(`says that messages are deleted permanently ${verifies('contract:9:confirmation')}`, () => {
    const items = Array.from({ length: 12 }, () => ({
      ...{ message_id: 'msg_1', rfc_message_id: null, subject_hash: null, folder: 'INBOX' },
    }));
    const ids = { nonce: '00', operation_id: 'opn_1', mailbox_id: 'mbx_1' };
    const manifest = {
      kind: 'message_actions' as const,
      ...ids,
      steps: [{ action: 'expunge' as const }],
      items,
    };
    const { sentence, destructive } = confirmationOf(manifest, DOMAINS, 1);
    expect(sentence).to.equal('Delete 12 messages permanently from “INBOX” · 1 warning');
    expect(destructive).to.equal(true);
  });

  it(`warns the person behind a request before the vote ${verifies('contract:9:confirmation')}`, () => {
    const agents = new Map([['agt_1', { ownerId: 'usr_1' }]]) as never;
    const isOwn = isOwnRequest({ agents }, { id: 'agt_1' }, 'usr_1');
    const noted = { manifest: null, mailbox: undefined, warnings: [low('content_cut', 'Cut.')] };
    const facts = approvalFacts({ policies: new Map() }, { ...noted, isOwn });
    expect(facts.own_request).to.equal(true);
    expect(facts.warnings?.map(({ code }) => code)).to.deep.equal(['own_request', 'content_cut']);
    expect(isOwnRequest({ agents }, { id: 'agt_1' }, 'usr_2')).to.equal(false);
    expect(approvalFacts({ policies: new Map() }, { ...noted, isOwn: null })).not.to.have.property(
      'own_request',
    );
  });
});

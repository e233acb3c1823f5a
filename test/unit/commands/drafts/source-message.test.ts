import { expect } from 'chai';
import {
  prefixed,
  replyRecipients,
  type SourceMessage,
  threadingOf,
} from '../../../../commands/drafts/source-message.ts';
import type { FetchedMessage } from '../../../../commands/mail/message.ts';
import { thrown } from '../../../support/suite/thrown.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const address = (email: string) => ({ name: null, email });
const source = (message: Partial<FetchedMessage>): SourceMessage => ({
  id: 'msg_1',
  text: null,
  message: {
    messageId: '<b@x>', inReplyTo: null, references: [], from: [address('bob@x.example')], to: [address('anna@x.example')], cc: [], replyTo: [], ...message,
  } as unknown as FetchedMessage, // prettier-ignore
});
const emails = ({ to, cc }: ReturnType<typeof replyRecipients>): string =>
  [to, cc].map((list) => list.map(({ email }) => email).join(' ')).join(' | ');

describe('source message of a reply', () => {
  it('determines the recipients', () => {
    const own = 'anna@x.example';
    const to = [address('Anna@x.example'), address('carl@x.example')];
    const all = source({ to, cc: [address('dora@x.example'), address('bob@x.example')] });
    expect(emails(replyRecipients(all, own, false))).to.equal('bob@x.example | ');
    expect(emails(replyRecipients(all, own, true))).to.equal('bob@x.example | carl@x.example dora@x.example');
    const list = source({ replyTo: [address('list@x.example')], to });
    expect(emails(replyRecipients(list, own, true))).to.equal('list@x.example | carl@x.example');
    const mine = source({
      from: [address(own)],
      to: [address('carl@x.example')],
      cc: [address('dora@x.example')],
    });
    expect(emails(replyRecipients(mine, own, false))).to.equal('carl@x.example | ');
    expect(emails(replyRecipients(mine, own, true))).to.equal('carl@x.example | dora@x.example');
    expect(emails(replyRecipients(source({ from: [address(own)] }), own, true))).to.equal(
      'anna@x.example | ',
    );
  });

  it(`reports recipients that a reply cannot reach ${verifies('contract:7:skipped-recipients')}`, () => {
    const odd = source({
      from: [address('john doe@x.example')],
      to: [address('john..doe@docomo.ne.jp'), address('carl@x.example')],
      cc: [address('john..doe@docomo.ne.jp')],
    });
    const { to, cc, skipped } = replyRecipients(odd, 'anna@x.example', true);
    expect([to, cc.map(({ email }) => email)]).to.deep.equal([[], ['carl@x.example']]);
    expect(skipped.map((each) => each.address)).to.deep.equal([
      'john doe@x.example',
      'john..doe@docomo.ne.jp',
    ]);
    expect(replyRecipients(odd, 'anna@x.example', false).skipped).to.have.length(1);
    expect(replyRecipients(source({}), 'anna@x.example', true).skipped).to.deep.equal([]);
  });

  it('refuses a reply that leaves out more people than a message may have', () => {
    const odd = (count: number) =>
      source({ cc: Array.from({ length: count }, (_, at) => address(`a%${String(at)}@x.example`)) });
    expect(replyRecipients(odd(100), 'anna@x.example', true).skipped).to.have.length(100);
    const refused = thrown(() => replyRecipients(odd(101), 'anna@x.example', true));
    expect(refused.code).to.equal('invalid_request');
    expect(replyRecipients(odd(101), 'anna@x.example', false).skipped).to.deep.equal([]);
    const [long] = replyRecipients(source({ cc: [address(`${'a'.repeat(9_000)}@x.example`)] }), 'anna@x.example', true).skipped;
    expect(long?.address).to.have.length(320);
  }); // prettier-ignore

  it('directs a reply to the list alone when Mail-Followup-To asks for it', () => {
    const cc = [address('list@x.example'), address('dora@x.example')];
    const followed = source({ cc, followUpTo: [address('list@x.example')] });
    expect(emails(replyRecipients(followed, 'anna@x.example', true))).to.equal('list@x.example | ');
    expect(emails(replyRecipients(followed, 'anna@x.example', false))).to.equal('bob@x.example | ');
  });

  it('determines the thread (RFC 5322 3.6.4)', () => {
    expect(threadingOf(source({ references: ['<a@x>'] }))).to.deep.equal({
      inReplyTo: '<b@x>',
      references: ['<a@x>', '<b@x>'],
    });
    expect(threadingOf(source({ inReplyTo: '<a@x>' })).references).to.deep.equal(['<a@x>', '<b@x>']);
    for (const messageId of [null, 'b@x', '<b@x>\r\nBcc: y', '<b x@x>', '<ü@x>', `<${'b'.repeat(600)}@x>`]) {
      expect(threadingOf(source({ messageId })), String(messageId)).to.deep.equal({
        inReplyTo: null,
        references: [],
      });
    }
    const many = Array.from({ length: 500 }, (_, index) => `<${String(index)}@x>`);
    const { references } = threadingOf(source({ references: many }));
    expect([references.length, references[0], references.at(-1)]).to.deep.equal([51, '<0@x>', '<b@x>']);
  });

  it('determines a subject with one prefix', () => {
    for (const subject of ['Plan', 'Re: Plan', 'RE: re: Plan', 'AW: Re[2]: Plan', 'Re:Plan'])
      expect(prefixed('Re', subject), subject).to.equal('Re: Plan');
    expect(prefixed('Re', 'Fwd: Plan')).to.equal('Re: Fwd: Plan');
    expect(prefixed('Fwd', 'FW: Fwd: Plan')).to.equal('Fwd: Plan');
    expect(prefixed('Re', null)).to.equal('Re:');
    expect(prefixed('Re', 'a\r\nBcc: x =?utf-8?Q?b?=')).to.equal('Re: a Bcc: x = ?utf-8?Q?b?=');
    expect(prefixed('Re', 'x'.repeat(5_000)).length).to.be.at.most(900);
  });
});

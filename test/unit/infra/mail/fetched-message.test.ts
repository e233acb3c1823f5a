import { expect } from 'chai';
import { toFetchedMessage } from '../../../../infra/mail/fetched-message.ts';

const PLACE = { folder: { number: 1, path: 'INBOX' }, uidValidity: 707 };

describe('toFetchedMessage', () => {
  it('reads the fields of the header', () => {
    const headers = Buffer.from('References: <a@example.org>\r\n <b@example.org>\r\n\r\n');
    const message = toFetchedMessage({ seq: 1, uid: 7, headers }, PLACE, null);
    expect(message.references).to.deep.equal(['<a@example.org>', '<b@example.org>']);
  });

  it('reads none where the server answers NIL instead of a header', () => {
    const nil = { seq: 1, uid: 7, headers: false, envelope: { subject: 'gone' } } as never;
    expect(toFetchedMessage(nil, PLACE, null)).to.include({ subject: 'gone', messageId: null });
  });
});

import { expect } from 'chai';
import type { MailboxSync } from '../../../../infra/mail-sync/mailbox-sync.ts';
import { OwnMoves } from '../../../../infra/mail-sync/own-moves.ts';

const INBOX = 1;
const MOST_KEPT = 1_000;

const ownMoves = (): OwnMoves =>
  new OwnMoves({} as unknown as MailboxSync, { number: () => INBOX, isReported: () => true });

describe('OwnMoves', () => {
  it('keeps a bounded number of messages that the server reported gone', () => {
    const moves = ownMoves();
    for (let uid = 1; uid <= MOST_KEPT; uid += 1) expect(moves.noteVanished(uid)).to.equal(true);
    expect(moves.nextAt).to.be.below(Infinity);
    expect(moves.noteVanished(MOST_KEPT + 1), 'one too many').to.equal(false);
    expect(moves.nextAt, 'all of them are left to a poll').to.equal(Infinity);
    expect(moves.noteVanished(1)).to.equal(true);
  });
});

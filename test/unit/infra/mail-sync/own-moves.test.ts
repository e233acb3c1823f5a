import { expect } from 'chai';
import { OwnMoves } from '../../../../infra/mail-sync/own-moves.ts';

describe('OwnMoves', () => {
  it('counts vanished messages as a change of INBOX when the server reports very many at once', () => {
    const sync = {} as unknown as ConstructorParameters<typeof OwnMoves>[0];
    const moves = new OwnMoves(sync, { number: () => 1, isReported: () => true });
    const explained = Array.from({ length: 300_000 }, (_, uid) => moves.noteVanished(uid));
    expect([explained[0], explained[999], explained[1_000]]).to.deep.equal([true, true, false]);
    expect(moves.nextAt).to.be.lessThan(performance.now() + 1_000);
    expect(moves.haveUnexplained).to.equal(false);
  });
});

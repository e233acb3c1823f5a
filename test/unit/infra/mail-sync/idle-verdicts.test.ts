import { expect } from 'chai';
import { IdleVerdicts } from '../../../../infra/mail-sync/idle-verdicts.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const SERVER = 'imap.example.org:993';

/** How many of `count` new mailboxes of a server are asked. */
const asked = (verdicts: IdleVerdicts, server: string, count = 10): readonly string[] =>
  Array.from({ length: count }, (_, at) => `${server}/${String(at)}`).filter((id) =>
    verdicts.isAsked(server, id),
  );

describe('IdleVerdicts', () => {
  let verdicts: IdleVerdicts;
  beforeEach(() => {
    verdicts = new IdleVerdicts();
  });

  it('asks three mailboxes of a server and twenty in all while there is no news', () => {
    expect(asked(verdicts, SERVER)).to.have.length(3);
    expect(asked(verdicts, SERVER)).to.have.length(3);
    const others = Array.from({ length: 10 }, (_, at) =>
      asked(verdicts, `mail${String(at)}.example.org:993`),
    );
    expect(others.flat()).to.have.length(17);
  });

  it(`is prompt after news that came unasked in time, and then asks no mailbox ${verifies('contract:5:late-idle')}`, () => {
    asked(verdicts, SERVER);
    verdicts.reportedUnasked(SERVER, 'any', 700);
    expect(verdicts.verdictOf(SERVER)).to.equal('prompt');
    expect(asked(verdicts, SERVER)).to.deep.equal([]);
    expect(asked(verdicts, 'other.example.org:993'), 'another server').to.have.length(3);
  });

  it('stays unknown after news at the start of an IDLE or late in it', () => {
    verdicts.reportedUnasked(SERVER, 'any', 100);
    verdicts.reportedUnasked(SERVER, 'any', 60_000);
    expect(verdicts.verdictOf(SERVER)).to.equal('unknown');
  });

  it('is late after three news that came only on asking, and then asks every mailbox', () => {
    for (let count = 0; count < 2; count += 1) verdicts.reportedOnAsking(SERVER);
    expect(verdicts.verdictOf(SERVER)).to.equal('unknown');
    verdicts.reportedUnasked(SERVER, 'any', 100);
    verdicts.reportedOnAsking(SERVER);
    expect(verdicts.verdictOf(SERVER)).to.equal('late');
    expect(asked(verdicts, SERVER)).to.have.length(10);
  });

  it('is not late when unasked news came in between', () => {
    for (const told of ['asked', 'asked', 'itself', 'asked', 'asked']) {
      if (told === 'asked') verdicts.reportedOnAsking(SERVER);
      else verdicts.reportedUnasked(SERVER, 'any', 700);
    }
    expect(verdicts.verdictOf(SERVER)).to.equal('prompt');
  });

  it('changes when a server behaves differently', () => {
    for (let count = 0; count < 3; count += 1) verdicts.reportedOnAsking(SERVER);
    verdicts.reportedUnasked(SERVER, 'any', 700);
    expect(verdicts.verdictOf(SERVER)).to.equal('prompt');
    verdicts.missed(SERVER);
    expect(verdicts.verdictOf(SERVER)).to.equal('unknown');
  });

  it('asks the mailboxes that have news instead of the quietest one', () => {
    const [silent = '', ...others] = asked(verdicts, SERVER);
    verdicts.reportedUnasked(SERVER, 'busy', 60_000);
    expect(verdicts.isAsked(SERVER, 'busy')).to.equal(true);
    expect(verdicts.isAsked(SERVER, silent)).to.equal(false);
    for (const id of others) expect(verdicts.isAsked(SERVER, id)).to.equal(true);
    verdicts.leave('busy');
    expect(verdicts.isAsked(SERVER, silent), 'a place is free').to.equal(true);
  });
});

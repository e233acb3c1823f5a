import { expect } from 'chai';
import { IdleConnections } from '../../../../infra/mail/idle-connections.ts';
import type { ImapConnection } from '../../../../infra/mail/imap-connection.ts';

const connection = (): ImapConnection => ({ isUsable: true, openedAt: 0 }) as unknown as ImapConnection;

describe('IdleConnections', () => {
  let now = 0;
  let idle: IdleConnections;
  beforeEach(() => {
    now = 0;
    idle = new IdleConnections({
      idleMs: 60_000,
      maxAgeMs: 60_000,
      now: () => now,
      dismiss: () => undefined,
    });
  });
  afterEach(() => idle.clear());

  it('lends the worker what callers have not used for a second', () => {
    const own = connection();
    idle.keep(own, 'callers');
    now = 999;
    expect(idle.takeForWorker()).to.equal(null);
    now = 1_000;
    expect(idle.takeForWorker()).to.deep.equal({ connection: own, user: 'callers' });
  });

  it('lends it to the worker again at once, until callers use it', () => {
    const [own, other] = [connection(), connection()];
    idle.keep(own, 'callers', 'worker');
    idle.keep(other, 'callers');
    expect(idle.takeForWorker()?.connection).to.equal(own);
    expect(idle.takeForWorker(), 'the other one was used just now').to.equal(null);
    idle.keep(own, 'callers');
    expect(idle.takeForWorker()).to.equal(null);
  });
});

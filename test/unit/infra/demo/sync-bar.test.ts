import { expect } from 'chai';
import type { MailboxEntry } from '../../../../commands/ports/directory.ts';
import { showSync, syncBar } from '../../../../infra/demo/sync-bar.ts';
import { systemClock } from '../../../../infra/platform/system-clock.ts';

const shares = [0, 5, 10];

describe('progress bar of the first synchronisation', () => {
  it('is as full as the mirror', () => {
    expect(shares.map((indexed) => syncBar({ indexed, total: 10 }).split('█').length - 1)).to.deep.equal([
      0, 15, 30,
    ]);
    expect(syncBar({ indexed: 0, total: 0 })).to.include('0 of 0');
    expect(syncBar({ indexed: 12, total: 10 }).split('█').length - 1, 'never longer').to.equal(30);
  });

  it('continues after a restore until the mirror is complete, even when the mailbox is connected', async () => {
    const looks = [
      { currentAt: null, indexed: 0, total: 0 },
      { currentAt: null, indexed: 3, total: 10 },
      { currentAt: null, indexed: 10, total: 10 },
    ];
    const written: string[] = [];
    const status = () => ({
      lastEventAt: null,
      ...(looks.shift() ?? { currentAt: null, indexed: 10, total: 10 }),
    });
    await showSync({
      ports: {
        clock: { ...systemClock, sleep: () => Promise.resolve() },
        directory: {
          state: { mailboxes: { get: () => ({ id: 'mbx_1', number: 1, state: 'connected' }) } },
        } as never,
        mirrorVersions: { statusOf: () => Promise.resolve(new Map([['mbx_1', status()]])) } as never,
      },
      mailboxId: 'mbx_1',
      withinMs: 5_000,
      terminal: { isTTY: false, write: (text: string) => written.push(text) > 0 },
    });
    expect(written).to.have.length(1);
    expect(written[0]).to.include('10 of 10 messages');
  });

  for (const isTTY of [true, false]) {
    it(`is drawn ${isTTY ? 'repeatedly on one line in a terminal' : 'once, at its end, elsewhere'}`, async () => {
      let looks = 0;
      const state = (): MailboxEntry['state'] => (looks < shares.length ? 'syncing' : 'connected');
      const mailboxes = { get: () => ({ id: 'mbx_1', number: 1, state: state() }) };
      const status = () => ({
        lastEventAt: null,
        currentAt: null,
        indexed: shares[looks++] ?? 10,
        total: 10,
      });
      const written: string[] = [];
      const shown = await showSync({
        ports: {
          clock: { ...systemClock, sleep: () => Promise.resolve() },
          directory: { state: { mailboxes } } as never,
          mirrorVersions: {
            statusOf: () => Promise.resolve(new Map([['mbx_1', status()]])),
            knownMessage: () => Promise.resolve(null),
            firstContacts: () => Promise.resolve(null),
            knownCorrespondents: () => Promise.resolve(null),
            erase: () => Promise.resolve(),
          },
        },
        mailboxId: 'mbx_1',
        withinMs: 5_000,
        terminal: { isTTY, write: (text: string) => written.push(text) > 0 },
      });
      expect(shown).to.equal('connected');
      expect(written).to.have.length(isTTY ? 4 : 1);
      expect(written.at(-1)).to.match(/10 of 10 messages\n$/);
    });
  }
});

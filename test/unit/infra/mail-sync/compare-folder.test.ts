import { expect } from 'chai';
import { compareFolder } from '../../../../infra/mail-sync/compare-folder.ts';
import type { MailboxSync } from '../../../../infra/mail-sync/mailbox-sync.ts';
import type { ImapConnection } from '../../../../infra/mail/imap-connection.ts';

describe('compareFolder', () => {
  it('ends between two ranges when its signal aborts', async () => {
    const ending = new AbortController();
    let ranges = 0;
    const sync = {
      mirrorOf: () => Promise.resolve({ uidNext: 1_000_000 }),
      inTurn: () => {
        ranges += 1;
        if (ranges === 3) ending.abort();
        return Promise.resolve({ different: 1, size: 2_000 });
      },
    } as unknown as MailboxSync;
    const connection = {} as unknown as ImapConnection;
    const mended = await compareFolder(sync, connection, { number: 1, path: 'INBOX' }, ending.signal);
    expect({ mended, ranges }).to.deep.equal({ mended: 3, ranges: 3 });
  });
});

import { expect } from 'chai';
import { FolderRounds } from '../../../../infra/mail-sync/fetch-folders.ts';
import type { FolderMirror } from '../../../../infra/mail-index/folder-mirror.ts';

/** How often one folder was found replaced after each list with one of these UIDVALIDITY values. */
async function replacedAfter(
  listed: readonly number[],
  mirror: Pick<FolderMirror, 'uidValidity'> | null,
): Promise<readonly number[]> {
  const mailboxes = new Map([['mbx_1', { folders: [{ number: 2, path: 'Work' }] }]]);
  const sync = {
    mailboxId: 'mbx_1',
    mailboxNumber: 1,
    index: { invalidated: () => Promise.resolve([]) },
    mirrorOf: () => Promise.resolve(mirror),
    ports: { directory: { state: { mailboxes } } },
  };
  let replaced = 0;
  const rounds = new FolderRounds(sync as never, null as never, () => {
    replaced += 1;
  });
  const counts: number[] = [];
  for (const uidValidity of listed) {
    const status = { path: 'Work', uidValidity, uidNext: 1, messages: 0, highestModseq: null };
    await rounds.changed({ listing: [], statuses: [status] });
    counts.push(replaced);
  }
  return counts;
}

describe('a round over the folders of a mailbox', () => {
  it('finds a folder replaced once, also before it has a mirror', async () => {
    expect(await replacedAfter([707, 707, 714, 714, 721], null)).to.deep.equal([0, 0, 1, 1, 2]);
  });

  it('finds a folder replaced whose mirror an earlier worker left', async () => {
    expect(await replacedAfter([714, 714], { uidValidity: 707 })).to.deep.equal([1, 1]);
    expect(await replacedAfter([707], { uidValidity: 707 })).to.deep.equal([0]);
  });
});

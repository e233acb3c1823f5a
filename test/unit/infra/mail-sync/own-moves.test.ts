import { expect } from 'chai';
import type { OwnChange } from '../../../../commands/ports/change-attribution.ts';
import type { MailboxSync } from '../../../../infra/mail-sync/mailbox-sync.ts';
import { OwnMoves } from '../../../../infra/mail-sync/own-moves.ts';

const INBOX = 1;
const ARCHIVE = 2;
const MOST_KEPT = 1_000;
const MOST_CHANGES = 800;

/** The worker of a mailbox in which operations have settled these changes. */
function ownMoves(changes: readonly OwnChange[] = []) {
  const opened: string[] = [];
  const mirror = { uid_validity: '7', uid_next: '200', total: '10', distrusts: '1', trusted: '1' };
  const rows = changes.map((change, id) => ({
    ...{ ...mirror, folder_number: change.folder, followed: true, id: String(id) },
    ...{ expectation_id: 'a', operation_id: 'opn_a', change, flags: null, keywords: null, taken: false },
  }));
  const locators = {
    openMessage: (id: string) => {
      opened.push(id);
      return null;
    },
  };
  const sync = {
    unfinished: new Set(),
    ports: { sql: { query: () => Promise.resolve(rows) }, locators },
    inTurn: (step: () => Promise<unknown>) => step(),
  } as unknown as MailboxSync;
  const moves = new OwnMoves(sync, { number: () => INBOX, isReported: () => true });
  return { moves, opened };
}

const arrival = (uid: number): OwnChange => ({
  ...{ kind: 'arrives', folder: ARCHIVE, uidValidity: 7, fromUid: 1, uid, messageId: null },
  previousId: `msg_${String(uid)}`,
});

describe('OwnMoves', () => {
  it('keeps a bounded number of messages that the server reported gone', () => {
    const { moves } = ownMoves();
    for (let uid = 1; uid <= MOST_KEPT; uid += 1) expect(moves.noteVanished(uid)).to.equal(true);
    expect(moves.nextAt).to.be.below(Infinity);
    expect(moves.noteVanished(MOST_KEPT + 1), 'one too many').to.equal(false);
    expect(moves.nextAt, 'all of them are left to a poll').to.equal(Infinity);
    expect(moves.noteVanished(1)).to.equal(true);
  });

  it('leaves more changes to polls than one append may have, without a plan', async () => {
    const folders = [INBOX, ARCHIVE];
    for (const [count, planned] of [
      [MOST_CHANGES, MOST_CHANGES],
      [MOST_CHANGES + 1, 0],
    ] as const) {
      const { moves, opened } = ownMoves(Array.from({ length: count }, (_, at) => arrival(200 + at)));
      moves.markSettled(folders);
      expect(await moves.take()).to.have.members(folders);
      expect(opened, `of ${String(count)}`).to.have.length(planned);
    }
  });
});

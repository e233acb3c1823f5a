import { expect } from 'chai';
import type { FolderEntry, MailboxEntry } from '../../../../commands/ports/directory.ts';
import type { MailboxChange, MailboxListener } from '../../../../infra/directory/mailbox-news.ts';
import { keepConnectionsTrue } from '../../../../infra/process/mail-settings.ts';

const WORK: FolderEntry = { number: 2, path: 'Work' };
const OTHER: FolderEntry = { number: 3, path: 'Other' };

const mailbox = (folders: readonly FolderEntry[], state: MailboxEntry['state'] = 'connected'): MailboxEntry =>
  ({ id: 'mbx_1', state, folders }) as MailboxEntry;

/** What one change does to the connections of its mailbox. */
function doneFor(before: MailboxChange['before'], now: MailboxChange['now']): readonly string[] {
  const done: string[] = [];
  let listener: MailboxListener = () => undefined;
  const mail = {
    disconnect: (id: string): Promise<void> => {
      done.push(`disconnect ${id}`);
      return Promise.resolve();
    },
    doubtFolders: (id: string): void => {
      done.push(`doubt ${id}`);
    },
  };
  const directory = {
    onMailboxChange: (one: MailboxListener): void => {
      listener = one;
    },
  };
  keepConnectionsTrue(mail, { directory, feed: { onFolderReset: () => undefined } });
  listener({ id: 'mbx_1', before, now });
  return done;
}

describe('keepConnectionsTrue', () => {
  for (const [what, now] of [
    ['was renamed', [{ ...WORK, path: 'Work before' }, OTHER]],
    ['was removed', [{ ...WORK, availability: 'missing' }, OTHER]],
    ['now only holds other folders', [{ ...WORK, availability: 'container' }, OTHER]],
    ['has another in its place', [{ ...WORK, path: 'Old' }, OTHER, { number: 4, path: 'Work' }]],
  ] as const)
    it(`doubts the open folders when one ${what}`, () => {
      expect(doneFor(mailbox([WORK, OTHER]), mailbox(now))).to.deep.equal(['doubt mbx_1']);
    });

  it('leaves connections alone when a folder is new or back, or the state is another', () => {
    const missing: FolderEntry = { ...WORK, availability: 'missing' };
    expect(doneFor(mailbox([WORK]), mailbox([WORK, OTHER]))).to.deep.equal([]);
    expect(doneFor(mailbox([missing]), mailbox([WORK]))).to.deep.equal([]);
    expect(doneFor(mailbox([WORK]), mailbox([WORK], 'auth_failed'))).to.deep.equal([]);
    expect(doneFor(null, mailbox([WORK]))).to.deep.equal([]);
  });

  it('ends the connections of a mailbox that is paused or removed', () => {
    expect(doneFor(mailbox([WORK]), mailbox([WORK], 'paused'))).to.deep.equal(['disconnect mbx_1']);
    expect(doneFor(mailbox([WORK]), null)).to.deep.equal(['disconnect mbx_1']);
  });
});

import { expect } from 'chai';
import { inHomeOrder, isHome } from '../../../../commands/kernel/folders.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const paths = ['All Mail', 'Starred', 'Work', 'Important', 'INBOX', 'Trash'];
const folders = paths.map((path, at) => ({ number: at + 1, path }));
const mailbox = {
  folders,
  folderRoles: {},
  detectedRoles: { all_mail: 1, flagged: 2, important: 4, inbox: 5, trash: 6 },
};

describe('canonical folder', () => {
  it(`is INBOX before other folders, and these before flagged, important and all mail ${verifies('contract:4:gmail-one-item')}`, () => {
    expect(inHomeOrder(mailbox, folders).map(({ path }) => path)).to.deep.equal([
      'INBOX',
      'Work',
      'Trash',
      'Important',
      'Starred',
      'All Mail',
    ]);
  });

  it('is the first searched folder that shows the message', () => {
    expect(isHome(5, [1, 3], [5, 3, 1])).to.equal(true);
    expect(isHome(3, [1, 5], [5, 3, 1])).to.equal(false);
    expect(isHome(3, [1, 5], [3, 1])).to.equal(true);
    expect(isHome(1, [3, 5], [1])).to.equal(true);
    expect(isHome(1, [], [5, 3, 1])).to.equal(true);
  });
});

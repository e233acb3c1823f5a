import { expect } from 'chai';
import { type LabelledFolder, labelledFolders, sharedBy } from '../../../../infra/mail/labelled-folders.ts';

const FOLDERS: readonly LabelledFolder[] = [
  { number: 1, path: 'INBOX', role: 'inbox' },
  { number: 2, path: '[Gmail]/Alle Nachrichten', role: 'all_mail' },
  { number: 3, path: '[Gmail]/Papierkorb', role: 'trash' },
  { number: 4, path: 'Größe/alt', role: null },
  { number: 5, path: '[Gmail]/Markiert', role: 'flagged' },
];
const [INBOX, ALL, TRASH] = FOLDERS;

const shared = (
  folder: LabelledFolder | undefined,
  labels: readonly string[],
  emailId = '1278455344230334865',
) =>
  sharedBy(FOLDERS, { seq: 1, uid: 1, emailId, labels: new Set(labels) }, folder ?? { number: 0, path: '' });

describe('sharedBy', () => {
  it('includes folders by system role in any language, or by path', () => {
    expect(shared(ALL, ['\\Inbox', '\\Starred', 'Größe/alt', 'not shown in IMAP']).alsoIn).to.deep.equal([
      1, 4, 5,
    ]);
  });

  it('excludes the folder itself, and always includes All Mail', () => {
    expect(shared(INBOX, ['\\Inbox']).alsoIn).to.deep.equal([2]);
    expect(shared(INBOX, []).alsoIn).to.deep.equal([2]);
  });

  it('is empty in the trash', () => {
    expect(shared(TRASH, ['Größe/alt']).alsoIn).to.deep.equal([]);
  });

  it('is absent without the extension or a valid id', () => {
    expect(
      sharedBy(null, { seq: 1, uid: 1, emailId: '7', labels: new Set() }, { number: 1, path: 'INBOX' }),
    ).to.deep.equal({});
    expect(shared(INBOX, [], 'M1-odd')).to.deep.equal({});
  });

  it('uses the role that the server gives a folder, and skips missing folders', () => {
    const folders = [
      { number: 1, path: 'INBOX' },
      { number: 2, path: 'Gone', availability: 'missing' as const },
    ];
    expect(labelledFolders({ folders, detectedRoles: { inbox: 1, sent: 2 } })).to.deep.equal([
      { number: 1, path: 'INBOX', role: 'inbox' },
    ]);
  });
});

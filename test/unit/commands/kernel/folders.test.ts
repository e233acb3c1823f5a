import { expect } from 'chai';
import type { MailboxEntry } from '../../../../commands/ports/directory.ts';
import type { GatewayError } from '../../../../commands/values/errors.ts';
import {
  allSelectable,
  effectiveRoles,
  folderOfRole,
  resolveFolder,
  roleOfFolder,
  searchedFolders,
} from '../../../../commands/kernel/folders.ts';
import { createLocators } from '../../../../infra/security/locators.ts';
import { randomKey } from '../../../support/samples/random-key.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const locators = createLocators(randomKey(), randomKey());
const mailbox = {
  number: 5,
  folders: [
    { number: 1, path: 'INBOX' },
    { number: 2, path: 'Archive', availability: 'selectable' },
    { number: 3, path: 'Lists', availability: 'container' },
    { number: 4, path: 'Bin', availability: 'missing' },
    { number: 5, path: 'junk' },
    { number: 6, path: 'fld_strange' },
  ],
  detectedRoles: { archive: 2, trash: 4, all_mail: 2 },
  folderRoles: { junk: 5, sent: null },
} as unknown as MailboxEntry;

const resolve = (argument: string) => resolveFolder(mailbox, argument, locators);
const refusal = (work: () => unknown): GatewayError => {
  try {
    work();
  } catch (error) {
    return error as GatewayError;
  }
  throw new Error('not refused');
};

describe('resolveFolder', () => {
  it(`accepts roles, with spam meaning junk ${verifies('contract:4:folder-words')}`, () => {
    expect(resolve('archive')).to.deep.equal({ number: 2, path: 'Archive' });
    expect(resolve('spam')).to.deep.equal({ number: 5, path: 'junk' });
    expect(refusal(() => resolve('sent'))).to.deep.include({
      code: 'folder_role_missing',
      details: { role: 'sent' },
    });
  });

  it(`accepts ids of this mailbox only ${verifies('contract:4:folder-words', 'contract:1:locator-mailbox')}`, () => {
    expect(resolve(locators.folder(5, 2))).to.deep.equal({ number: 2, path: 'Archive' });
    for (const id of [locators.folder(6, 2), locators.folder(5, 99), 'fld_forged', locators.folder(5, 4)]) {
      expect(refusal(() => resolve(id))).to.include({ code: 'not_found' });
    }
  });

  it(`accepts exact paths, forced by path:, and INBOX in any case ${verifies('contract:4:folder-words', 'contract:4:folder-path-prefix')}`, () => {
    expect(resolve('Archive').number).to.equal(2);
    expect(resolve('path:junk').number).to.equal(5);
    expect(resolve('path:fld_strange').number).to.equal(6);
    expect(resolve('path:Inbox').number).to.equal(1);
    for (const path of ['Archiv', 'ARCHIVE', 'Bin']) {
      const unknown = refusal(() => resolve(path));
      expect(unknown).to.include({ code: 'not_found' });
      expect(unknown).to.have.nested.property('details.suggested_tool', 'email_query');
    }
  });

  it('requires one folder that can hold messages', () => {
    expect(refusal(() => resolve('all'))).to.include({ code: 'invalid_request' });
    expect(refusal(() => resolve('Lists'))).to.include({ code: 'conflict' });
    expect(allSelectable(mailbox).map(({ number }) => number)).to.deep.equal([1, 2, 5, 6]);
  });
});

describe('effectiveRoles', () => {
  it('prefers mapped roles to detected ones, and skips missing folders', () => {
    expect(effectiveRoles(mailbox)).to.deep.equal({ inbox: 1, junk: 5, archive: 2, all_mail: 2 });
    expect(refusal(() => folderOfRole(mailbox, 'trash'))).to.include({ code: 'folder_role_missing' });
  });

  it('assigns one role per folder', () => {
    expect(roleOfFolder(mailbox, 2)).to.equal('archive');
    expect(roleOfFolder(mailbox, 6)).to.equal(null);
  });
});

describe('searchedFolders before the folder list is known', () => {
  const waiting = (state: string, awaitsAuthorization = false): MailboxEntry => ({
    ...mailbox,
    folders: [],
    detectedRoles: {},
    folderRoles: {},
    awaitsAuthorization,
    state: state as MailboxEntry['state'],
  });
  const asked = (entry: MailboxEntry): readonly GatewayError[] => [
    ...[undefined, 'all', 'inbox', 'Work'].map((folder) =>
      refusal(() => searchedFolders(entry, folder, locators)),
    ),
    refusal(() => folderOfRole(entry, 'archive')),
  ];

  for (const state of ['pending', 'connecting', 'syncing', 'connection_failed', 'degraded']) {
    it(`fails with mailbox_unavailable when the mailbox is ${state}`, () => {
      for (const { code, retryAfterSeconds } of asked(waiting(state))) {
        expect(code).to.equal('mailbox_unavailable');
        expect(retryAfterSeconds).to.be.greaterThan(0);
      }
    });
  }

  it('fails with mailbox_auth_failed when credentials are refused or missing, and with conflict when paused', () => {
    for (const { code } of asked(waiting('auth_failed'))) expect(code).to.equal('mailbox_auth_failed');
    for (const { code } of asked(waiting('pending', true))) expect(code).to.equal('mailbox_auth_failed');
    for (const { code } of asked(waiting('paused'))) expect(code).to.equal('conflict');
  });
});

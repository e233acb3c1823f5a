import { expect } from 'chai';
import fc from 'fast-check';
import {
  type KnownPaths,
  type ListedFolder,
  numberFolders,
  recordFolders,
  setFolderRoles,
} from '../../../../commands/mailboxes/decide-folders.ts';
import { renamedFolders } from '../../../../commands/mailboxes/renamed-folders.ts';
import { mailbox, type MailboxFact } from '../../../../commands/mailboxes/mailbox.ts';
import { given, stateAfter } from '../../../support/suite/decider-spec.ts';
import { added, folderAdded, sealed } from '../../../support/samples/mailbox-facts.ts';
import { verifies } from '../../../support/suite/verifies.ts';

/** Paths are their own keys here. */
const pathsIn = (state: Parameters<typeof recordFolders>[0]): KnownPaths => ({
  of: (number) => state.folders.get(number)?.pathKey,
  delimiter: '/',
});
const listed = (pathKey: string, change: Partial<ListedFolder> = {}): ListedFolder => ({
  path: pathKey,
  pathKey,
  selectable: true,
  uidValidity: 1,
  role: null,
  roleSource: null,
  ...change,
});
const record = (folders: readonly ListedFolder[]) => (state: Parameters<typeof recordFolders>[0]) =>
  recordFolders(state, folders, pathsIn(state), sealed);
const availability = (number: number, word: 'selectable' | 'container' | 'missing'): MailboxFact => ({
  type: 'FolderAvailabilityChanged',
  data: { number, availability: word },
});

describe('recordFolders', () => {
  it('numbers folders in the order seen, and detects roles', () => {
    given(mailbox, ...added)
      .when(
        record([
          listed('inbox', { role: 'inbox', roleSource: 'name' }),
          listed('all', { selectable: false }),
        ]),
      )
      .then(
        folderAdded(1, 'inbox', 1),
        {
          type: 'FolderAdded',
          data: { number: 2, path: sealed('all'), path_key: 'all', selectable: false, uid_validity: 1 },
        },
        { type: 'FolderRolesDetected', data: { roles: { inbox: 1 } } },
      );
  });

  it('records nothing when nothing is new', () => {
    given(mailbox, ...added, folderAdded(1, 'inbox', 1), folderAdded(2, 'a', 2))
      .when(record([listed('a'), listed('inbox')]))
      .then();
  });

  it(`keeps the number when one UIDVALIDITY identifies a renamed folder ${verifies('contract:1:folder-number')}`, () => {
    given(mailbox, ...added, folderAdded(1, 'inbox', 1), folderAdded(2, 'old', 22))
      .when(record([listed('inbox'), listed('new', { uidValidity: 22 })]))
      .then({ type: 'FolderRenamed', data: { number: 2, path: sealed('new'), path_key: 'new' } });
  });

  it(`keeps the numbers of a renamed tree while other folders come and go ${verifies('contract:4:renamed-tree')}`, () => {
    const past = [
      folderAdded(1, 'inbox', 1),
      folderAdded(2, 'Eltern', 22),
      folderAdded(3, 'Eltern/Kind', 23),
      folderAdded(4, 'Eltern/Kind/Enkel', 24),
      folderAdded(5, 'gone', 25),
    ];
    const renamed = (number: number, path: string): MailboxFact => ({
      type: 'FolderRenamed',
      data: { number, path: sealed(path), path_key: path },
    });
    given(mailbox, ...added, ...past)
      .when(
        record([
          listed('inbox'),
          listed('Neu', { uidValidity: 22 }),
          listed('Neu/Kind', { uidValidity: 23 }),
          listed('Neu/Kind/Enkel', { uidValidity: 24 }),
          listed('fresh', { uidValidity: 99 }),
        ]),
      )
      .then(
        renamed(2, 'Neu'),
        renamed(3, 'Neu/Kind'),
        renamed(4, 'Neu/Kind/Enkel'),
        folderAdded(6, 'fresh', 99),
        availability(5, 'missing'),
      );
  });

  it('keeps the numbers of a renamed tree when every folder has the same UIDVALIDITY', () => {
    const past = [
      folderAdded(1, 'inbox', 1),
      folderAdded(2, 'a', 1),
      folderAdded(3, 'a/x', 1),
      folderAdded(4, 'a/y', 1),
    ];
    given(mailbox, ...added, ...past)
      .when(record(['inbox', 'b', 'b/x', 'b/y'].map((path) => listed(path))))
      .then(
        ...[[2, 'b'] as const, [3, 'b/x'] as const, [4, 'b/y'] as const].map(
          ([number, path]): MailboxFact => ({
            type: 'FolderRenamed',
            data: { number, path: sealed(path), path_key: path },
          }),
        ),
      );
  });

  it('finds renamed folders in bounded time among thousands', () => {
    const paths = (prefix: string, count: number): readonly string[] =>
      Array.from({ length: count }, (_, at) => `${prefix}${String(at)}/b/c/d/e`);
    const gone = paths('old', 100).map((path, at) => ({ number: at + 1, path, uidValidity: 1 }));
    const fresh = paths('new', 100).map((path) => ({ pathKey: path, path, uidValidity: 1 }));
    const began = process.cpuUsage();
    expect(renamedFolders({ gone, fresh, kept: paths('kept', 10_000), delimiter: '/' })).to.have.property(
      'size',
      0,
    );
    expect(process.cpuUsage(began).user / 1_000).to.be.below(4_000);
  });

  it('gives new numbers when a rename is not certain', () => {
    const two = given(mailbox, ...added, folderAdded(1, 'old', 22), folderAdded(2, 'other', 23));
    two
      .when(record([listed('new', { uidValidity: 22 }), listed('newer', { uidValidity: 22 })]))
      .then(
        folderAdded(3, 'new', 22),
        folderAdded(4, 'newer', 22),
        availability(1, 'missing'),
        availability(2, 'missing'),
      );
    two
      .when(record([listed('other'), listed('new', { uidValidity: 99 })]))
      .then(folderAdded(3, 'new', 99), availability(1, 'missing'));
  });

  it('keeps the number when a folder comes back', () => {
    given(mailbox, ...added, folderAdded(1, 'inbox', 1), availability(1, 'missing'))
      .when(record([listed('inbox')]))
      .then(availability(1, 'selectable'));
  });

  it('never shares a number, nor changes it while the path stays', () => {
    const listing = fc.uniqueArray(fc.record({ pathKey: fc.constantFrom('a', 'b', 'c', 'd', 'e'), uidValidity: fc.integer({ min: 1, max: 4 }) }), { selector: ({ pathKey }) => pathKey }); // prettier-ignore
    fc.assert(
      fc.property(fc.array(listing, { maxLength: 6 }), (listings) => {
        let past: readonly MailboxFact[] = added;
        let before: readonly ListedFolder[] = [];
        for (const folders of listings.map((each) => each.map((folder) => listed(folder.pathKey, folder)))) {
          const state = stateAfter(mailbox, past);
          const numbers = numberFolders(state, folders, pathsIn(state));
          expect(new Set(numbers.values()).size).to.equal(folders.length);
          for (const { pathKey } of before.filter((old) => numbers.has(old.pathKey))) {
            expect(numbers.get(pathKey)).to.equal(numberFolders(state, before, pathsIn(state)).get(pathKey));
          }
          past = [...past, ...record(folders)(state)];
          expect(record(folders)(stateAfter(mailbox, past))).to.deep.equal([]);
          before = folders;
        }
      }),
    );
  });
});

describe('assignment of folder roles', () => {
  it("prefers the server's role to one that a name suggests", () => {
    const folders = [
      listed('Trash', { role: 'trash', roleSource: 'name' }),
      listed('Bin', { role: 'trash', roleSource: 'extension' }),
    ];
    given(mailbox, ...added, folderAdded(1, 'Trash', 1), folderAdded(2, 'Bin', 1))
      .when(record(folders))
      .then({ type: 'FolderRolesDetected', data: { roles: { trash: 2 } } });
  });

  it('maps roles once, and only to existing folders', () => {
    const past = [...added, folderAdded(1, 'a', 1)];
    const set: MailboxFact = { type: 'FolderRolesSet', data: { roles: { archive: 1, junk: null } } };
    given(mailbox, ...past)
      .when((state) => setFolderRoles(state, { archive: 1, junk: null }))
      .then(set);
    given(mailbox, ...past, set)
      .when((state) => setFolderRoles(state, { archive: 1 }))
      .then();
    given(mailbox, ...past)
      .when((state) => setFolderRoles(state, { archive: 2 }))
      .thenRefused('not_found');
    given(mailbox, ...past, availability(1, 'missing'))
      .when((state) => setFolderRoles(state, { archive: 1 }))
      .thenRefused('not_found');
  });
});

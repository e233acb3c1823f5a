import { expect } from 'chai';
import type { Context } from '../../../../commands/kernel/capability.ts';
import type { FetchedMessage } from '../../../../commands/mail/message.ts';
import type { MailQuery, MailQueryAnswer } from '../../../../commands/mail/query.ts';
import type { Viewing } from '../../../../read-api/messages/message-view.ts';
import { showPage, type ShownPage } from '../../../../read-api/messages/recent-pages.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const QUERY = {
  folders: [],
  filter: {},
  order: 'received_desc',
  limit: 10,
  after: null,
  depth: 'structure',
  textChars: null,
  countOnly: false,
} as const satisfies MailQuery;

/** A gateway whose mirror has one page at `version`; null when the version is unknown. */
function indexed(version: string | null = '1') {
  const rig = {
    version,
    /** Whether the mirror is complete, and marks every message as a first contact. */
    isComplete: true,
    pagesRead: 0,
    subject: 'One',
    show: (plain: Viewing, query: MailQuery = QUERY): Promise<ShownPage> => showPage({ ports }, plain, query),
  };
  const ports = {
    mail: {
      query: (_: string, { knownVersion }: MailQuery): Promise<MailQueryAnswer> => {
        const rest = { next: null, count: null, evaluatedBy: 'gateway', version: rig.version ?? undefined };
        if (knownVersion !== undefined && knownVersion === rig.version) {
          return Promise.resolve({ ...rest, messages: [], unchanged: true } as unknown as MailQueryAnswer);
        }
        rig.pagesRead += 1;
        return Promise.resolve({ ...rest, messages: messages(rig.subject) } as unknown as MailQueryAnswer);
      },
    },
    mirrorVersions: {
      firstContacts: (__: unknown, of: readonly FetchedMessage[]) =>
        Promise.resolve(rig.isComplete ? new Map(of.map((message) => [message, true])) : null),
    },
  } as unknown as Context['ports'];
  return rig;
}

const messages = (subject: string): readonly FetchedMessage[] => [
  {
    ref: { folder: { number: 1, path: 'INBOX' }, uidValidity: 1, uid: 1 },
    seen: false, flagged: false, answered: false, draft: false, keywords: [], size: 1,
    receivedAt: new Date(0), sentAt: null, messageId: null, inReplyTo: null, references: [], subject,
    from: [], to: [], cc: [], bcc: [], replyTo: [], autoSubmitted: null, hasAttachments: false, attachments: [],
    threadRoot: null,
  },
]; // prettier-ignore

const viewing = (fields: Partial<Viewing> = {}): Viewing => ({
  mailbox: MAILBOX,
  access: { scopes: new Set(), folderRoles: null, quotas: null },
  locators: { message: () => 'msg_1', folder: () => 'fld_1' } as unknown as Viewing['locators'],
  view: 'summary',
  body: null,
  ...fields,
});
const MAILBOX = {
  id: 'mbx_1',
  number: 1,
  folders: [{ number: 1, path: 'INBOX' }],
  folderRoles: {},
  detectedRoles: {},
  trustedAuthservIds: [],
} as unknown as Viewing['mailbox'];

describe('showPage', () => {
  it('reads once per version from the second request on, and returns the same items', async () => {
    const rig = indexed();
    const { items: first } = await rig.show(viewing());
    const { items } = await rig.show(viewing());
    expect(items).to.deep.equal(first);
    expect(rig.pagesRead).to.equal(2);
    for (const time of [1, 2]) {
      const again = await rig.show(viewing());
      expect(again.items, `request ${String(time)}`).to.equal(items);
      expect(again.json).to.equal(JSON.stringify(items));
    }
    expect(rig.pagesRead).to.equal(2);
    rig.version = '2';
    const { items: readAgain, json } = await rig.show(viewing());
    expect(readAgain).to.deep.equal(items);
    expect(readAgain).not.to.equal(items);
    expect(json).to.equal(undefined);
    expect(rig.pagesRead).to.equal(3);
  });

  it('keeps a page that is asked for again while many others are asked for once', async () => {
    const rig = indexed();
    const listed = { ...QUERY, filter: { seen: false } };
    for (let time = 0; time < 2; time += 1) await rig.show(viewing(), listed);
    for (let size = 0; size < 200; size += 1)
      await rig.show(viewing(), { ...QUERY, filter: { size_min: size } });
    const before = rig.pagesRead;
    expect((await rig.show(viewing(), listed)).json).to.be.a('string');
    expect(rig.pagesRead).to.equal(before);
  });

  it('reads again for another view, grant or query, and when the mailbox changed', async () => {
    const rig = indexed();
    for (let time = 0; time < 3; time += 1) await rig.show(viewing());
    expect(rig.pagesRead).to.equal(2);
    const access = { ...viewing().access, folderRoles: ['inbox'] as const };
    for (const other of [{ view: 'ids' as const }, { access }]) await rig.show(viewing(other));
    await rig.show(viewing(), { ...QUERY, filter: { seen: true } });
    expect(rig.pagesRead).to.equal(5);
    const mailbox = { ...MAILBOX, detectedRoles: { archive: 1 }, folderRoles: { inbox: null } };
    const { items } = await rig.show(viewing({ mailbox }));
    expect(items[0]?.folder?.role).to.equal('archive');
  });

  it(`marks text as external and first contacts in every view with text ${verifies('contract:4:origin')}`, async () => {
    for (const view of ['summary', 'headers', 'full'] as const) {
      const { items } = await indexed().show(viewing({ view }));
      expect(items[0])
        .to.deep.include({ origin: 'external' })
        .and.have.nested.property('security.first_contact', true);
    }
    const { items } = await indexed().show(viewing({ view: 'ids' }));
    expect(items).to.deep.equal([{ id: 'msg_1' }]);
  });

  it('keeps no page of many bytes', async () => {
    const rig = indexed();
    rig.subject = 'x'.repeat(16 * 1_048_576);
    for (const reads of [1, 2, 3]) {
      await rig.show(viewing());
      expect(rig.pagesRead).to.equal(reads);
    }
  });

  it('reads again until the mirror is complete and first contacts are known', async () => {
    const rig = indexed();
    rig.isComplete = false;
    for (let time = 0; time < 2; time += 1)
      expect((await rig.show(viewing())).items[0]).not.to.have.property('security');
    rig.isComplete = true;
    expect((await rig.show(viewing())).items[0]?.security).to.deep.equal({ first_contact: true });
  });

  it('reads for each request with text, in the full view, after a cursor and without a version', async () => {
    const body = { format: 'text', chars: 10, offset: 0 } as unknown as Viewing['body'];
    const after = { value: 0, folderNumber: 1, uid: 1 };
    const asked: readonly (readonly [Viewing, MailQuery, string | null])[] = [
      [viewing({ body }), QUERY, '1'],
      [viewing({ view: 'full' }), QUERY, '1'],
      [viewing(), { ...QUERY, after }, '1'],
      [viewing(), QUERY, null],
    ];
    for (const [plain, query, version] of asked) {
      const rig = indexed(version);
      for (let time = 0; time < 3; time += 1) await rig.show(plain, query);
      expect(rig.pagesRead).to.equal(3);
    }
  });
});

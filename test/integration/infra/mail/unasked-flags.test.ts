import { expect } from 'chai';
import type { MailSession } from '../../../../commands/ports/mail-port.ts';
import type { MessageRef } from '../../../../commands/mail/message.ts';
import { requireTestDovecot, type TestDovecot } from '../../../support/servers/dovecot.ts';
import { MODERN } from '../../../support/servers/imap-habits.ts';
import { appendMessages, plainMessage, withClient } from '../../../support/servers/mail-append.ts';
import { PlainAccount } from '../../../support/servers/plain-account.ts';
import { ScriptedImapServer } from '../../../support/servers/scripted-imap.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import {
  INBOX,
  mailGateway,
  type MailGatewayUnderTest,
  queryOf,
} from '../../../support/worlds/mail-gateway.ts';
import { startSyncRig } from '../../../support/worlds/mail-sync-rig.ts';

const USER = 'anna';
const UIDS = [1, 2];
const SUBJECTS = ['message 1', 'message 2'];
const IDS = ['<1@example.org>', '<2@example.org>'];
const RAWS = UIDS.map((n) =>
  plainMessage({ subject: `message ${String(n)}`, id: `<${String(n)}@example.org>` }),
);

const uidValidityOf = ({ mail }: MailGatewayUnderTest): Promise<number> =>
  mail(async (session) => (await session.folderStatus(INBOX)).uidValidity);

const refsUnder = (uidValidity: number): MessageRef[] =>
  UIDS.map((uid) => ({ folder: INBOX, uidValidity, uid }));

describe('flags that another client changes in an open folder', () => {
  let server: TestDovecot;
  let under: MailGatewayUnderTest;

  before(async function () {
    server = await requireTestDovecot(this);
    await appendMessages(
      server.imap(),
      USER,
      RAWS.map((raw) => ({ raw })),
    );
    under = mailGateway(server.imap(), USER);
  });

  after(async () => {
    under.gateway.close();
    await server.dispose();
  });

  it('are reported with the next answer and hide nothing of it', async () => {
    const refs = refsUnder(await uidValidityOf(under));
    const identify = (session: MailSession) => session.identify(refs);
    const found = await under.mail(async (session) => {
      await identify(session);
      await withClient(server.imap(), USER, async (client) => {
        await client.mailboxOpen('INBOX');
        await client.messageFlagsAdd('1:2', ['\\Seen'], { uid: true });
      });
      return await identify(session);
    });
    expect(found).to.deep.equal(UIDS.map((_, at) => ({ messageId: IDS[at], subject: SUBJECTS[at] })));
  });
});

describe('a mail server that tells of messages unasked', function () {
  this.timeout(60_000);
  let server: ScriptedImapServer<PlainAccount>;
  let under: MailGatewayUnderTest;
  let refs: readonly MessageRef[];
  const [first] = RAWS;

  before(async () => {
    server = await ScriptedImapServer.start({ ...MODERN, tellsUnasked: true }, new PlainAccount(['INBOX']));
    for (const [at, raw] of RAWS.entries())
      server.account.deliver({ raw, labels: ['INBOX'], receivedAt: new Date(Date.UTC(2026, 0, 2 - at)) });
    under = mailGateway(server.imap(), USER);
    refs = refsUnder(await uidValidityOf(under));
  });

  after(async () => {
    under.gateway.close();
    await server.close();
  });

  it('does not hide what identifies a message', async () => {
    const found = await under.mail((session) => session.identify(refs));
    expect(found.map((each) => each?.messageId)).to.deep.equal(IDS);
    const [alone] = await under.mail((session) => session.identify(refs.slice(1)));
    expect(alone?.subject).to.equal(SUBJECTS[1]);
  });

  it('adds no message to a page and does not change its order', async () => {
    const { messages } = await under.mail((session) => session.query(queryOf({ textChars: 100 })));
    expect(messages.map(({ subject }) => subject)).to.deep.equal(SUBJECTS);
    expect(messages.map(({ receivedAt }) => receivedAt.getUTCDate())).to.deep.equal([2, 1]);
    expect(messages.every(({ size }) => size > 0)).to.equal(true);
    expect(messages.map(({ text }) => text?.content)).not.to.include(undefined);
  });

  it('shows each message at its place', async () => {
    const found = await under.mail((session) => session.fetch(refs, 'envelope', null));
    expect(found.map((each) => each?.subject)).to.deep.equal(SUBJECTS);
  });

  it('gives whole pieces of a message', async () => {
    const [ref] = refs;
    if (ref === undefined || first === undefined) throw new Error('nothing to read');
    const read = (offset: number) => under.mail((session) => session.readBytes(ref, null, offset, 20));
    expect(Buffer.from((await read(0)) ?? []).toString()).to.equal(first.slice(0, 20));
    expect(Buffer.from((await read(20)) ?? []).toString()).to.equal(first.slice(20, 40));
    expect(await under.mail((session) => session.describePart(ref, 1))).not.to.equal(null);
  });

  it('ends a download where a part is withheld', async () => {
    const [ref] = refs;
    if (ref === undefined) throw new Error('nothing to read');
    server.habits = { ...server.habits, gives: () => null };
    const read = await under.mail((session) => session.readBytes(ref, '1', 0, 20));
    server.habits = { ...server.habits, gives: (piece) => piece };
    expect(read).to.have.length(0);
  });

  it('fills the mirror as any other', async () => {
    const rig = await startSyncRig(server.imap(), USER, { hasQueries: true });
    try {
      rig.work();
      await eventually(() => rig.entry().state === 'connected');
      // The client of this comparison takes every response for an answer.
      server.habits = MODERN;
      expect(await rig.differences()).to.deep.equal([]);
      const answer = await rig.index.query(rig.whole(), queryOf({ folders: [rig.folder('INBOX')] }));
      expect(answer?.messages.map(({ subject }) => subject)).to.deep.equal(SUBJECTS);
      expect(answer?.messages.map(({ receivedAt }) => receivedAt.getUTCDate())).to.deep.equal([2, 1]);
    } finally {
      await rig.close();
    }
  });
});

describe('a flag that changes while a new message is fetched', function () {
  this.timeout(60_000);

  it('is told of at once', async () => {
    const account = new PlainAccount(['INBOX']);
    const server = await ScriptedImapServer.start(MODERN, account);
    const [raw = ''] = RAWS;
    const older = account.deliver({ raw, labels: ['INBOX'] });
    const rig = await startSyncRig(server.imap(), USER);
    try {
      rig.work({ roundEveryMs: 60_000 });
      await eventually(
        async () => rig.entry().state === 'connected' && (await rig.differences()).length === 0,
      );
      let changes = 0;
      const beforeFetch = (items: string): void => {
        if (!items.includes('BODYSTRUCTURE') || changes > 0) return;
        changes += 1;
        account.setFlags(older, new Set(['\\Seen']));
      };
      server.habits = { ...MODERN, beforeFetch };
      account.deliver({ raw, labels: ['INBOX'] });
      await eventually(() => rig.told().length === 2);
      expect(changes).to.equal(1);
      expect(rig.told().map(({ kind, uid }) => [kind, uid])).to.deep.equal([
        ['received', 2],
        ['updated', 1],
      ]);
    } finally {
      await rig.close();
      await server.close();
    }
  });
});

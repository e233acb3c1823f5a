import { expect } from 'chai';
import type { ActionOutcome, MailSession } from '../../../../commands/ports/mail-port.ts';
import type { FetchedMessage } from '../../../../commands/mail/message.ts';
import { type CuttingProxy, startCuttingProxy } from '../../../support/servers/cutting-proxy.ts';
import {
  BARE,
  MOVE_ONLY,
  NO_MOVE,
  requireTestDovecot,
  type TestDovecot,
} from '../../../support/servers/dovecot.ts';
import { appendMessages, plainMessage, withClient } from '../../../support/servers/mail-append.ts';
import {
  ARCHIVE,
  INBOX,
  mailGateway,
  type MailGatewayUnderTest,
  queryOf,
} from '../../../support/worlds/mail-gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const seed = async (server: TestDovecot, user: string, count = 4): Promise<void> => {
  const raws = Array.from({ length: count }, (_, n) => ({
    raw: plainMessage({ subject: `message ${String(n + 1)}`, id: `<${String(n + 1)}@${user}.example.com>` }),
  }));
  await appendMessages(server.imap(), user, raws);
};

const subjectsIn = async (
  { mail }: MailGatewayUnderTest,
  folder = INBOX,
): Promise<readonly (string | null)[]> =>
  (await mail((session) => session.query(queryOf({ folders: [folder], order: 'subject_asc' })))).messages.map(
    ({ subject }) => subject,
  );

const uidValidityOf = ({ mail }: MailGatewayUnderTest): Promise<number> =>
  mail(async (session) => (await session.folderStatus(INBOX)).uidValidity);

const outcomesOf = (outcomes: ReadonlyMap<number, ActionOutcome>): Record<number, string> =>
  Object.fromEntries(
    [...outcomes].map(([uid, outcome]) => [
      uid,
      outcome.outcome === 'failed' ? outcome.reason : outcome.outcome,
    ]),
  );

const commandsIn = (transcript: string): readonly string[] =>
  transcript.match(
    /(?<=^\w+ )(?:UID )?(?:NOOP|SELECT|EXAMINE|FETCH|SEARCH|STORE|MOVE|STATUS|APPEND|EXPUNGE)/gm,
  ) ?? [];

/** Says that what is named by its new place is the message that was moved. */
async function expectAt(
  { mail }: MailGatewayUnderTest,
  outcome: ActionOutcome | undefined,
  subject: string,
): Promise<void> {
  if (outcome?.outcome !== 'done' || outcome.newUid === null || outcome.newUidValidity === null) {
    throw new Error(`The new place is not known: ${JSON.stringify(outcome)}`);
  }
  const ref = { folder: ARCHIVE, uidValidity: outcome.newUidValidity, uid: outcome.newUid };
  const [found]: readonly (FetchedMessage | null)[] = await mail((session) =>
    session.fetch([ref], 'envelope', null),
  );
  expect(found?.subject).to.equal(subject);
}

const variants = [
  { name: 'with MOVE', capability: undefined, tells: true },
  { name: 'without MOVE', capability: NO_MOVE, tells: true },
  { name: 'with MOVE but without UIDPLUS', capability: MOVE_ONLY, tells: false },
];

for (const { name, capability, tells } of variants) {
  describe(`message actions on a server ${name}`, () => {
    let server: TestDovecot;
    let proxy: CuttingProxy;
    let under: MailGatewayUnderTest;
    let users = 0;

    before(async function () {
      server = await requireTestDovecot(this, capability === undefined ? {} : { capability });
      proxy = await startCuttingProxy({ host: server.host, port: server.ports.imap });
      proxy.hide = tells ? null : /\[COPYUID [^\]]*\] /g;
    });
    beforeEach(async () => {
      users += 1;
      const user = `user${String(users)}`;
      await seed(server, user);
      under = mailGateway({ host: '127.0.0.1', port: proxy.port, security: 'none' }, user);
    });
    afterEach(() => {
      under.gateway.close();
    });
    after(async () => {
      await proxy.close();
      await server.dispose();
    });

    it(`moves messages and reports the new place of each, and the missing ones ${verifies('contract:4:without-move')}`, async () => {
      const uidValidity = await uidValidityOf(under);
      const outcomes = await under.mail((session) =>
        session.moveMessages(INBOX, uidValidity, [2, 77, 4], ARCHIVE),
      );
      expect(outcomesOf(outcomes)).to.deep.equal({ 2: 'done', 4: 'done', 77: 'missing' });
      expect(await subjectsIn(under)).to.deep.equal(['message 1', 'message 3']);
      expect(await subjectsIn(under, ARCHIVE)).to.deep.equal(['message 2', 'message 4']);
      if (tells) await expectAt(under, outcomes.get(4), 'message 4');
      else expect(outcomes.get(4)).to.deep.equal({ outcome: 'done', newUid: null, newUidValidity: null });
    });

    it('sends no extra command on a connection that moved messages before, with the same answer', async () => {
      const uidValidity = await uidValidityOf(under);
      const move = (uids: readonly number[]) =>
        under.mail(async (session) => {
          const refs = uids.map((uid) => ({ folder: INBOX, uidValidity, uid }));
          await session.identify(refs);
          const { uidNext } = await session.folderStatus(ARCHIVE);
          return { uidNext, outcomes: await session.moveMessages(INBOX, uidValidity, uids, ARCHIVE) };
        });
      await move([1]);
      proxy.transcript = '';
      const { uidNext, outcomes } = await move([2]);
      const asked = commandsIn(proxy.transcript.replace(/(?<=UID MOVE)[^]*/, ''));
      expect(uidNext).to.equal(2);
      expect(outcomesOf(outcomes)).to.deep.equal({ 2: 'done' });
      expect(outcomesOf((await move([3, 77])).outcomes)).to.deep.equal({ 3: 'done', 77: 'missing' });
      expect(await subjectsIn(under, ARCHIVE)).to.deep.equal(['message 1', 'message 2', 'message 3']);
      if (capability === undefined) expect(asked).to.deep.equal(['UID FETCH', 'STATUS', 'UID MOVE']);
    });

    it('adds and removes a message without a command more, where the connection has just answered', async () => {
      proxy.transcript = '';
      await under.mail(async (session) => {
        await session.folderStatus(ARCHIVE);
        await session.append(ARCHIVE, Buffer.from(plainMessage({ subject: 'added' })), [], new Date());
      });
      expect(commandsIn(proxy.transcript)).to.deep.equal(['STATUS', 'APPEND']);
      if (capability !== undefined) return;
      const { uidValidity } = await under.mail((session) => session.folderStatus(ARCHIVE));
      proxy.transcript = '';
      const removed = await under.mail((session) => session.expungeMessages(ARCHIVE, uidValidity, [1, 77]));
      expect(outcomesOf(removed)).to.deep.equal({ 1: 'done', 77: 'missing' });
      const sent = ['SELECT', 'UID SEARCH', 'UID STORE', 'UID EXPUNGE', 'UID SEARCH'];
      expect(commandsIn(proxy.transcript)).to.deep.equal(sent);
    });

    it('identifies messages whatever the connection knows of them', async () => {
      const uidValidity = await uidValidityOf(under);
      const user = `user${String(users)}`;
      const identify = (...uids: number[]) =>
        under.mail(async (session) => {
          const refs = uids.map((uid) => ({ folder: INBOX, uidValidity, uid }));
          return (await session.identify(refs)).map((found) => found?.messageId ?? null);
        });
      const idOf = (uid: number): string => `<${String(uid)}@${user}.example.com>`;
      expect(await identify(1, 2, 3, 5)).to.deep.equal([idOf(1), idOf(2), idOf(3), null]);
      await withClient(server.imap(), user, async (client) => {
        await client.mailboxOpen('INBOX');
        await client.messageFlagsAdd('1', ['\\Deleted'], { uid: true });
        await client.messageDelete('2', { uid: true });
      });
      await appendMessages(server.imap(), user, [{ raw: plainMessage({ subject: 'new', id: idOf(5) }) }]);
      expect(await identify(1)).to.deep.equal([null]);
      expect(await identify(2, 3, 5)).to.deep.equal([null, idOf(3), idOf(5)]);
      const elsewhere = { folder: INBOX, uidValidity: uidValidity + 1, uid: 3 };
      expect(await under.mail((session) => session.identify([elsewhere]))).to.deep.equal([null]);
    });

    it('moves messages that arrived unnoticed by a connection that moved messages before', async () => {
      const uidValidity = await uidValidityOf(under);
      const user = `user${String(users)}`;
      await under.mail(async (session) => {
        // This connection has INBOX open, and was told of four messages.
        await session.moveMessages(INBOX, uidValidity, [1], ARCHIVE);
        for (const uid of [5, 6]) {
          const id = `<${String(uid)}@${user}.example.com>`;
          await appendMessages(server.imap(), user, [
            { raw: plainMessage({ subject: `message ${String(uid)}`, id }) },
          ]);
          const outcomes = await session.moveMessages(INBOX, uidValidity, [uid], ARCHIVE);
          expect(outcomesOf(outcomes)).to.deep.equal({ [uid]: 'done' });
        }
      });
      expect(await subjectsIn(under, ARCHIVE)).to.deep.equal(['message 1', 'message 5', 'message 6']);
      expect(await subjectsIn(under)).to.deep.equal(['message 2', 'message 3', 'message 4']);
    });

    it(`leaves messages alone that another client marked for removal ${verifies('contract:4:without-move')}`, async () => {
      const uidValidity = await uidValidityOf(under);
      await withClient(server.imap(), `user${String(users)}`, async (client) => {
        await client.mailboxOpen('INBOX');
        await client.messageFlagsAdd('1', ['\\Deleted'], { uid: true });
      });
      await under.mail((session) => session.moveMessages(INBOX, uidValidity, [2], ARCHIVE));
      const there = await under.mail((session) => session.look(INBOX, uidValidity, [1, 2, 3]));
      expect([...there.presentUids]).to.deep.equal([1, 3]);
      expect(await subjectsIn(under)).to.deep.equal(['message 3', 'message 4']);
    });

    it('copies messages', async () => {
      const uidValidity = await uidValidityOf(under);
      const outcomes = await under.mail((session) =>
        session.copyMessages(INBOX, uidValidity, [1, 99], ARCHIVE),
      );
      expect(outcomesOf(outcomes)).to.deep.equal({ 1: 'done', 99: 'missing' });
      expect(await subjectsIn(under)).to.have.length(4);
      if (tells) await expectAt(under, outcomes.get(1), 'message 1');
    });

    it('leaves nothing behind when the target folder does not exist', async () => {
      const uidValidity = await uidValidityOf(under);
      const nowhere = { number: 9, path: 'Nowhere' };
      for (const action of ['moveMessages', 'copyMessages'] as const) {
        const outcomes = await under.mail((session) => session[action](INBOX, uidValidity, [1], nowhere));
        expect(outcomes.get(1)).to.deep.equal({
          outcome: 'failed',
          reason: 'rejected',
          text: 'The target folder does not exist on the mail server.',
        });
      }
      expect(await subjectsIn(under)).to.have.length(4);
    });

    it(`finds nothing when the UIDVALIDITY is stale ${verifies('contract:4:uidvalidity')}`, async () => {
      const stale = (await uidValidityOf(under)) - 1;
      const outcomes = await under.mail((session) => session.moveMessages(INBOX, stale, [1, 2], ARCHIVE));
      expect(outcomesOf(outcomes)).to.deep.equal({ 1: 'missing', 2: 'missing' });
      const [message] = await under.mail((session) =>
        session.fetch([{ folder: INBOX, uidValidity: stale, uid: 1 }], 'envelope', null),
      );
      expect(message).to.equal(null);
      const sighting = await under.mail((session) => session.look(INBOX, stale, [1]));
      expect(sighting.presentUids.size).to.equal(0);
    });

    it('sets and clears flags and keywords', async () => {
      const uidValidity = await uidValidityOf(under);
      await under.mail(async (session) => {
        await session.setFlags(INBOX, uidValidity, [1, 2], { add: ['\\Seen', '$Work'], remove: [] });
        const outcomes = await session.setFlags(INBOX, uidValidity, [1, 50], {
          add: ['\\Flagged'],
          remove: ['\\Seen'],
        });
        expect(outcomesOf(outcomes)).to.deep.equal({ 1: 'done', 50: 'missing' });
        const { flagsByUid } = await session.look(INBOX, uidValidity, [1, 2]);
        expect(flagsByUid.get(1)).to.include.members(['\\Flagged', '$Work']).and.not.include('\\Seen');
        expect(flagsByUid.get(2)).to.include.members(['\\Seen', '$Work']);
      });
    });

    it('sets flags without another command on a connection that has just reported the messages', async () => {
      const uidValidity = await uidValidityOf(under);
      const flag = (uids: readonly number[], add = ['\\Flagged']) =>
        under.mail(async (session) => {
          await session.identify(uids.map((uid) => ({ folder: INBOX, uidValidity, uid })));
          await between();
          proxy.transcript = '';
          const outcomes = await session.setFlags(INBOX, uidValidity, uids, { add, remove: [] });
          const commands = proxy.transcript.match(
            /(?<=^\w+ )(?:UID )?(?:NOOP|SELECT|EXAMINE|FETCH|SEARCH|STORE)/gm,
          );
          return { outcomes: outcomesOf(outcomes), commands };
        });
      let between = () => Promise.resolve();
      // Opened for writing by an action.
      await flag([4]);
      const { outcomes, commands } = await flag([1, 2]);
      expect(outcomes).to.deep.equal({ 1: 'done', 2: 'done' });
      // Without CONDSTORE the folder may be another one by now.
      if (capability !== MOVE_ONLY) expect(commands).to.deep.equal(['UID STORE']);
      // The server tells nothing of flags that were set before.
      expect((await flag([1, 2, 3])).outcomes).to.deep.equal({ 1: 'done', 2: 'done', 3: 'done' });
      between = () =>
        withClient(server.imap(), `user${String(users)}`, async (client) => {
          await client.mailboxOpen('INBOX');
          await client.messageDelete('1', { uid: true });
          await client.messageFlagsAdd('2', ['\\Deleted'], { uid: true });
        });
      expect((await flag([1, 2, 3], ['\\Seen'])).outcomes).to.deep.equal({
        1: 'missing',
        2: 'missing',
        3: 'done',
      });
    });
  });
}

describe('message actions on a server with neither MOVE nor UIDPLUS', () => {
  let server: TestDovecot;
  let under: MailGatewayUnderTest;

  before(async function () {
    server = await requireTestDovecot(this, { capability: BARE });
    await seed(server, 'anna');
    under = mailGateway(server.imap(), 'anna');
  });
  after(async () => {
    under.gateway.close();
    await server.dispose();
  });

  it(`refuses to move, and changes nothing ${verifies('contract:4:without-move-and-uidplus')}`, async () => {
    const uidValidity = await uidValidityOf(under);
    const error = await rejection(
      under.mail((session) => session.moveMessages(INBOX, uidValidity, [1], ARCHIVE)),
    );
    expect(error).to.have.property('code', 'operation_unsupported');
    expect(await subjectsIn(under)).to.have.length(4);
  });

  it('copies messages', async () => {
    const uidValidity = await uidValidityOf(under);
    const outcomes = await under.mail((session) => session.copyMessages(INBOX, uidValidity, [1], ARCHIVE));
    expect(outcomesOf(outcomes)).to.deep.equal({ 1: 'done' });
  });
});

describe('an action on a connection that breaks', () => {
  let server: TestDovecot;
  let proxy: CuttingProxy;
  let under: MailGatewayUnderTest;
  let users = 0;

  before(async function () {
    server = await requireTestDovecot(this);
    proxy = await startCuttingProxy({ host: server.host, port: server.ports.imap });
  });
  beforeEach(async () => {
    users += 1;
    const user = `cut${String(users)}`;
    await seed(server, user);
    under = mailGateway({ host: '127.0.0.1', port: proxy.port, security: 'none' }, user, {
      limits: { commandTimeoutMs: 2_000 },
    });
  });
  afterEach(() => {
    under.gateway.close();
  });
  after(async () => {
    await proxy.close();
    await server.dispose();
  });

  for (const where of ['before', 'after', 'hang'] as const) {
    it(`leaves a MOVE unknown when it is interrupted (${where}), and reading the folders settles it`, async () => {
      const uidValidity = await uidValidityOf(under);
      const before = await under.mail((session) => session.folderStatus(ARCHIVE));
      proxy.cutAt(/UID MOVE/, where);
      const outcomes = await under.mail((session) =>
        session.moveMessages(INBOX, uidValidity, [1, 2, 66], ARCHIVE),
      );
      expect(outcomesOf(outcomes)).to.deep.equal({ 1: 'unknown', 2: 'unknown', 66: 'missing' });

      const isDone = where !== 'before';
      await under.mail(async (session) => {
        const { presentUids } = await session.look(INBOX, uidValidity, [1, 2]);
        expect([...presentUids]).to.deep.equal(isDone ? [] : [1, 2]);
        const id = `<2@cut${String(users)}.example.com>`;
        expect(await session.findByMessageId(ARCHIVE, id, before.uidNext)).to.have.length(isDone ? 1 : 0);
        expect(await session.findByMessageId(ARCHIVE, id, before.uidNext + 10)).to.deep.equal([]);
        expect(await session.findByMessageId(ARCHIVE, id.slice(0, -2), 1)).to.deep.equal([]);
      });
    });
  }

  it('knows of no message that STORE told nothing of when it is interrupted before it can ask', async () => {
    const uidValidity = await uidValidityOf(under);
    const flag = (session: MailSession, uids: readonly number[], add: readonly string[]) =>
      session.setFlags(INBOX, uidValidity, uids, { add, remove: [] });
    await under.mail((session) => flag(session, [1], ['\\Flagged']));
    const outcomes = await under.mail(async (session) => {
      await session.identify([1, 2].map((uid) => ({ folder: INBOX, uidValidity, uid })));
      proxy.cutAt(/UID SEARCH/, 'before');
      return await flag(session, [1, 2], ['\\Flagged']);
    });
    expect(outcomesOf(outcomes)).to.deep.equal({ 1: 'unknown', 2: 'done' });
  });

  it('leaves a STORE unknown', async () => {
    const uidValidity = await uidValidityOf(under);
    proxy.cutAt(/UID STORE/, 'after');
    const outcomes = await under.mail((session) =>
      session.setFlags(INBOX, uidValidity, [3], { add: ['\\Seen'], remove: [] }),
    );
    expect(outcomesOf(outcomes)).to.deep.equal({ 3: 'unknown' });
    const { flagsByUid } = await under.mail((session) => session.look(INBOX, uidValidity, [3]));
    expect(flagsByUid.get(3)).to.include('\\Seen');
  });

  it('never repeats a write, and runs once on a new connection after an idle drop', async () => {
    const uidValidity = await uidValidityOf(under);
    proxy.dropAll();
    const outcomes = await under.mail((session) => session.copyMessages(INBOX, uidValidity, [1], ARCHIVE));
    expect(outcomesOf(outcomes)).to.deep.equal({ 1: 'done' });
    expect(await subjectsIn(under, ARCHIVE)).to.deep.equal(['message 1']);
  });
});

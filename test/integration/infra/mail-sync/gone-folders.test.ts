import { expect } from 'chai';
import type { ImapFlow } from 'imapflow';
import type { MailSession } from '../../../../commands/ports/mail-port.ts';
import type { MessageRef } from '../../../../commands/mail/message.ts';
import { allSelectable } from '../../../../commands/kernel/folders.ts';
import { folderCounts } from '../../../../infra/mail/examine-folder.ts';
import type { ImapConnection } from '../../../../infra/mail/imap-connection.ts';
import { listFolders } from '../../../../infra/mail/imap-list.ts';
import { FolderGone } from '../../../../infra/mail/open-folder.ts';
import { BARE, requireTestDovecot } from '../../../support/servers/dovecot.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { COURIER_LIKE, CYRUS_LIKE, type ImapHabits, MODERN } from '../../../support/servers/imap-habits.ts';
import { plainMessage } from '../../../support/servers/mail-append.ts';
import { queryOf } from '../../../support/worlds/mail-gateway.ts';
import { type SyncRig, startSyncRig } from '../../../support/worlds/mail-sync-rig.ts';
import { PlainAccount } from '../../../support/servers/plain-account.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { ScriptedImapServer } from '../../../support/servers/scripted-imap.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const lookAt = (mail: MailSession, { folder, uidValidity, uid }: MessageRef) =>
  mail.look(folder, uidValidity, [uid]);
const raw = (subject: string): string => plainMessage({ subject, id: `<${subject}@example.org>` });

describe('a folder that another client renames, removes or creates again', function () {
  this.timeout(90_000);
  let server: ScriptedImapServer<PlainAccount>;
  let rig: SyncRig;

  const start = async (habits: ImapHabits, paths: readonly string[]): Promise<void> => {
    server = await ScriptedImapServer.start(habits, new PlainAccount(['INBOX', ...paths], habits.delimiter));
    for (const path of paths) server.account.deliver({ raw: raw(`${path} old`), labels: [path] });
    rig = await startSyncRig(server.imap(), 'anna');
  };
  const synced = async (): Promise<void> => {
    await eventually(
      async () => rig.entry().state === 'connected' && (await rig.differences()).length === 0,
      15_000,
    );
  };
  afterEach(async () => {
    await rig.close();
    await server.close();
  });

  const subjectsIn = (folder: { number: number; path: string }) =>
    rig.gateway.withMailbox(rig.mailboxId, 'interactive', async (mail) => {
      const { messages } = await mail.query(queryOf({ folders: [folder], depth: 'envelope' }));
      return messages;
    });

  it(`keeps its number, and so do the folders below it ${verifies('contract:4:renamed-tree')}`, async () => {
    await start(MODERN, ['Eltern', 'Eltern/Kind', 'Other']);
    rig.work();
    await synced();
    const numbers = ['Eltern', 'Eltern/Kind'].map((path) => rig.folder(path).number);
    server.account.rename('Eltern', 'Eltern neu');
    await eventually(() => rig.entry().folders.some(({ path }) => path === 'Eltern neu/Kind'));
    expect(['Eltern neu', 'Eltern neu/Kind'].map((path) => rig.folder(path).number)).to.deep.equal(numbers);
  });

  for (const [name, habits] of [
    ['most servers', MODERN],
    ['Cyrus', CYRUS_LIKE],
  ] as const) {
    it(`is reported as temporarily gone and listed at once, never as empty, on ${name} ${verifies('contract:4:folder-gone')}`, async () => {
      await start(habits, ['Work']);
      const end = rig.work({ roundEveryMs: 60_000 });
      await synced();
      const before = rig.folder('Work');
      const [message] = await subjectsIn(before);
      if (!message) throw new Error('nothing is there');
      server.account.rename('Work', 'Arbeit');
      const read = [
        () => subjectsIn(before),
        () =>
          rig.gateway.withMailbox(rig.mailboxId, 'interactive', (mail) =>
            mail.fetch([message.ref], 'place', null),
          ),
        () => rig.gateway.withMailbox(rig.mailboxId, 'interactive', (mail) => mail.identify([message.ref])),
        () => rig.gateway.withMailbox(rig.mailboxId, 'bulk', (mail) => lookAt(mail, message.ref)),
        () =>
          rig.gateway.withMailbox(rig.mailboxId, 'bulk', (mail) =>
            mail.findByMessageId(before, '<Work old@example.org>', 1),
          ),
      ];
      if (habits.goneWhileOpen === 'kept') server.cut();
      for (const work of read) {
        const error = await rejection(work());
        expect(error).to.be.instanceOf(FolderGone);
        expect(error).to.include({ code: 'mailbox_unavailable' });
      }
      // The round is a minute away.
      const isListed = () =>
        rig.entry().folders.some(({ path, number }) => path === 'Arbeit' && number === before.number);
      await eventually(isListed);
      const folder = rig.folder('Arbeit');
      expect(await subjectsIn(folder)).to.have.length(1);
      const seen = await rig.gateway.withMailbox(rig.mailboxId, 'bulk', (mail) =>
        lookAt(mail, { ...message.ref, folder }),
      );
      expect([...seen.presentUids]).to.deep.equal([message.ref.uid]);
      await end();
    });
  }

  for (const [what, leave] of [
    [
      'removed',
      () => {
        server.account.delete('Work');
      },
    ],
    [
      'renamed',
      () => {
        server.account.rename('Work', 'Work before');
      },
    ],
  ] as const) {
    it(`is not taken for the one that later has its path, when it was ${what} ${verifies('contract:4:made-anew')}`, async () => {
      await start(MODERN, ['Work']);
      rig.work();
      await synced();
      const before = rig.folder('Work');
      // A caller's connection has it open.
      await subjectsIn(before);
      leave();
      const isThere = (): boolean =>
        allSelectable(rig.entry()).some(
          (folder) => folder.number === before.number && folder.path === 'Work',
        );
      await eventually(() => !isThere());
      server.account.create('Work');
      server.account.deliver({ raw: raw('Work new'), labels: ['Work'] });
      await synced();
      const messages = await subjectsIn(rig.folder('Work'));
      expect(messages.map(({ subject }) => subject)).to.deep.equal(['Work new']);
    });
  }

  it(`is reported as temporarily gone in the middle of a download ${verifies('contract:4:folder-gone')}`, async () => {
    await start(MODERN, ['Work']);
    rig.work({ roundEveryMs: 60_000 });
    await synced();
    const [message] = await subjectsIn(rig.folder('Work'));
    if (!message) throw new Error('nothing is there');
    await rig.gateway.withMailbox(rig.mailboxId, 'interactive', async (mail) => {
      await mail.readBytes(message.ref, null, 0, 10);
      server.account.rename('Work', 'Arbeit');
      rig.gateway.doubtFolders(rig.mailboxId);
      const next = await rejection(mail.readBytes(message.ref, null, 10, 10));
      expect(next).to.be.instanceOf(FolderGone);
    });
  });

  it(`is not what a connection counts or lists once it is in doubt ${verifies('contract:4:made-anew')}`, async () => {
    await start(MODERN, ['Work']);
    const work = { number: 1, path: 'Work' };
    const counted = async (connection: ImapConnection) => (await folderCounts(connection, work))?.uidValidity;
    const listed = async (connection: ImapConnection) =>
      (await listFolders(connection)).find(({ path }) => path === 'Work')?.uidValidity;
    const opened = async (connection: ImapConnection) => (await connection.open('Work', 'read')).uidValidity;
    for (const asked of [counted, listed]) {
      const [old, said, anew] = await rig.gateway.withConnection(
        rig.mailboxId,
        async (connection) => {
          const before = await opened(connection);
          server.account.delete('Work');
          server.account.create('Work');
          rig.gateway.doubtFolders(rig.mailboxId);
          return [before, await asked(connection), await opened(connection)];
        },
        true,
      );
      expect(said).to.equal(anew);
      expect(said).to.not.equal(old);
    }
  });

  it(`keeps no connection from other folders when it is gone and in doubt ${verifies('contract:4:folder-gone')}`, async () => {
    await start(MODERN, ['Work', 'Other']);
    const asked = [
      async (connection: ImapConnection) =>
        (await folderCounts(connection, { number: 2, path: 'Other' }))?.messages,
      async (connection: ImapConnection) =>
        (await listFolders(connection)).find(({ path }) => path === 'Other')?.total,
    ];
    for (const ask of asked) {
      const messages = await rig.gateway.withConnection(
        rig.mailboxId,
        async (connection) => {
          await connection.open('Work', 'read');
          server.account.delete('Work');
          rig.gateway.doubtFolders(rig.mailboxId);
          return await ask(connection);
        },
        true,
      );
      expect(messages).to.equal(1);
      server.account.create('Work');
    }
  });

  it(`never returns another message under an old id on Courier ${verifies('contract:4:made-anew')}`, async () => {
    await start(COURIER_LIKE, ['INBOX.Work']);
    rig.work();
    await synced();
    const folder = rig.folder('INBOX.Work');
    const [old] = await subjectsIn(folder);
    if (!old) throw new Error('nothing is there');
    server.account.delete(folder.path);
    server.account.create(folder.path);
    server.account.deliver({ raw: raw('another'), labels: [folder.path] });
    await rig.gateway.withMailbox(rig.mailboxId, 'interactive', async (mail) => {
      expect(await mail.fetch([old.ref], 'envelope', 100)).to.deep.equal([null]);
      expect(await mail.identify([old.ref])).to.deep.equal([null]);
      expect(await mail.readBytes(old.ref, null, 0, 100)).to.equal(null);
    });
    const [fresh] = await subjectsIn(folder);
    expect(fresh?.subject).to.equal('another');
    expect(fresh?.ref.uidValidity).to.not.equal(old.ref.uidValidity);
    expect(fresh?.ref.uid).to.equal(old.ref.uid);
  });
});

async function subjectsOfWork(own: ImapFlow): Promise<readonly unknown[]> {
  const { exists } = await own.mailboxOpen('Work', { readOnly: true });
  const messages = exists === 0 ? [] : await own.fetchAll('1:*', { envelope: true });
  return messages.map(({ envelope }) => envelope?.subject);
}

for (const [name, capability] of [
  ['all extensions', undefined],
  ['hardly any extension', BARE],
] as const) {
  describe(`a folder that is created anew under its name on a server with ${name}`, function () {
    this.timeout(60_000);

    it(`is indexed as the new one, also where a connection has the old one open ${verifies('contract:4:uidvalidity')}`, async function () {
      const dovecot = await requireTestDovecot(this, capability === undefined ? {} : { capability });
      const rig = await startSyncRig(dovecot.imap(), 'any');
      try {
        await rig.client((own) => own.mailboxCreate('Work'));
        rig.work();
        const isSame = async (): Promise<boolean> =>
          rig.entry().state === 'connected' && (await rig.differences()).length === 0;
        await eventually(isSame, 15_000);
        await rig.client((own) => own.append('Work', raw('first')));
        await eventually(isSame, 15_000);
        // A caller's connection has it open, too.
        await rig.gateway.withMailbox(rig.mailboxId, 'interactive', (mail) =>
          mail.query(queryOf({ folders: [rig.folder('Work')] })),
        );
        // The last time the folder is empty before and after: no count tells them apart.
        for (const content of [['second'], [], []]) {
          await rig.client(async (own) => {
            await own.mailboxDelete('Work');
            await own.mailboxCreate('Work');
            for (const each of content) await own.append('Work', raw(each));
          });
          // Dovecot can lose what is appended to a folder in the moment after its creation.
          if ((await rig.client(subjectsOfWork)).length < content.length)
            await rig.client(async (own) => {
              for (const each of content) await own.append('Work', raw(each));
            });
          await eventually(isSame, 15_000);
          const { messages } = await rig.gateway.withMailbox(rig.mailboxId, 'interactive', (mail) =>
            mail.query(queryOf({ folders: [rig.folder('Work')], depth: 'envelope' })),
          );
          expect(messages.map(({ subject }) => subject)).to.deep.equal(content);
        }
      } finally {
        await rig.close();
        await dovecot.dispose();
      }
    });
  });
}

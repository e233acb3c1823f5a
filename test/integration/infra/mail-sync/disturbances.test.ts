import { expect } from 'chai';
import fc from 'fast-check';
import type { ImapFlow } from 'imapflow';
import { BARE, NO_MOVE, requireTestDovecot, type TestDovecot } from '../../../support/servers/dovecot.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { isLong, timesOf } from '../../../support/suite/long.ts';
import { appendMessages } from '../../../support/servers/mail-append.ts';
import { type SyncRig, startSyncRig } from '../../../support/worlds/mail-sync-rig.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const mail = (id: string): string =>
  `From: Ann <ann@example.com>\r\nSubject: ${id}\r\nMessage-ID: <${id}@example.com>\r\n\r\nHello\r\n`;

const FOLDERS = ['INBOX', 'Archive', 'Junk', 'Work'] as const;
const FLAGS = ['\\Seen', '\\Flagged', '\\Deleted', '$Label'] as const;

const folder = fc.constantFrom(...FOLDERS);
/** Which message of the folder: counted from its first one, and round again. */
const nth = fc.nat(9);
const disturbance = fc.oneof(
  fc.record({ type: fc.constant('append' as const), folder }),
  fc.record({
    type: fc.constant('flag' as const),
    folder,
    nth,
    flag: fc.constantFrom(...FLAGS),
    add: fc.boolean(),
  }),
  fc.record({ type: fc.constant('expunge' as const), folder, nth }),
  fc.record({ type: fc.constant('move' as const), folder, nth, to: folder }),
  fc.record({ type: fc.constant('copy' as const), folder, nth, to: folder }),
  fc.record({ type: fc.constant('remake' as const), folder: fc.constantFrom('Archive', 'Work') }),
  fc.record({ type: fc.constant('rename' as const) }),
  fc.record({ type: fc.constant('kick' as const) }),
  fc.record({ type: fc.constant('restart' as const) }),
);
type Disturbance = ReturnType<typeof disturbance.generate>['value'];

const SERVERS = [
  { name: 'all extensions', capability: undefined },
  { name: 'no MOVE and no QRESYNC', capability: NO_MOVE },
  { name: 'hardly any extension', capability: BARE },
];

for (const { name, capability } of SERVERS) {
  describe(`random disturbances on a server with ${name}`, function () {
    this.timeout(timesOf(90_000, 600_000));
    let dovecot: TestDovecot;
    let rig: SyncRig;
    let serial = 0;

    before(async function () {
      dovecot = await requireTestDovecot(this, capability === undefined ? {} : { capability });
      await appendMessages(
        dovecot.imap(),
        'any',
        FOLDERS.flatMap((each) =>
          ['a', 'b', 'c'].map((id) => ({ folder: each, raw: mail(`${each}-${id}`) })),
        ),
      );
      rig = await startSyncRig(dovecot.imap(), 'any');
    });
    after(async () => {
      await rig.close();
      await dovecot.dispose();
    });

    const onMessage = async (
      own: ImapFlow,
      { folder: path, nth: at }: { readonly folder: string; readonly nth: number },
      work: (uid: string) => Promise<unknown>,
    ): Promise<void> => {
      const { exists } = await own.mailboxOpen(path);
      const uids = exists === 0 ? [] : await own.search({ all: true }, { uid: true });
      if (uids && uids.length > 0) await work(String(uids[at % uids.length]));
    };

    const disturb = async (own: ImapFlow, each: Disturbance, restart: () => Promise<void>): Promise<void> => {
      switch (each.type) {
        case 'append':
          serial += 1;
          await own.append(each.folder, mail(`new-${String(serial)}`), []);
          return;
        case 'flag':
          await onMessage(own, each, (uid) =>
            each.add
              ? own.messageFlagsAdd(uid, [each.flag], { uid: true })
              : own.messageFlagsRemove(uid, [each.flag], { uid: true }),
          );
          return;
        case 'expunge':
          await onMessage(own, each, (uid) => own.messageDelete(uid, { uid: true }));
          return;
        case 'move':
          await onMessage(own, each, async (uid) => {
            if (each.to !== each.folder) await own.messageMove(uid, each.to, { uid: true });
          });
          return;
        case 'copy':
          await onMessage(own, each, (uid) => own.messageCopy(uid, each.to, { uid: true }));
          return;
        case 'remake':
          await own.mailboxClose();
          await own.mailboxDelete(each.folder);
          await own.mailboxCreate(each.folder);
          return;
        case 'rename':
          await own.mailboxClose();
          await own.mailboxRename('Work', 'Elsewhere');
          await own.mailboxRename('Elsewhere', 'Work');
          return;
        case 'kick':
          await dovecot.kick('any').catch(() => undefined);
          return;
        case 'restart':
          await restart();
      }
    };

    it(`leave the index equal to the mailbox and report no arrival twice ${verifies('contract:11:feed', 'contract:4:uidvalidity')}`, async () => {
      let end = rig.work({ compareEveryMs: 400 });
      const restart = async (): Promise<void> => {
        await end();
        end = rig.work({ compareEveryMs: 400 });
      };
      await eventually(() => rig.entry().state === 'connected');
      const property = fc.asyncProperty(
        fc.array(disturbance, { minLength: 5, maxLength: 15 }),
        async (all) => {
          for (const each of all) {
            // A kick ends the other client, too.
            await rig
              .client((own) => disturb(own, each, restart))
              .catch((error: unknown) => {
                if (each.type !== 'kick') throw error;
              });
          }
          await eventually(async () => (await rig.differences()).length === 0, 10_000).catch(async () => {
            expect((await rig.differences()).join('; '), JSON.stringify(all)).to.equal('');
          });
          const arrivals = rig.told().filter(({ kind }) => kind === 'received');
          expect(new Set(arrivals.map(({ locator }) => locator)).size).to.equal(arrivals.length);
        },
      );
      await fc.assert(property, { numRuns: timesOf(4, 60), endOnFailure: !isLong });
    });
  });
}

import { expect } from 'chai';
import type { FolderAvailability, MailboxEntry } from '../../../../commands/kernel/directory.ts';
import type { OperationReply } from '../../../../commands/operations/operation.ts';
import { TargetSweeper } from '../../../../infra/background/target-sweeper.ts';
import { approvals } from '../../../../projections/approvals.ts';
import { WORLD_NOW } from '../../../support/access-world.ts';
import { type CheckRig, checkRig } from '../../../support/check-rig.ts';
import { type FolderPath, FOLDERS } from '../../../support/operation-rig.ts';
import { verifies } from '../../../support/verifies.ts';
import { openRig, type Rig } from '../projector/projector-rig.ts';

describe('checks about messages of a folder that changed, on a log and a database', () => {
  let home: Rig;
  let rig: CheckRig;
  let settle: () => Promise<void>;
  let sweeper: TargetSweeper;
  /** Each case has its own hour. */
  let begin = 0;
  before(async () => {
    home = await openRig();
    rig = checkRig();
    rig.person('usr_boss', 'owner');
    const projector = await home.start({ events: rig.events, projections: [approvals] });
    settle = async () => {
      await projector.readModels.waitFor(await rig.events.headPosition(), 3_000);
    };
  });
  after(async () => {
    await home[Symbol.asyncDispose]();
  });

  const newSweeper = () => new TargetSweeper({ ...rig.ports, sql: home.sql });
  const at = (seconds: number): Date => new Date(WORLD_NOW.getTime() + (begin + seconds) * 1_000);
  beforeEach(() => {
    begin += 3_600;
    rig.at(begin);
    sweeper = newSweeper();
  });

  /** The folder was looked at, so many seconds after the beginning. */
  const copied = async (path: FolderPath, seconds: number): Promise<void> => {
    const { uidValidity } = rig.mailbox.folder(path);
    await home.sql.query(
      `insert into mirror.folder (mailbox_number, folder_number, uid_validity, uid_next, indexed_from, total, checked_at)
       values (0, $1, $2, 1, 1, 0, $3)
       on conflict (mailbox_number, folder_number) do update set uid_validity = excluded.uid_validity, checked_at = excluded.checked_at`,
      [FOLDERS.indexOf(path) + 1, uidValidity, at(seconds)],
    );
  };
  const numberAnew = (path: FolderPath): void => {
    const folder = rig.mailbox.folder(path);
    folder.messages.clear();
    Object.assign(folder, { uidValidity: folder.uidValidity + 1 });
  };
  const tell = (path: FolderPath, availability: FolderAvailability): void => {
    const mailboxes = rig.ports.directory.state.mailboxes as Map<string, MailboxEntry>;
    const entry = mailboxes.get('mbx_0');
    if (!entry) throw new Error('no mailbox');
    const folders = entry.folders.map((each) => (each.path === path ? { ...each, availability } : each));
    mailboxes.set('mbx_0', { ...entry, folders });
  };
  const ask = async (...paths: readonly FolderPath[]): Promise<OperationReply> => {
    const reply = await rig.ask(
      paths.map((path) => rig.arrive(path)),
      'archive',
    );
    await settle();
    return reply;
  };
  const sweep = async (seconds: number, by = sweeper): Promise<void> => {
    rig.at(begin + seconds);
    await by.sweep();
    await settle();
  };
  const endOf = async (check: OperationReply): Promise<string | null> => {
    const { approval } = await rig.stateOf(check);
    return approval?.invalidated?.reason ?? approval?.end ?? null;
  };

  it(`end when it is numbered anew, and no others do ${verifies('contract:4:reset-invalidates')}`, async () => {
    const inbox = await ask('INBOX');
    const both = await ask('Work', 'INBOX');
    const work = await ask('Work');
    await copied('INBOX', 1);
    await copied('Work', 1);
    await sweep(2);
    expect(await Promise.all([inbox, both, work].map(endOf))).to.deep.equal([null, null, null]);
    numberAnew('INBOX');
    await copied('INBOX', 3);
    await sweep(4);
    const ends = [await endOf(inbox), await endOf(both), await endOf(work)];
    expect(ends).to.deep.equal(['targets_gone', 'targets_gone', null]);
    expect((await rig.typesOf(inbox)).at(-1)).to.equal('ApprovalInvalidated');
  });

  it(`end when it is gone ${verifies('contract:4:reset-invalidates')}`, async () => {
    const junk = await ask('Junk');
    const inbox = await ask('INBOX');
    await sweep(1);
    tell('Junk', 'missing');
    await sweep(2);
    expect([await endOf(junk), await endOf(inbox)]).to.deep.equal(['targets_gone', null]);
  });

  it('end where nobody ran when it changed, and where they became known later', async () => {
    await copied('Trash', 0);
    const early = await ask('Trash');
    const late = await ask('Trash');
    numberAnew('Trash');
    await copied('Trash', 1);
    await home.sql.query(`update read.approval set ended = 'x' where id = $1`, [late.approval?.id]);
    await sweep(2, newSweeper());
    expect(await endOf(early)).to.equal('targets_gone');
    await sweep(3);
    await home.sql.query(`update read.approval set ended = null where id = $1`, [late.approval?.id]);
    await sweep(30);
    expect(await endOf(late), 'nothing changed since').to.equal(null);
    await sweep(63);
    expect(await endOf(late)).to.equal('targets_gone');
  });

  it('stay when the copy is behind what they were asked for with', async () => {
    await copied('Trash', 0);
    numberAnew('Trash');
    rig.at(begin + 5);
    const check = await ask('Trash');
    await sweep(6);
    expect(await endOf(check)).to.equal(null);
    await copied('Trash', 7);
    await sweep(8);
    expect(await endOf(check)).to.equal(null);
  });
});

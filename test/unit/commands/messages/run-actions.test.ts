import { expect } from 'chai';
import { actOnEmail } from '../../../../commands/email/act-on-email.ts';
import { type OperationRig, operationRig } from '../../../support/worlds/operation-rig.ts';
import { verifies } from '../../../support/suite/verifies.ts';

describe('running message actions', () => {
  let rig: OperationRig;
  beforeEach(() => {
    rig = operationRig();
  });

  const act = async (ids: readonly string[], ...actions: object[]) => {
    const operation = { type: 'message_actions', select: { message_ids: ids }, actions };
    return await rig.reply(actOnEmail, { operation });
  };
  const flagsOf = (path: 'INBOX' | 'Archive', uid: number) => [
    ...(rig.mailbox.folder(path).messages.get(uid)?.flags ?? []),
  ];

  it(`runs the actions in order on each message, with one command per folder ${verifies('contract:6:action-types', 'contract:10:outcomes')}`, async () => {
    const ids = [rig.arrive('INBOX'), rig.arrive('Work'), rig.arrive('INBOX')];
    const { status, results, summary } = await act(
      ids,
      { type: 'set_flags', seen: true },
      { type: 'copy', folder: 'Junk' },
      { type: 'archive' },
    );
    expect(rig.mailbox.commands).to.deep.equal([
      'flags INBOX 1,2', 'flags Work 1', 'copy INBOX 1,2', 'copy Work 1', 'move INBOX 1,2', 'move Work 1',
    ]); // prettier-ignore
    expect(status).to.equal('completed');
    expect(results.map(({ message_id, action, outcome }) => [message_id, action, outcome])).to.deep.equal(
      ids.flatMap((id) => [
        [id, 'set_flags', 'done'],
        [id, 'copy', 'done'],
        [id, 'archive', 'done'],
      ]),
    );
    expect(summary).to.deep.equal({ done: 9, failed: 0, unknown: 0 });
    expect(results.filter(({ action }) => action === 'archive').map(({ new_message_id }) => new_message_id)).to.deep.equal([
      rig.idOf('Archive', 1), rig.idOf('Archive', 3), rig.idOf('Archive', 2),
    ]); // prettier-ignore
    expect(flagsOf('Archive', 1)).to.deep.equal(['\\Seen']);
  });

  it(`fails a message with a stale id and continues with the others ${verifies('contract:4:stale-in-list', 'contract:6:completed-with-failures')}`, async () => {
    const ids = [rig.idOf('INBOX', 77), rig.arrive('INBOX')];
    const { status, results, summary } = await act(
      ids,
      { type: 'set_flags', flagged: true },
      { type: 'trash' },
    );
    expect(status).to.equal('completed');
    expect(results.map(({ outcome }) => outcome)).to.deep.equal(['failed', 'skipped', 'done', 'done']);
    expect(results[0]?.error).to.include({ code: 'message_stale' });
    expect(summary).to.deep.equal({ done: 2, failed: 1, unknown: 0 });
    expect((await act([rig.idOf('INBOX', 77)], { type: 'trash' })).status).to.equal('completed');
  });

  it('leaves a message in place, with a valid id, when it is there already', async () => {
    const id = rig.arrive('Archive');
    const { results } = await act([id], { type: 'archive' });
    expect(results).to.deep.equal([
      { message_id: id, action: 'archive', outcome: 'done', new_message_id: id },
    ]);
    expect(rig.mailbox.commands).to.deep.equal([]);
  });

  it('skips the later actions when an outcome is unknown', async () => {
    const id = rig.arrive('INBOX');
    rig.mailbox.loss = { at: 0, isDone: true, of: 'connection' };
    const { results, summary } = await act([id], { type: 'copy', folder: 'Work' }, { type: 'trash' });
    expect(results.map(({ outcome }) => outcome)).to.deep.equal(['unknown', 'skipped']);
    expect(summary).to.deep.equal({ done: 0, failed: 0, unknown: 1 });
    expect(rig.mailbox.commands).to.deep.equal(['copy INBOX 1']);
  });

  it('fails with message_stale when the message disappeared between two actions', async () => {
    const id = rig.arrive('INBOX');
    const setFlags = rig.mailbox.setFlags.bind(rig.mailbox);
    rig.mailbox.setFlags = async (...command) => {
      const outcomes = await setFlags(...command);
      rig.mailbox.folder('INBOX').messages.clear();
      return outcomes;
    };
    const { results } = await act([id], { type: 'set_flags', seen: true }, { type: 'trash' });
    expect(results.map(({ outcome }) => outcome)).to.deep.equal(['done', 'failed']);
    expect(results[1]?.error).to.include({ code: 'message_stale' });
  });
});

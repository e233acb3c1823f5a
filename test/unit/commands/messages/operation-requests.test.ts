import { expect } from 'chai';
import { actOnEmail } from '../../../../commands/email/act-on-email.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import { copyMessages, moveMessages, setFlags } from '../../../../commands/messages/act-on-messages.ts';
import { settleOperation } from '../../../../commands/messages/reconcile-operation.ts';
import { memoryLeases } from '../../../support/worlds/memory-gateway.ts';
import { type FolderPath, type OperationRig, operationRig } from '../../../support/worlds/operation-rig.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

describe('submitOperation', () => {
  let rig: OperationRig;
  beforeEach(() => {
    rig = operationRig();
  });

  const acting = (ids: readonly string[], rest: object = {}, ...actions: object[]) => ({
    operation: {
      type: 'message_actions',
      select: { message_ids: ids },
      actions: actions.length === 0 ? [{ type: 'archive' }] : actions,
    },
    ...rest,
  });
  /** The refusal. Nothing was appended and nothing ran. */
  const refusal = async (work: Promise<unknown>): Promise<Error> => {
    const error = await rejection(work);
    expect(rig.events.all).to.deep.equal([]);
    expect(rig.mailbox.commands).to.deep.equal([]);
    expect(rig.leaseTable.size).to.equal(0);
    return error;
  };
  const types = () => rig.events.all.map(({ type }) => type);

  it('records the intent before the effect and the outcome after it', async () => {
    const id = rig.arrive('INBOX');
    const move = rig.mailbox.moveMessages.bind(rig.mailbox);
    let before: string[] = [];
    rig.mailbox.moveMessages = (...command) => {
      before = types();
      return move(...command);
    };
    const { output, position } = await rig.invoke(actOnEmail, acting([id]));
    expect(before).to.deep.equal(['OperationSubmitted', 'OperationDecided', 'ActionsIntended']);
    expect(types()).to.deep.equal([...before, 'ActionOutcomesRecorded', 'OperationCompleted']);
    expect(position).to.equal(rig.events.all.at(-1)?.position);
    expect(output).to.deep.include({
      status: 'completed',
      operation_id: rig.events.all[0]?.streamName.replace('operation-', ''),
    });
    expect(rig.events.all[0]?.data).to.include({ run_id: 'run_1', mailbox_id: 'mbx_0' });
    expect(rig.leaseTable.size).to.equal(0);
  });

  it(`runs and records nothing when the cardinality is violated, and leaves the key free ${verifies('contract:6:cardinality', 'contract:6:cardinality-counts', 'contract:6:cardinality-bounds')}`, async () => {
    const ids = [rig.arrive('INBOX'), rig.arrive('INBOX'), rig.idOf('INBOX', 99)];
    for (const cardinality of [{ max: 2 }, { min: 4 }, { max: 0 }]) {
      const error = await refusal(rig.invoke(actOnEmail, acting(ids, { cardinality }), 'key'));
      expect(error).to.include({ code: 'cardinality_violation' });
      expect(error).to.have.nested.property('details.count', 3);
      expect(error.message)
        .to.contain('Nothing was changed.')
        .and.match(/message_ids|Query/);
    }
    const none = rig.invoke(actOnEmail, acting(ids, { cardinality: { min: 2, max: 1 } }), 'key');
    expect(await refusal(none)).to.include({ code: 'invalid_request' });
    const { output, replayed } = await rig.invoke(
      actOnEmail,
      acting(ids, { cardinality: { min: 3, max: 3 } }),
      'key',
    );
    expect({ replayed, output }).to.have.nested.property('output.status', 'completed');
    expect(replayed).to.equal(false);
  });

  it(`treats foreign, forged and misplaced ids as unknown and runs nothing ${verifies('contract:6:foreign-id', 'contract:1:locator-mailbox', 'contract:1:locator-forged')}`, async () => {
    const id = rig.arrive('INBOX');
    const place = { folderNumber: 1, uidValidity: 1000, uid: 1 };
    const foreign = [
      rig.ports.locators.message({ ...place, mailboxNumber: 1 }),
      rig.ports.locators.message({ ...place, mailboxNumber: 0, folderNumber: 99 }),
      operationRig().arrive('INBOX'),
      `${id.slice(0, -1)}${id.endsWith('0') ? '1' : '0'}`,
      'msg_nonsense',
      rig.ports.locators.folder(0, 1),
    ];
    for (const other of foreign) {
      expect(await refusal(rig.invoke(actOnEmail, acting([id, other]))), other).to.include({
        code: 'not_found',
      });
    }
  });

  it(`refuses an invalid combination of actions with its path ${verifies('contract:6:relocating-last', 'contract:6:declarative')}`, async () => {
    const id = rig.arrive('INBOX');
    const pathOf = async (input: object): Promise<unknown> => {
      const error = await refusal(rig.invoke(actOnEmail, input));
      if (!(error instanceof GatewayError)) throw error;
      expect(error.code).to.equal('invalid_request');
      return (error.details['issues'] as { path: string }[])[0]?.path;
    };
    expect(await pathOf(acting([id], {}, { type: 'archive' }, { type: 'set_flags', seen: true }))).to.equal(
      'operation.actions.0',
    );
    expect(await pathOf(acting([id], {}, { type: 'set_flags' }))).to.equal('operation.actions.0');
    expect(await pathOf(acting([id, id]))).to.equal('operation.select.message_ids');
    const declared = (select: object, cardinality?: object) => ({
      operation: { type: 'message_actions', select, actions: [{ type: 'archive' }] },
      ...(cardinality && { cardinality }),
    });
    expect(await pathOf(declared({ filter: { seen: true } }))).to.equal('cardinality.max');
    expect(await pathOf(declared({}))).to.equal('operation.select');
    expect(await pathOf(declared({ message_ids: [id], folder: 'inbox' }))).to.equal('operation.select');
    for (const field of ['limit', 'cursor', 'order_by']) {
      expect(await pathOf(declared({ folder: 'inbox', [field]: 1 }, { max: 5 }))).to.equal(
        `operation.select.${field}`,
      );
    }
    expect(await pathOf(declared({ message_ids: [id], mailbox_id: 'mbx_1' }))).to.equal(
      'operation.select.mailbox_id',
    );
  });

  it(`requires a key when a repeat would do harm ${verifies('contract:14:required')}`, async () => {
    const id = rig.arrive('INBOX');
    expect(await refusal(rig.invoke(actOnEmail, acting([id]), null))).to.include({
      code: 'idempotency_key_required',
    });
    const copy = { message_ids: [id], folder: 'Work' };
    expect(await refusal(rig.invoke(copyMessages, copy, null))).to.include({
      code: 'idempotency_key_required',
    });
    expect(await rig.reply(setFlags, { message_ids: [id], seen: true }, null)).to.include({
      status: 'completed',
    });
  });

  it(`replays the outcome when the key is repeated ${verifies('contract:14:no-second-effect', 'contract:14:replayed')}`, async () => {
    const id = rig.arrive('INBOX');
    const copy = { message_ids: [id], folder: 'Work' };
    const first = await rig.invoke(copyMessages, copy, 'key');
    const again = await rig.invoke(copyMessages, copy, 'key');
    expect(again).to.deep.include({
      replayed: true,
      output: { ...(first.output as object), original_status: 'completed' },
    });
    expect(rig.mailbox.commands).to.deep.equal(['copy INBOX 1']);
    const other = rig.invoke(copyMessages, { ...copy, folder: 'Junk' }, 'key');
    expect(await rejection(other)).to.include({ code: 'idempotency_key_reused' });
    const elsewhere = rig.invoke(moveMessages, copy, 'key');
    expect(await rejection(elsewhere)).to.include({ code: 'idempotency_key_reused' });
  });

  it(`has one effect when ten equal requests arrive at once ${verifies('contract:14:one-winner')}`, async () => {
    const id = rig.arrive('INBOX');
    const copy = { message_ids: [id], folder: 'Work' };
    const sent = await Promise.allSettled(
      Array.from({ length: 10 }, () => rig.invoke(copyMessages, copy, 'key')),
    );
    expect(rig.mailbox.commands).to.deep.equal(['copy INBOX 1']);
    expect(sent.filter((one) => one.status === 'fulfilled' && !one.value.replayed)).to.have.length(1);
    const refused = sent.flatMap((one) =>
      one.status === 'rejected' ? [(one.reason as GatewayError).code] : [],
    );
    expect(refused.filter((code) => code !== 'idempotency_in_progress')).to.deep.equal([]);
    expect(rig.leaseTable.size).to.equal(0);
  });

  it('answers idempotency_in_progress when another process is about to start', async () => {
    const input = { message_ids: [rig.arrive('INBOX')], folder: 'Work' };
    const name = rig.ports.ids.idForKey('opn', 'org_1', 'usr_1', 'key');
    rig.leaseTable.set(name, 'run_2');
    expect(await rejection(rig.invoke(copyMessages, input, 'key'))).to.include({
      code: 'idempotency_in_progress',
    });
    expect(rig.leaseTable.get(name)).to.equal('run_2');
    expect(rig.mailbox.commands).to.deep.equal([]);
  });

  it(`limits a grant to its folder roles, for source and destination ${verifies('contract:3:grant-folders', 'contract:3:folder-unknown')}`, async () => {
    rig = operationRig({ folderRoles: ['inbox', 'archive'] });
    const move = (from: FolderPath, folder: string) =>
      rig.invoke(moveMessages, { message_ids: [rig.arrive(from)], folder });
    for (const [from, to, code] of [
      ['INBOX', 'trash', 'folder_role_missing'],
      ['Trash', 'inbox', 'not_found'],
      ['INBOX', 'Work', 'not_found'],
      ['Work', 'archive', 'not_found'],
    ] as const) {
      expect(await refusal(move(from, to)), `${from} → ${to}`).to.include({ code });
    }
    expect(await refusal(move('INBOX', 'Wrk'))).to.deep.equal(await refusal(move('INBOX', 'Work')));
    expect((await move('INBOX', 'archive')).output).to.include({ status: 'completed' });
  });

  it('requires the scope of every action', async () => {
    rig = operationRig({ scopes: ['messages:read', 'messages:archive'] });
    const id = rig.arrive('INBOX');
    const error = await refusal(
      rig.invoke(actOnEmail, acting([id], {}, { type: 'set_flags', seen: true }, { type: 'trash' })),
    );
    expect(error).to.include({ code: 'insufficient_scope' });
    expect(error).to.have.deep.nested.property('details.required', ['messages:flag', 'messages:trash']);
  });

  it(`describes what would happen when the mode is preview, and changes nothing ${verifies('contract:6:status-preview', 'contract:6:preview-mode')}`, async () => {
    const ids = [rig.arrive('INBOX'), rig.idOf('INBOX', 9)];
    const input = acting(
      ids,
      { authorization: { mode: 'preview' } },
      { type: 'set_flags', seen: true },
      { type: 'archive' },
    );
    const { preview, ...reply } = await rig.reply(actOnEmail, input, null);
    expect(reply).to.deep.equal({ status: 'preview', results: [] });
    expect(preview?.policy).to.deep.equal({ decision: 'allow', rule_id: 'default.reversible', version: 0 });
    expect(preview?.items.map(({ stale }) => stale)).to.deep.equal([false, true]);
    expect([preview?.count, preview?.items[0]?.subject]).to.deep.equal([2, 'A subject']);
    expect(preview?.items[0]?.actions).to.deep.equal([
      { type: 'set_flags', flags_add: ['\\Seen'], flags_remove: [] },
      { type: 'archive', folder: rig.ports.locators.folder(0, 2) },
    ]);
    expect(rig.events.all).to.deep.equal([]);
    expect(rig.mailbox.commands).to.deep.equal([]);
    expect((await rig.reply(actOnEmail, input, null)).preview?.content_hash).to.equal(preview?.content_hash);
  });

  it(`leaves no operation and a free key when the mailbox is unavailable ${verifies('contract:6:resolved-first')}`, async () => {
    const id = rig.arrive('INBOX');
    rig.mail.failure = new GatewayError('mailbox_unavailable', 'The mail server is away.');
    expect(await refusal(rig.invoke(actOnEmail, acting([id]), 'key'))).to.include({
      code: 'mailbox_unavailable',
    });
    rig.mail.failure = null;
    expect((await rig.invoke(actOnEmail, acting([id]), 'key')).replayed).to.equal(false);
  });

  it('finds the effect done by the same key when the store failed after it', async () => {
    const id = rig.arrive('INBOX');
    const move = rig.mailbox.moveMessages.bind(rig.mailbox);
    rig.mailbox.moveMessages = (...command) => {
      rig.events.away = true;
      return move(...command);
    };
    expect(await rejection(rig.invoke(actOnEmail, acting([id]), 'key'))).to.include({
      code: 'store_unavailable',
    });
    rig.events.comeBack();
    expect((await rig.invoke(actOnEmail, acting([id]), 'key')).output).to.have.nested.property(
      'results[0].outcome',
      'done',
    );
    expect(rig.mailbox.commands).to.deep.equal(['move INBOX 1']);
  });

  it(`does nothing more when another process settled the operation meanwhile, and returns its outcome ${verifies('contract:10:lease')}`, async () => {
    const id = rig.arrive('INBOX');
    const move = rig.mailbox.moveMessages.bind(rig.mailbox);
    const operationId = rig.ports.ids.idForKey('opn', 'org_1', 'usr_1', 'key');
    rig.mailbox.moveMessages = async (...command) => {
      rig.leaseTable.delete(operationId);
      const other = { ...rig.ports, leases: memoryLeases('run_2', rig.leaseTable) };
      expect(await settleOperation(other, { operationId, orgId: 'org_1' })).to.equal('settled');
      return await move(...command);
    };
    const { output } = await rig.invoke(actOnEmail, acting([id]), 'key');
    expect(output).to.have.nested.property('results[0].outcome', 'failed');
    expect(types().filter((type) => type === 'ActionOutcomesRecorded')).to.have.length(1);
    expect(rig.mailbox.commands, 'nothing was done after the judgement').to.deep.equal([]);
  });

  it('is settled by the sweep when its process is gone, not before', async () => {
    const id = rig.arrive('INBOX');
    const operationId = rig.ports.ids.idForKey('opn', 'org_1', 'usr_1', 'key');
    rig.mailbox.loss = { at: 0, isDone: true, of: 'process' };
    await rejection(rig.invoke(actOnEmail, acting([id]), 'key'));
    rig.leaseTable.set(operationId, 'run_2');
    const sweep = () => settleOperation(rig.ports, { operationId, orgId: 'org_1' });
    expect(await sweep(), 'it still runs').to.equal('held');
    rig.leaseTable.delete(operationId);
    rig.mail.failure = new GatewayError('mailbox_unavailable', 'The mail server is away.');
    expect(await rejection(sweep())).to.include({ code: 'mailbox_unavailable' });
    rig.mail.failure = null;
    expect(await sweep()).to.equal('settled');
    expect(rig.leaseTable.size).to.equal(0);
    expect(rig.events.all.at(-1)?.metadata['actor']).to.include({ type: 'system' });
  });
});

import { expect } from 'chai';
import { actOnEmail } from '../../../../commands/email/act-on-email.ts';
import type { Caller } from '../../../../commands/kernel/access.ts';
import type { MailboxEntry } from '../../../../commands/ports/directory.ts';
import type { MailboxScope, Role } from '../../../../commands/values/scopes.ts';
import type { Operation } from '../../../../read-api/operations/operation-view.ts';
import { resolveOperation } from '../../../../read-api/operations/resolve-route.ts';
import { type ApprovalRig, approvalRig } from '../../../support/worlds/approval-rig.ts';
import { happened, sampleAuthor } from '../../../support/samples/event-author.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { SAMPLE_EVENTS } from '../../../support/samples/sample-events.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const reason = 'I looked into the mailbox.';

describe('operation_resolve', () => {
  let rig: ApprovalRig;
  let id: string;

  /** A person signed in, with these scopes on the mailbox. */
  const person = (role: Role, ...scopes: readonly MailboxScope[]): Caller => ({
    ...rig.person(`usr_${role}`, role),
    mailboxes: new Map([['mbx_0', { scopes: new Set(scopes), folderRoles: null, quotas: null }]]),
  });
  /** The requester, signed in. */
  const requester = (): Caller => ({
    ...rig.person(rig.caller.principal.id, 'member'),
    mailboxes: rig.caller.mailboxes,
  });
  const resolve = async (by: Caller, outcome = 'done', key?: string) =>
    await rig.invokeAs(by, resolveOperation, { operation_id: id, outcome, reason }, key);
  const refused = async (by: Caller): Promise<unknown> => await rejection(resolve(by));

  /** The outcome for a message without a Message-ID stays unknown when the connection breaks. */
  beforeEach(async () => {
    rig = approvalRig();
    rig.sql.rows.set('read.audit', []);
    const select = { message_ids: [rig.arrive('INBOX', null)] };
    rig.mailbox.loss = { at: 0, isDone: true, of: 'connection' };
    const operation = { type: 'message_actions', select, actions: [{ type: 'trash' }] };
    id = (await rig.reply(actOnEmail, { operation })).operation_id ?? '';
  });

  it(`settles an unknown operation, and returns it ${verifies('contract:17:resolve')}`, async () => {
    for (const [outcome, state, counts] of [
      ['done', 'completed', { done: 1, failed: 0, unknown: 0 }],
      ['not_done', 'failed', { done: 0, failed: 1, unknown: 0 }],
    ] as const) {
      const before = await rig.events.readStream(`operation-${id}`);
      const { output, position } = await resolve(requester(), outcome);
      expect(output).to.deep.include({ operation_id: id, state, status: 'completed', summary: counts });
      const added = (await rig.events.readStream(`operation-${id}`)).slice(before.length);
      expect(added.map(({ type }) => type)).to.deep.equal(['OperationResolved', 'ActionsReconciled']);
      expect(position).to.equal(added.at(-1)?.position);
      expect(added[0]?.metadata).to.have.nested.property('actor.type', 'person');
      expect(await refused(requester())).to.include({ code: 'conflict' });
      rig.mailbox.loss = { at: 1, isDone: true, of: 'connection' };
      const select = { message_ids: [rig.arrive('INBOX', null)] };
      const operation = { type: 'message_actions', select, actions: [{ type: 'trash' }] };
      id = (await rig.reply(actOnEmail, { operation })).operation_id ?? '';
    }
  });

  it(`replays the answer when the key is repeated, and records nothing ${verifies('contract:17:resolve')}`, async () => {
    await resolve(requester(), 'done', 'key');
    const written = rig.events.all.length;
    const again = await resolve(requester(), 'done', 'key');
    expect(again.replayed).to.equal(true);
    expect((again.output as Operation).state).to.equal('completed');
    expect(rig.events.all).to.have.length(written);
    expect(await rejection(resolve(requester(), 'not_done', 'key'))).to.include({
      code: 'idempotency_key_reused',
    });
  });

  it(`requires a person in a stepped-up session ${verifies('contract:10:resolve-session')}`, async () => {
    expect(await refused(rig.caller)).to.include({ code: 'insufficient_scope' });
    const longAgo = { id: 'ses_old', steppedUpUntil: '2026-01-01T00:00:00.000Z' };
    expect(await refused({ ...requester(), session: longAgo })).to.include({ code: 'step_up_required' });
    expect(await refused({ ...requester(), session: { ...longAgo, steppedUpUntil: null } })).to.include({
      code: 'step_up_required',
    });
  });

  it(`is allowed for those who see the operation and hold its scopes, and for owners and admins ${verifies('contract:10:resolve-who')}`, async () => {
    expect(await refused(person('member', 'messages:trash'))).to.include({ code: 'not_found' });
    for (const role of ['approver', 'member', 'auditor'] as const) {
      const error = await refused(person(role, 'messages:read', 'messages:move'));
      expect(error).to.deep.include({
        code: 'insufficient_scope',
        details: { required: ['messages:trash'] },
      });
    }
    expect((await rig.events.readStream(`operation-${id}`)).map(({ type }) => type)).to.not.include(
      'OperationResolved',
    );
    const { output } = await resolve(person('admin', 'messages:read'));
    expect(output).to.include({ state: 'completed' });
    expect(await rejection(resolve(person('member', 'messages:read', 'messages:trash')))).to.include({
      code: 'conflict',
    });
  });

  it(`is allowed for the requester when the mailbox is removed ${verifies('contract:10:resolve-who')}`, async () => {
    const bereft = { ...requester(), mailboxes: new Map() };
    expect(await refused(bereft)).to.include({ code: 'insufficient_scope' });
    const mailboxes = rig.ports.directory.state.mailboxes as Map<string, MailboxEntry>;
    const entry = mailboxes.get('mbx_0');
    if (entry) mailboxes.set('mbx_0', { ...entry, state: 'removed' });
    expect((await resolve(bereft)).output).to.include({ state: 'completed' });
  });

  it(`requires drafts:send when the operation is a send ${verifies('contract:10:resolve-who', 'contract:10:resolve')}`, async () => {
    const { OperationSubmitted, SendIntended, SendOutcomeRecorded } = SAMPLE_EVENTS;
    const { DraftStarted, DraftFrozen, SendStarted, SendDataBegun, DraftSendUnknown } = SAMPLE_EVENTS;
    const mailbox = { mailbox_id: 'mbx_0' };
    id = 'opn_1';
    const author = sampleAuthor('org_1');
    await happened(
      rig.events,
      'draft-drf_1',
      [
        { type: 'DraftStarted', data: { ...DraftStarted, ...mailbox } },
        { type: 'DraftFrozen', data: DraftFrozen },
        { type: 'SendStarted', data: SendStarted },
        { type: 'SendDataBegun', data: SendDataBegun },
        { type: 'DraftSendUnknown', data: DraftSendUnknown },
      ],
      author,
    );
    await happened(
      rig.events,
      'operation-opn_1',
      [
        { type: 'OperationSubmitted', data: { ...OperationSubmitted, ...mailbox, targets: [] } },
        { type: 'SendIntended', data: { ...SendIntended, ...mailbox } },
        { type: 'SendOutcomeRecorded', data: SendOutcomeRecorded },
        { type: 'OperationCompleted', data: { summary: { done: 0, failed: 0, unknown: 1 } } },
      ],
      author,
    );
    const error = await refused(person('member', 'drafts:read', 'messages:trash'));
    expect(error).to.deep.include({ code: 'insufficient_scope', details: { required: ['drafts:send'] } });
    const { output } = await resolve(person('member', 'drafts:read', 'drafts:send'), 'not_done');
    expect(output).to.deep.include({ state: 'failed', draft_id: 'drf_1' });
  });

  it(`refuses an operation without an outcome, and an unknown id, before the key is claimed ${verifies('contract:17:resolve')}`, async () => {
    const waiting = (await rig.ask([rig.arrive('INBOX')], 'trash', 'prepare')).operation_id ?? '';
    const doubtful = id;
    for (const [other, code] of [
      ['opn_none', 'not_found'],
      [waiting, 'conflict'],
    ] as const) {
      id = other;
      expect(await rejection(resolve(requester(), 'done', 'free'))).to.include({ code });
    }
    id = doubtful;
    expect((await resolve(requester(), 'done', 'free')).replayed).to.equal(false);
    const missing = { operation_id: id, outcome: 'done', reason: ' ' };
    expect(await rejection(rig.invokeAs(requester(), resolveOperation, missing))).to.include({
      code: 'invalid_request',
    });
  });
});

import { expect } from 'chai';
import { loadAggregate } from '../../../../commands/kernel/decide-and-append.ts';
import { sealEnvelope } from '../../../../commands/drafts/draft-envelope.ts';
import { draft } from '../../../../commands/drafts/draft.ts';
import type { Caller } from '../../../../commands/kernel/access.ts';
import type { Capability } from '../../../../commands/kernel/capability.ts';
import type { FolderRole } from '../../../../commands/values/folder-roles.ts';
import type { MailboxScope, Scope } from '../../../../commands/values/scopes.ts';
import { previewApproval, getApproval } from '../../../../read-api/approvals/read-approvals.ts';
import { readDraft, readDraftContent, listDrafts } from '../../../../read-api/drafts/read-drafts.ts';
import { getOperation, listOperations } from '../../../../read-api/operations/read-operations.ts';
import { type ApprovalRig, approvalRig } from '../../../support/worlds/approval-rig.ts';
import { happened, sampleAuthor } from '../../../support/samples/event-author.ts';
import { SAMPLE_EVENTS } from '../../../support/samples/sample-events.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const DRAFT = 'drf_00000000000000000000000001';
const READS: readonly MailboxScope[] = ['messages:read', 'drafts:read'];

describe('reading of operations, approvals and drafts', () => {
  let rig: ApprovalRig;
  beforeEach(() => {
    rig = approvalRig();
    rig.sql.rows.set('read.audit', []);
    rig.sql.rows.set('read.approval', []);
    rig.person('usr_approver', 'approver');
  });

  /** Another member with a token, whose grant has these scopes and folders. */
  const colleague = (folderRoles: readonly FolderRole[] | null, scopes = READS): Caller => ({
    ...rig.caller,
    principal: { kind: 'user', id: 'usr_colleague', name: 'Colleague' },
    onBehalfOf: 'usr_colleague',
    mailboxes: new Map([['mbx_0', { scopes: new Set(scopes), folderRoles, quotas: null }]]),
  });
  /** `ok`, or the code of the refusal. */
  const asked = async (by: Caller, capability: Capability, input: object): Promise<string> =>
    await rig.invokeAs(by, capability, input, null).then(
      () => 'ok',
      (error: unknown) => (error as { readonly code: string }).code,
    );

  it(`is limited to the folders of the grant, but not for requester and approver ${verifies('contract:3:folder-reach')}`, async () => {
    const waiting = await rig.ask([rig.arrive('INBOX'), rig.arrive('Trash')], 'archive');
    const approval_id = waiting.approval?.id ?? '';
    const looked = async (by: Caller): Promise<readonly string[]> => [
      await asked(by, getOperation, { operation_id: waiting.operation_id }),
      await asked(by, getApproval, { approval_id }),
      await asked(by, previewApproval, { approval_id }),
    ];
    const HIDDEN = ['not_found', 'not_found', 'not_found'];
    expect(await looked(colleague(null))).to.deep.equal(['ok', 'ok', 'ok']);
    expect(await looked(colleague(['inbox', 'trash', 'archive']))).to.deep.equal(['ok', 'ok', 'ok']);
    expect(await looked(colleague(['archive']))).to.deep.equal(HIDDEN);
    expect(await looked(colleague(['inbox', 'archive'])), 'one of the messages').to.deep.equal(HIDDEN);
    expect(await looked(colleague(['inbox', 'trash'])), 'where they go').to.deep.equal(HIDDEN);
    const bound = { mailboxes: colleague(['archive']).mailboxes };
    expect(await looked({ ...rig.caller, ...bound }), 'the requester').to.deep.equal(['ok', 'ok', 'ok']);
    const approver = { ...rig.person('usr_approver', 'approver'), ...bound };
    expect(await looked(approver), 'an approver').to.deep.equal(['ok', 'ok', 'ok']);
  });

  it(`is limited to the folders when there was no approval too ${verifies('contract:3:folder-reach')}`, async () => {
    const { operation_id } = await rig.ask([rig.arrive('Archive')], 'trash');
    expect(await asked(colleague(['archive', 'trash']), getOperation, { operation_id })).to.equal('ok');
    expect(await asked(colleague(['archive']), getOperation, { operation_id })).to.equal('not_found');
    const row = {
      id: operation_id,
      mailbox_id: 'mbx_0',
      capability: 'trash',
      principal_id: 'usr_1',
      actor_type: 'delegated',
      draft_id: null,
      state: 'completed',
      ...{ done_items: 1, failed_items: 0, unknown_items: 0 },
      ...{ created_at: new Date(0), updated_at: new Date(0) },
    };
    rig.sql.rows.set('read.operation', [row]);
    const listed = async (by: Caller): Promise<number> =>
      ((await rig.invokeAs(by, listOperations, {}, null)).output as { items: unknown[] }).items.length;
    expect(await listed(colleague(null))).to.equal(1);
    expect(await listed(colleague(['archive', 'trash']))).to.equal(1);
    expect(await listed(colleague(['archive']))).to.equal(0);
  });

  /** A draft of another member and the operation that sends it. It replies to a message in this folder, or to none. */
  const drafted = async (source: string | null): Promise<string> => {
    const author = sampleAuthor('org_1', { actor: { ...sampleAuthor(null).actor, id: 'usr_writer' } });
    const nobody = { from: null, to: [], cc: [], bcc: [], reply_to: [], attachments: [] };
    const envelope = await sealEnvelope(rig.ports.personal, 'mbx_0', {
      ...nobody,
      subject: 'Re: Hi',
      headers: {},
    });
    const version = { ...SAMPLE_EVENTS.DraftStarted.draft, envelope, attachments: [] };
    const named = { mailbox_id: 'mbx_0', source_message_id: source, threading: null, draft: version };
    const started = { ...SAMPLE_EVENTS.DraftStarted, ...named };
    await happened(rig.events, `draft-${DRAFT}`, [{ type: 'DraftStarted', data: started }], author);
    const submitted = { ...SAMPLE_EVENTS.OperationSubmitted, mailbox_id: 'mbx_0', targets: [] };
    const intended = { ...SAMPLE_EVENTS.SendIntended, mailbox_id: 'mbx_0', draft_id: DRAFT };
    const operationId = 'opn_00000000000000000000000001';
    await happened(
      rig.events,
      `operation-${operationId}`,
      [
        { type: 'OperationSubmitted', data: submitted },
        { type: 'OperationDecided', data: SAMPLE_EVENTS.OperationDecided },
        { type: 'SendIntended', data: intended },
      ],
      author,
    );
    return operationId;
  };

  it(`is allowed for a reply when the grant reaches its source folder ${verifies('contract:3:folder-reach')}`, async () => {
    const operation_id = await drafted(rig.arrive('INBOX'));
    const looked = async (by: Caller): Promise<readonly string[]> => [
      await asked(by, getOperation, { operation_id }),
      await asked(by, readDraft, { draft_id: DRAFT }),
      await asked(by, readDraftContent, { draft_id: DRAFT }),
    ];
    expect(new Set(await looked(colleague(['archive'])))).to.deep.equal(new Set(['not_found']));
    expect((await looked(colleague(['inbox']))).slice(0, 2)).to.deep.equal(['ok', 'ok']);
    const { state } = await loadAggregate(rig.events, draft, DRAFT);
    rig.sql.rows.set('read.draft', [{ id: DRAFT, state }]);
    const listed = async (by: Caller): Promise<number> =>
      ((await rig.invokeAs(by, listDrafts, {}, null)).output as { items: unknown[] }).items.length;
    expect(await listed(colleague(['archive']))).to.equal(0);
    expect(await listed(colleague(['inbox']))).to.equal(1);
  });

  it('is allowed for any other draft, whatever the folders', async () => {
    const operation_id = await drafted(null);
    expect(await asked(colleague(['archive']), readDraft, { draft_id: DRAFT })).to.equal('ok');
    expect(await asked(colleague(['archive']), getOperation, { operation_id })).to.equal('ok');
  });

  it(`requires the scopes of the approval for its operation ${verifies('contract:3:operation-scopes')}`, async () => {
    const { operation_id } = await rig.ask([rig.arrive('INBOX')], 'trash');
    const without = (caller: Caller): Caller => {
      const orgScopes = new Set<Scope>(['org:read']);
      const held = [...caller.mailboxes.values()].flatMap(({ scopes }) => [...scopes]);
      return { ...caller, orgScopes, scopes: new Set<Scope>([...orgScopes, ...held]) };
    };
    const own = (...scopes: readonly MailboxScope[]): Caller => ({
      ...rig.caller,
      mailboxes: colleague(null, scopes).mailboxes,
    });
    const look = (by: Caller) => asked(by, getOperation, { operation_id });
    expect(await look(rig.caller)).to.equal('ok');
    expect(await look(without(own('messages:read')))).to.equal('ok');
    expect(await look(without(own('drafts:read'))), 'not its kind').to.equal('insufficient_scope');
    expect(await look(without(own('messages:trash')))).to.equal('insufficient_scope');
    expect(await look(own('messages:trash')), 'with approvals:read').to.equal('ok');
    expect(await look(without(colleague(null, ['drafts:read'])))).to.equal('not_found');
    rig.sql.rows.set('read.operation', []);
    const requesters = async (by: Caller): Promise<unknown> => {
      await rig.invokeAs(by, listOperations, {}, null);
      return rig.sql.asked.at(-1)?.[1];
    };
    expect(await requesters(rig.caller)).to.include(rig.caller.principal.id);
    expect(await requesters(without(own('messages:read')))).to.deep.equal([]);
    expect(await asked(without(own('messages:trash')), listOperations, {})).to.equal('insufficient_scope');
  });
});

import { expect } from 'chai';
import { GatewayError } from '../../../../../commands/values/errors.ts';
import { foldFacts } from '../../../../../commands/kernel/decide-and-append.ts';
import { freezeMessage } from '../../../../../commands/sending/freeze-draft.ts';
import { buildSendManifest } from '../../../../../commands/sending/request-send.ts';
import { buildActionsManifest } from '../../../../../commands/messages/actions-manifest.ts';
import { contentHashOf, type Manifest, manifestText } from '../../../../../commands/operations/manifest.ts';
import {
  operation,
  type OperationFact,
  type OperationState,
} from '../../../../../commands/operations/operation.ts';
import { approvalPreview } from '../../../../../read-api/approvals/preview/approval-preview.ts';
import { happened, sampleAuthor } from '../../../../support/samples/event-author.ts';
import { SendRig } from '../../../../support/worlds/send-rig.ts';
import { verifies } from '../../../../support/suite/verifies.ts';

const APPROVAL = 'chk_1';

/** The operation of an approval after its first append, which is in the store too. */
async function asked(
  rig: SendRig,
  manifest: Manifest,
  supersedes: string | null = null,
): Promise<OperationState> {
  const { ports } = rig;
  const text = manifestText(manifest);
  const submitted = {
    ...{
      mailbox_id: manifest.mailbox_id,
      capability: 'wants_to_send_draft',
      fingerprint: '',
      mode: 'prepare' as const,
    },
    ...{ reason: null, run_id: 'run_1', targets: [], rfc_message_ids: null },
  };
  const requested = {
    action: manifest.kind,
    draft_id: manifest.kind === 'send_draft' ? manifest.draft_id : null,
    content_hash: contentHashOf(text),
    manifest: await ports.personal.seal(manifest.mailbox_id, text),
    expires_at: '2100-01-01T00:00:00.000Z',
    terms: {
      ...{
        quorum: 1,
        approver_role: 'approver' as const,
        exclude_owner: false,
        decision_ttl: 60,
        commit_ttl: 60,
      },
      ...{ auto_commit: false, undo_seconds: 0 },
    },
    cardinality: null,
    supersedes,
  };
  const facts: OperationFact[] = [
    { type: 'OperationSubmitted', data: submitted },
    { type: 'ApprovalRequested', data: requested },
  ];
  const author = sampleAuthor('org_1');
  await happened(ports.events, `operation-${manifest.operation_id}`, facts, author);
  return foldFacts(operation, operation.initial, facts, { author, at: ports.clock.now() });
}

async function askedToSend(
  rig: SendRig,
  operationId: string,
  draftId: string,
  supersedes: string | null = null,
) {
  const mailbox = rig.ports.directory.state.mailboxes.get('mbx_0');
  if (!mailbox) throw new Error('no mailbox');
  const state = await rig.draft(draftId);
  const message = await freezeMessage(rig.ports, { draftId, operationId, mailbox, state });
  await rig.append(draftId, { type: 'DraftFrozen', data: message.frozen });
  const manifest = buildSendManifest(rig.ports.ids.newNonce(), { mailboxId: 'mbx_0', draftId }, message);
  return { manifest, frozen: message.frozen, state: await asked(rig, manifest, supersedes) };
}

describe('approval_preview', () => {
  it(`returns the manifest, its hash and what will be sent ${verifies('contract:9:preview')}`, async () => {
    const rig = new SendRig();
    const { manifest, state } = await askedToSend(rig, 'opn_1', await rig.startDraft());
    const preview = await approvalPreview(rig, state, APPROVAL);
    expect(preview).to.have.all.keys(
      ...['manifest', 'content_hash', 'html', 'text', 'confirmation', 'warnings', 'own_request'],
    );
    expect(preview.manifest).to.deep.equal(manifest);
    expect(preview.content_hash).to.equal(contentHashOf(manifestText(manifest)));
    expect(preview.text).to.match(/^One message will be sent to 1 recipient, outside the organisation\./);
    expect(preview.text).to.include('| Hello').and.include('WARNING: 1 recipient outside the organisation');
    expect(preview.warnings?.map(({ code }) => code)).to.include('external_recipients');
    expect(preview.confirmation?.sentence).to.include('To bob@example.org (outside)');
    expect(preview.html).to.include("default-src 'none'").and.to.include('Hello');
  });

  it(`shows what is different from the previous request ${verifies('contract:9:preview')}`, async () => {
    const rig = new SendRig();
    const draftId = await rig.startDraft();
    const first = await askedToSend(rig, 'opn_1', draftId);
    await rig.edit(draftId);
    const second = await askedToSend(rig, 'opn_2', draftId, APPROVAL);
    const { previous, text, html } = await approvalPreview(rig, second.state, 'chk_2');
    expect(previous).to.deep.equal({
      content_hash: contentHashOf(manifestText(first.manifest)),
      changes: [
        { what: 'recipients', before: 'To: bob@example.org', after: 'To: carol@example.org' },
        { what: 'subject', before: 'Version 1', after: 'Version 2' },
      ],
    });
    expect(text).to.include(
      'What changed since the previous approval request\n|   Recipients:\n| - To: bob@example.org',
    );
    expect(html).to.include('<div class="added">+ To: carol@example.org</div>');
    const earlier = await approvalPreview(rig, first.state, APPROVAL);
    expect(earlier.text, 'the text of that version, not of the one now').to.include('Subject: Version 1');
  });

  it('shows nothing in place of an altered or erased text or message', async () => {
    const rig = new SendRig();
    const { manifest, frozen, state } = await askedToSend(rig, 'opn_1', await rig.startDraft());
    const other: OperationState = await asked(rig, {
      ...manifest,
      operation_id: 'opn_9',
      body_sha256: 'f'.repeat(64),
      mime_sha256: 'f'.repeat(64),
    });
    const altered = await approvalPreview(rig, other, APPROVAL);
    expect(altered.text).to.include('WARNING: The stored text is not the one').and.not.include('| Hello');
    rig.content.alter(frozen.mime_id);
    expect((await approvalPreview(rig, state, APPROVAL)).text).to.include(
      'WARNING: The stored message is not the one',
    );
    await rig.content.erase([frozen.mime_id]);
    expect((await approvalPreview(rig, state, APPROVAL)).text).to.include(
      'WARNING: The stored message is gone',
    );
    const personal = { ...rig.ports.personal, open: () => Promise.resolve(null) };
    const erased = await approvalPreview(
      { caller: rig.caller, ports: { ...rig.ports, personal } },
      state,
      APPROVAL,
    );
    expect(erased).to.include({ manifest: null, content_hash: state.approval?.requested.content_hash });
    expect(erased.text).to.include('was erased');
  });

  it('shows messages in their current state', async () => {
    const rig = new SendRig();
    const mailbox = rig.ports.directory.state.mailboxes.get('mbx_0');
    const [inbox] = mailbox?.folders ?? [];
    if (!mailbox || !inbox) throw new Error('no mailbox');
    const targets = ['<1@example.com>', '<2@example.com>', '<3@example.com>'].map((messageId) => {
      const uid = rig.mailbox.add('INBOX', messageId);
      const { uidValidity } = rig.mailbox.folder('INBOX');
      const place = { mailboxNumber: mailbox.number, folderNumber: inbox.number, uidValidity, uid };
      const ref = { folder: inbox, uidValidity, uid };
      return { message_id: rig.ports.locators.message(place), rfc_message_id: messageId, stale: false, ref };
    });
    const manifest = buildActionsManifest(rig.ports.ids.newNonce(), {
      ...{ operationId: 'opn_1', mailbox, targets, steps: [{ action: 'expunge' }] },
      faces: targets.map(({ rfc_message_id }) => ({ messageId: rfc_message_id, subject: 'A subject' })),
    });
    const state = await asked(rig, manifest);
    const look = async (): Promise<string> => (await approvalPreview(rig, state, APPROVAL)).text;
    expect(await look()).to.match(/^3 messages will be deleted permanently from “INBOX”\./);
    expect(await look())
      .to.match(/Message 3:\s+A subject/)
      .and.include('WARNING: 3 messages deleted permanently');
    const { messages } = rig.mailbox.folder('INBOX');
    messages.delete(2);
    messages.set(3, { messageId: '<other@example.com>', flags: new Set() });
    expect(await look())
      .to.include('WARNING: 1 message is no longer where')
      .and.to.include('is another message now');
    rig.parts.mail.failure = new GatewayError('mailbox_unavailable', 'away');
    expect(await look())
      .to.include('WARNING: The mail server could not be reached')
      .and.to.include('<1@example.com>');
  });
});

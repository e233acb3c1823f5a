import { endOf } from '../../../../commands/operations/approval-state.ts';
import { expect } from 'chai';
import { actOnEmail } from '../../../../commands/email/act-on-email.ts';
import { discardDraftCapability } from '../../../../commands/drafts/discard-draft.ts';
import { patchDraftCapability } from '../../../../commands/drafts/edit-draft.ts';
import { draftPayload } from '../../../../commands/drafts/draft-payload.ts';
import { settleReview } from '../../../../commands/drafts/end-review.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import { holdLease } from '../../../../commands/kernel/hold-lease.ts';
import { type Manifest, openManifest } from '../../../../commands/operations/manifest.ts';
import type { OperationReply } from '../../../../commands/operations/operation.ts';
import { ProcessGone } from '../../../support/fakes/breaking-mailbox.ts';
import { ApprovedSendRig } from '../../../support/worlds/approved-send-rig.ts';
import { dyingBefore } from '../../../support/fakes/dying-ports.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { unseatMember } from '../../../support/worlds/people.ts';

const KEY = 'key-1';
const codeOf = async (work: Promise<unknown>): Promise<string> => {
  const error = await rejection(work);
  return (error as { code?: string }).code ?? String(error);
};

/** A draft in review, and the ids of its approval. */
async function asked(rig = new ApprovedSendRig()) {
  const id = await rig.startDraft(['bob@example.org', 'carol@example.org']);
  const reply = await rig.ask(id, KEY);
  const operationId = rig.operationId(KEY);
  const review = { operationId, draftId: id, orgId: 'org_1' };
  return { rig, id, reply, operationId, review, chk: operationId.replace('opn_', 'chk_') };
}

const approvalOf = async (rig: ApprovedSendRig) => (await rig.operation(rig.operationId(KEY))).approval;

async function manifestOf(rig: ApprovedSendRig): Promise<Manifest | null> {
  const requested = (await approvalOf(rig))?.requested;
  const text = requested ? await rig.ports.personal.open(requested.manifest) : null;
  return requested && text !== null ? openManifest(text, requested.content_hash) : null;
}

describe('requesting approval for a send', () => {
  it(`freezes the draft, then records the operation, and sends nothing ${verifies('contract:7:frozen-first')}`, async () => {
    const { rig, id, reply, chk, operationId } = await asked();
    expect(reply).to.deep.include({ status: 'awaiting_approval', operation_id: operationId, draft_id: id });
    expect(reply.approval).to.deep.include({ id: chk, status: 'awaiting_approval' });
    expect(reply.draft).to.deep.include({ id, status: 'in_review', approval_id: chk });
    expect(await rig.typesOf(`draft-${id}`)).to.deep.equal(['DraftStarted', 'DraftFrozen']);
    expect(await rig.typesOf(`operation-${operationId}`)).to.deep.equal([
      'OperationSubmitted',
      'OperationDecided',
      'ApprovalRequested',
    ]);
    expect(rig.submission.taken).to.deep.equal([]);
  });

  it(`names the frozen bytes in the manifest ${verifies('contract:9:send-manifest')}`, async () => {
    const { rig, id } = await asked();
    const manifest = await manifestOf(rig);
    const frozen = (await rig.draft(id)).send?.frozen;
    expect(manifest).to.deep.include({ kind: 'send_draft', draft_id: id, mime_sha256: frozen?.mime_sha256 });
    expect(manifest?.kind === 'send_draft' && manifest.envelope.to).to.deep.equal([
      'bob@example.org',
      'carol@example.org',
    ]);
    await rig.sweep();
    expect(rig.frozenIds()).to.deep.equal([frozen?.mime_id]);
  });

  it(`replays the current approval when the key is repeated ${verifies('contract:14:check-replay')}`, async () => {
    const { rig, id, reply } = await asked();
    const again = await rig.ask(id, KEY);
    expect(again).to.deep.equal({ ...reply, original_status: 'awaiting_approval' });
    await rig.cancel(KEY);
    expect(await codeOf(rig.ask(id, KEY))).to.equal('approval_cancelled');
    expect(await codeOf(rig.ask(await rig.startDraft(), KEY))).to.equal('idempotency_key_reused');
  });

  it('refuses another send or request while an approval is open', async () => {
    const { rig, id } = await asked();
    expect(await codeOf(rig.send(id, 'key-2'))).to.equal('approval_pending');
    expect(await codeOf(rig.ask(id, 'key-2'))).to.equal('approval_pending');
  });

  it('leaves the draft open when too few people could decide', async () => {
    const rig = new ApprovedSendRig();
    unseatMember(rig.ports.directory.state, 'org_1', 'usr_approver');
    const id = await rig.startDraft();
    expect(await codeOf(rig.ask(id, KEY))).to.equal('no_eligible_approver');
    expect(await rig.typesOf(`draft-${id}`)).to.deep.equal(['DraftStarted']);
    expect(rig.frozenIds()).to.deep.equal([]);
  });

  it('leaves the draft open and the key free when the warnings cannot be computed', async () => {
    const rig = new ApprovedSendRig();
    const id = await rig.startDraft();
    const overloaded = new GatewayError('overloaded', 'Too many bodies are being read; try again.');
    const ports = { ...rig.ports, markup: { ...rig.ports.markup, show: () => Promise.reject(overloaded) } };
    expect(await rejection(rig.ask(id, KEY, ports))).to.equal(overloaded);
    expect(await rig.typesOf(`draft-${id}`)).to.deep.equal(['DraftStarted']);
    await rig.sweep();
    expect(rig.frozenIds()).to.deep.equal([]);
    expect(await rig.ask(id, 'key-2')).to.include({ status: 'awaiting_approval' });
  });

  it(`takes no quota before the commit ${verifies('contract:15:check-quota')}`, async () => {
    const { rig } = await asked();
    const streams = await rig.ports.events.readAll(-1n, 100);
    expect(streams.map(({ type }) => type)).not.to.include('QuotaTaken');
  });
});

describe('a request interrupted between draft and operation', () => {
  const cutOff = async () => {
    const rig = new ApprovedSendRig();
    const id = await rig.startDraft();
    expect(await rejection(rig.ask(id, KEY, dyingBefore(rig.ports, /^ApprovalRequested$/)))).to.be.instanceOf(
      ProcessGone,
    );
    expect((await rig.draft(id)).status).to.equal('in_review');
    return { rig, id, review: { operationId: rig.operationId(KEY), draftId: id, orgId: 'org_1' } };
  };

  it('is resumed by a repeat of its key', async () => {
    const { rig, id } = await cutOff();
    const reply = await rig.ask(id, KEY, rig.newRun());
    expect(reply.status).to.equal('awaiting_approval');
    const manifest = await manifestOf(rig);
    const { send } = await rig.draft(id);
    expect(manifest?.kind === 'send_draft' && manifest.mime_sha256).to.equal(send?.frozen.mime_sha256);
    expect(rig.frozenIds()).to.deep.equal([send?.frozen.mime_id]);
  });

  it('releases the draft when its lease is gone', async () => {
    const { rig, id, review } = await cutOff();
    const lease = await holdLease(rig.ports.leases, review.operationId);
    await settleReview(rig.ports, review);
    expect((await rig.draft(id)).status, 'somebody may be about to ask').to.equal('in_review');
    await lease?.release();
    await settleReview(rig.newRun(), review);
    expect((await rig.draft(id)).status).to.equal('open');
    expect((await rig.typesOf(`draft-${id}`)).at(-1)).to.equal('DraftReleased');
    expect(rig.frozenIds()).to.deep.equal([]);
  });
});

describe('a draft in review', () => {
  const patch = (id: string) => ({ draft_id: id, subject: 'Another one' });

  it(`opens again when it is edited, and its approval is superseded ${verifies('contract:10:edit-supersedes')}`, async () => {
    const { rig, id, chk } = await asked();
    const { output } = await rig.invoke(patchDraftCapability, patch(id), 'edit-1');
    expect(output).to.include({ status: 'open', version: 2, approval_id: null });
    expect(endOf(await approvalOf(rig))?.status).to.equal('superseded');
    expect(rig.frozenIds()).to.deep.equal([]);
    const again = await rig.ask(id, 'key-2');
    const { approval } = await rig.operation(again.operation_id ?? '');
    expect(approval?.requested.supersedes).to.equal(chk);
  });

  it('keeps its approval when an edit changes nothing', async () => {
    const { rig, id } = await asked();
    const open = new ApprovedSendRig();
    const draftId = await open.startDraft();
    const { output } = await open.invoke(patchDraftCapability, patch(draftId), 'edit-1');
    expect(output).to.include({ version: 2 });
    await open.ask(draftId, KEY);
    await open.invoke(patchDraftCapability, patch(draftId), 'edit-2');
    expect((await open.draft(draftId)).status).to.equal('in_review');
    expect(endOf(await approvalOf(open))).to.equal(null);
    expect((await rig.draft(id)).status).to.equal('in_review');
  });

  it(`invalidates its approval when it is discarded ${verifies('contract:10:discard-invalidates')}`, async () => {
    const { rig, id } = await asked();
    await rig.invoke(discardDraftCapability, { draft_id: id }, 'discard-1');
    const approval = await approvalOf(rig);
    expect(endOf(approval)).to.deep.include({ status: 'invalidated' });
    expect(endOf(approval)).to.have.nested.property('why.reason', 'draft_discarded');
  });

  for (const [title, capability, input] of [
    ['edited', patchDraftCapability, patch],
    ['discarded', discardDraftCapability, (id: string) => ({ draft_id: id })],
  ] as const) {
    it(`ends its approval in the background when the process died after it was ${title}`, async () => {
      const { rig, id, review } = await asked();
      const dying = dyingBefore(rig.ports, /^Approval(?:Superseded|Invalidated)$/);
      expect(await rejection(rig.invoke(capability, input(id), 'change-1', dying))).to.be.instanceOf(
        ProcessGone,
      );
      expect(endOf(await approvalOf(rig))).to.equal(null);
      await settleReview(rig.newRun(), review);
      await settleReview(rig.newRun(), review);
      expect(endOf(await approvalOf(rig))?.status).to.equal(
        title === 'edited' ? 'superseded' : 'invalidated',
      );
      expect(rig.frozenIds()).to.deep.equal([]);
    });
  }

  it(`opens again when its approval is withdrawn, at once or in the background ${verifies('contract:10:released')}`, async () => {
    for (const isCutOff of [false, true]) {
      const { rig, id, review } = await asked();
      await rig.cancel(KEY, { isCutOff });
      expect((await rig.draft(id)).status).to.equal(isCutOff ? 'in_review' : 'open');
      await settleReview(rig.ports, review);
      await settleReview(rig.ports, review);
      const state = await rig.draft(id);
      expect(state.status).to.equal('open');
      expect(await draftPayload(rig.ports, id, state)).to.include({ approval_id: null, message_id: null });
      expect((await rig.typesOf(`draft-${id}`)).filter((type) => type === 'DraftReleased')).to.have.length(1);
      expect(rig.frozenIds()).to.deep.equal([]);
      const { draft } = await rig.ask(id, 'key-2');
      expect(draft).to.include({ status: 'in_review' });
    }
  });
});

describe('a draft whose approval has expired', () => {
  const DAY_MS = 24 * 3_600_000;

  it('is requested again at once, whether or not the expiry is recorded', async () => {
    const { rig, id } = await asked();
    expect(await codeOf(rig.ask(id, 'key-2'))).to.equal('approval_pending');
    rig.parts.clock.advance(DAY_MS);
    const reply = await rig.ask(id, 'key-2');
    expect(reply).to.deep.include({ status: 'awaiting_approval', draft_id: id });
    expect(endOf(await approvalOf(rig))?.status).to.equal('expired');
    expect(await rig.typesOf(`draft-${id}`)).to.deep.equal([
      'DraftStarted', 'DraftFrozen', 'DraftReleased', 'DraftFrozen',
    ]); // prettier-ignore
  });

  it('is previewed as an open draft', async () => {
    const { rig, id } = await asked();
    const preview = async () => {
      const operation = { type: 'draft_send', draft_id: id };
      const input = { mailbox_id: 'mbx_0', operation, authorization: { mode: 'preview' } };
      return (await rig.invoke(actOnEmail, input, null)).output as OperationReply;
    };
    expect(await codeOf(preview())).to.equal('approval_pending');
    rig.parts.clock.advance(DAY_MS);
    expect(await preview()).to.deep.include({ status: 'preview' });
  });

  it('is edited and discarded', async () => {
    for (const [capability, more] of [[patchDraftCapability, { subject: 'No' }], [discardDraftCapability, {}]] as const) {
      const { rig, id } = await asked();
      rig.parts.clock.advance(DAY_MS);
      const { output } = await rig.invoke(capability, { draft_id: id, ...more }, 'change-1');
      expect((output as { status: string }).status).not.to.equal('in_review');
    }
  }); // prettier-ignore
});

import { commitAtOf, endOf } from '../../../../commands/operations/approval-state.ts';
import { expect } from 'chai';
import { commitDue } from '../../../../commands/approvals/commit-approval.ts';
import { patchDraftCapability } from '../../../../commands/drafts/edit-draft.ts';
import type { GatewayError } from '../../../../commands/values/errors.ts';
import { systemAuthor } from '../../../../commands/kernel/decide-and-append.ts';
import { resolveSend } from '../../../../commands/email/resolve-operation.ts';
import { settleSend } from '../../../../commands/sending/settle-send.ts';
import { approvalStatusOf } from '../../../../commands/operations/approval-reply.ts';
import { ProcessGone } from '../../../support/fakes/breaking-mailbox.ts';
import { ApprovedSendRig } from '../../../support/worlds/approved-send-rig.ts';
import { becomingCurrent, OUTDATED } from '../../../support/worlds/send-rig.ts';
import { dyingAfter, dyingBefore } from '../../../support/fakes/dying-ports.ts';
import { sampleAuthor } from '../../../support/samples/event-author.ts';
import { LATER_AT_ENVELOPE, NEVER } from '../../../support/fakes/fake-submission.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const KEY = 'key-1';
const DAY_MS = 24 * 3_600_000;
const codeOf = async (work: Promise<unknown>): Promise<string> => {
  const error = await rejection(work);
  return (error as { code?: string }).code ?? String(error);
};

async function granted(rig = new ApprovedSendRig()) {
  const id = await rig.granted(KEY);
  const operationId = rig.operationId(KEY);
  const status = async () => approvalStatusOf(await rig.operation(operationId), rig.ports.clock.now());
  const settle = () => settleSend(rig.newRun(), { operationId, orgId: 'org_1' });
  /** What the sweeper does with an approval that is due. */
  const commitDueNow = async (ports = rig.newRun()) => {
    const { approval } = await rig.operation(operationId);
    expect(Date.parse(commitAtOf(approval) ?? 'never')).to.be.at.most(ports.clock.now().getTime());
    const author = systemAuthor(ports, 'org_1');
    return await commitDue(ports, { operationId, author, notePosition: () => undefined });
  };
  const typesOfOperation = async () =>
    (await rig.typesOf(`operation-${operationId}`)).slice(
      'Submitted, Decided, Requested, Voted, Granted'.split(',').length,
    );
  return { rig, id, operationId, status, settle, commitDueNow, typesOfOperation };
}

describe('approval_commit of a send', () => {
  it(`sends the frozen message and records it in both streams ${verifies('contract:7:commit-of-send')}`, async () => {
    const { rig, id, status, typesOfOperation } = await granted();
    const messageId = await rig.messageId(id);
    const reply = await rig.commit(KEY);
    expect(reply).to.deep.include({
      status: 'completed',
      draft_id: id,
      summary: { done: 1, failed: 0, unknown: 0 },
    });
    expect(reply.draft).to.include({
      status: 'sent',
      message_id: messageId,
      approval_id: rig.operationId(KEY).replace('opn_', 'chk_'),
    });
    expect(rig.submission.taken).to.have.length(1);
    expect(await status()).to.equal('committed');
    expect(await typesOfOperation()).to.deep.equal([
      'CommitStarted', 'SendIntended', 'SendOutcomeRecorded', 'OperationCompleted', 'ApprovalCommitted',
    ]); // prettier-ignore
    expect(await rig.typesOf(`draft-${id}`)).to.deep.equal([
      'DraftStarted', 'DraftFrozen', 'SendStarted', 'SendDataBegun', 'DraftSent',
    ]); // prettier-ignore
    expect(await codeOf(rig.commit(KEY))).to.equal('approval_not_pending');
    expect(rig.submission.taken).to.have.length(1);
  });

  it(`is refused while the directory of this process stays outdated ${verifies('contract:9:commit-checks')}`, async () => {
    const { rig, status } = await granted();
    const stale = { ...rig.ports, directory: { ...rig.ports.directory, ...OUTDATED } };
    expect(await codeOf(rig.commit(KEY, stale))).to.equal('store_unavailable');
    expect(rig.submission.taken).to.deep.equal([]);
    expect(await status()).to.equal('pending_commit');
    const late = { ...rig.ports, directory: becomingCurrent(rig.ports.directory) };
    expect(await rig.commit(KEY, late)).to.include({ status: 'completed' });
  });

  it('fails when the server refuses permanently, and lets the draft be edited', async () => {
    const { rig, id, status } = await granted();
    rig.submission.course = NEVER;
    expect(await codeOf(rig.commit(KEY))).to.equal('provider_rejected');
    expect(await status()).to.equal('commit_failed');
    expect((await rig.draft(id)).status).to.equal('send_failed');
  });

  it(`retries under the same approval when the server refuses temporarily ${verifies('contract:7:retry-under-check')}`, async () => {
    const { rig, id, operationId, status } = await granted();
    const startedAt = rig.ports.clock.now().getTime();
    rig.submission.course = LATER_AT_ENVELOPE;
    const refused = (await rejection(rig.commit(KEY))) as Partial<GatewayError>;
    const { send, status: draftStatus } = await rig.draft(id);
    expect(refused.code).to.equal('provider_timeout');
    expect(refused.details).to.include({ operation_id: operationId, retry_at: send?.retryAt });
    expect([draftStatus, await status()]).to.deep.equal(['in_review', 'pending_commit']);
    const { approval } = await rig.operation(operationId);
    expect(approval).to.nested.include({ commitAt: send?.retryAt, 'attempt.number': 1 });
    expect(Date.parse(approval?.expiresAt ?? '')).to.equal(startedAt + DAY_MS);
    rig.parts.clock.advance(60_000);
    rig.submission.course = { kind: 'accept' };
    expect((await rig.commit(KEY)).draft).to.include({ status: 'sent' });
    expect((await rig.operation(operationId)).approval?.attempt?.number).to.equal(2);
    expect(rig.submission.taken).to.have.length(1);
  });

  it('allows a withdrawal between two attempts', async () => {
    const { rig, id, status } = await granted();
    rig.submission.course = LATER_AT_ENVELOPE;
    await rejection(rig.commit(KEY));
    await rig.cancel(KEY);
    expect([(await rig.draft(id)).status, await status()]).to.deep.equal(['open', 'cancelled']);
    expect(await codeOf(rig.commit(KEY))).to.equal('approval_not_pending');
  });

  it(`becomes unknown when the server's answer was lost, until a person settles it ${verifies('contract:10:commit-unknown')}`, async () => {
    for (const [word, end] of [['done', 'committed'], ['not_done', 'commit_failed']] as const) {
      const { rig, operationId, status } = await granted();
      rig.submission.course = { kind: 'lost', taken: true };
      expect(await codeOf(rig.commit(KEY))).to.equal('outcome_unknown');
      expect(await status()).to.equal('commit_unknown');
      expect(await codeOf(rig.commit(KEY))).to.equal('approval_not_pending');
      await resolveSend(rig.ports, sampleAuthor('org_1'), operationId, word);
      expect(await status()).to.equal(end);
    }
  }); // prettier-ignore

  it(`sends nothing when one byte of the stored message differs ${verifies('contract:9:altered')}`, async () => {
    const { rig, id, status } = await granted();
    const { send } = await rig.draft(id);
    rig.content.alter(send?.frozen.mime_id ?? '');
    expect(await codeOf(rig.commit(KEY))).to.equal('approval_invalidated');
    expect(rig.submission.taken).to.deep.equal([]);
    expect(await status()).to.equal('invalidated');
    const { approval } = await rig.operation(rig.operationId(KEY));
    expect(endOf(approval)).to.have.nested.property('why.reason', 'manifest_mismatch');
    expect((await rig.draft(id)).status).to.equal('send_failed');
  });

  it('is superseded when an edit removes the stored message while that is compared', async () => {
    const { rig, id, status } = await granted();
    const describeStored = rig.content.describe.bind(rig.content);
    let isEdited = false;
    rig.content.describe = async (mimeId) => {
      if (!isEdited) {
        isEdited = true;
        const frozen = rig.frozenIds();
        await rig.edit(id);
        await rig.content.erase(frozen);
      }
      return await describeStored(mimeId);
    };
    await rejection(rig.commit(KEY));
    expect([(await rig.draft(id)).status, await status()]).to.deep.equal(['open', 'superseded']);
    expect(rig.submission.taken).to.deep.equal([]);
  });

  it('sends nothing when the stored message is missing', async () => {
    const { rig, id, status } = await granted();
    await rig.content.erase(rig.frozenIds());
    expect(await codeOf(rig.commit(KEY))).to.equal('approval_invalidated');
    expect([(await rig.draft(id)).status, await status()]).to.deep.equal(['in_review', 'invalidated']);
  });

  it('evaluates policy again with the current recipients', async () => {
    const { rig, status } = await granted();
    rig.setPolicy([{ id: 'stop', when: { recipient_domains: ['example.org'] }, then: { decision: 'deny' } }]);
    expect(await codeOf(rig.commit(KEY))).to.equal('approval_invalidated');
    expect(await status()).to.equal('invalidated');
  });

  it(`counts the mails of an agent at the commit, and keeps the approval when the quota is used up ${verifies('contract:15:check-quota')}`, async () => {
    const rig = new ApprovedSendRig();
    const most = rig.ports.server.limits.sendsPerHour;
    for (let n = 0; n < most; n += 1) {
      await rig.granted(`first-${String(n)}`);
      await rig.commit(`first-${String(n)}`);
    }
    const { status } = await granted(rig);
    expect(await codeOf(rig.commit(KEY))).to.equal('quota_exceeded');
    expect(await status()).to.equal('pending_commit');
    rig.parts.clock.advance(55 * 60_000);
    rig.parts.clock.advance(4 * 60_000);
    expect(await status()).to.equal('pending_commit');
    expect(rig.submission.taken).to.have.length(most);
  });

  it("waits for the next hour under the same approval when the gateway's commit exceeds the quota", async () => {
    const rig = new ApprovedSendRig();
    for (let n = 0; n < rig.ports.server.limits.sendsPerHour; n += 1) {
      await rig.granted(`first-${String(n)}`);
      await rig.commit(`first-${String(n)}`);
    }
    rig.setPolicy([
      { id: 'own', when: { actions: ['send'] }, then: { decision: 'require', auto_commit: true } },
    ]);
    const { id, operationId, status, commitDueNow, typesOfOperation } = await granted(rig);
    const steps: string[] = [];
    rig.submission.at = (step) => void steps.push(step);
    expect(await commitDueNow(rig.ports), 'looked at again after a pause').to.equal(false);
    expect(steps, 'no login for nothing').to.deep.equal([]);
    expect(await typesOfOperation()).to.deep.equal([
      'CommitScheduled', 'CommitStarted', 'CommitAttemptFailed', 'CommitScheduled',
    ]); // prettier-ignore
    const { approval } = await rig.operation(operationId);
    expect(approval?.attempt?.error?.code).to.equal('quota_exceeded');
    expect(commitAtOf(approval)).to.equal('2026-03-01T13:00:00.000Z');
    rig.parts.clock.advance(60 * 60_000);
    expect(await commitDueNow(rig.ports)).to.equal(true);
    expect([(await rig.draft(id)).status, await status()]).to.deep.equal(['sent', 'committed']);
  });

  it('returns the quota before an edit ends the approval, so that a crash in between loses none', async () => {
    const { rig, id } = await granted();
    rig.submission.course = LATER_AT_ENVELOPE;
    await rejection(rig.commit(KEY));
    const dying = dyingAfter(rig.ports, /^ApprovalSuperseded$/);
    const input = { draft_id: id, subject: 'Another one' };
    await rejection(rig.invoke(patchDraftCapability, input, 'edit-1', dying));
    const written = await rig.ports.events.readAll(-1n, 100);
    expect(written.map(({ type }) => type)).to.include('QuotaGivenBack');
  });
});

describe('a commit and an edit at once', () => {
  const edit = (rig: ApprovedSendRig, id: string) =>
    rig.invoke(patchDraftCapability, { draft_id: id, subject: 'Another one' }, 'edit-1');

  it(`sends nothing when the edit came first ${verifies('contract:10:commit-or-edit')}`, async () => {
    const { rig, id, status, typesOfOperation } = await granted();
    // Between the commit's lock on the operation and its lock on the draft.
    const ports = {
      ...rig.ports,
      events: afterAppend(rig.ports.events, 'SendIntended', () => edit(rig, id)),
    };
    expect(await codeOf(rig.commit(KEY, ports))).to.equal('approval_invalidated');
    expect([rig.submission.taken, rig.submission.open]).to.deep.equal([[], 0]);
    expect(await status()).to.equal('superseded');
    expect(await typesOfOperation()).to.deep.equal([
      'CommitStarted', 'SendIntended', 'CommitAttemptFailed', 'ApprovalSuperseded',
    ]); // prettier-ignore
    expect(await rig.draft(id)).to.deep.include({ status: 'open' });
  });

  it('refuses the edit when the send has started', async () => {
    const { rig, id } = await granted();
    rig.submission.at = async (step) => {
      if (step === 'begin') expect(await codeOf(edit(rig, id))).to.equal('draft_locked');
    };
    expect((await rig.commit(KEY)).draft).to.include({ status: 'sent' });
  });

  it('ends as superseded when the edit was interrupted before it ended the approval', async () => {
    const { rig, id, status } = await granted();
    const input = { draft_id: id, subject: 'Another one' };
    const dying = dyingBefore(rig.ports, /^ApprovalSuperseded$/);
    expect(await rejection(rig.invoke(patchDraftCapability, input, 'edit-1', dying))).to.be.instanceOf(
      ProcessGone,
    );
    expect(await codeOf(rig.commit(KEY, rig.newRun()))).to.equal('approval_invalidated');
    expect(await status()).to.equal('superseded');
  });
});

describe('an interrupted commit of a send', () => {
  const cut = async (ports: 'before' | 'after', types: RegExp, course = LATER_AT_ENVELOPE as never) => {
    const world = await granted();
    world.rig.submission.course = course;
    const dying = (ports === 'before' ? dyingBefore : dyingAfter)(world.rig.ports, types);
    expect(await rejection(world.rig.commit(KEY, dying))).to.be.instanceOf(ProcessGone);
    return world;
  };
  const ACCEPT = { kind: 'accept' } as never;

  it('has no effect when it was interrupted before its lock', async () => {
    const { rig, id, status } = await cut('before', /^CommitStarted$/, ACCEPT);
    expect([(await rig.draft(id)).status, await status()]).to.deep.equal(['in_review', 'pending_commit']);
    expect((await rig.commit(KEY, rig.newRun())).draft).to.include({ status: 'sent' });
  });

  for (const [title, side, types] of [
    ['before the draft recorded it', 'after', /^SendIntended$/],
    ['after the draft recorded the attempt', 'after', /^SendStarted$/],
    ['before the data was sent', 'before', /^SendDataBegun$/],
  ] as const) {
    it(`starts again after an interruption ${title}`, async () => {
      const { rig, id, status, settle, commitDueNow } = await cut(side, types, ACCEPT);
      expect(await status()).to.equal('committing');
      await settle();
      expect([(await rig.draft(id)).status, await status()]).to.deep.equal(['in_review', 'pending_commit']);
      expect(rig.submission.taken).to.deep.equal([]);
      expect(await commitDueNow()).to.equal(true);
      expect([(await rig.draft(id)).status, await status()]).to.deep.equal(['sent', 'committed']);
      expect(rig.submission.taken).to.have.length(1);
    });

    it(`sends nothing when policy denies it after an interruption ${title}`, async () => {
      const { rig, id, status, settle, commitDueNow } = await cut(side, types, ACCEPT);
      rig.setPolicy([{ id: 'stop', when: {}, then: { decision: 'deny' } }]);
      await settle();
      await commitDueNow();
      expect([(await rig.draft(id)).status, await status()]).to.deep.equal(['open', 'invalidated']);
      expect(rig.submission.taken).to.deep.equal([]);
    });

    it(`fails a day after an interruption ${title}`, async () => {
      const { rig, id, status, settle } = await cut(side, types, ACCEPT);
      rig.parts.clock.advance(DAY_MS + 1);
      await settle();
      expect([(await rig.draft(id)).status, await status()]).to.deep.equal(['send_failed', 'commit_failed']);
      expect(rig.submission.taken).to.deep.equal([]);
    });
  }

  it('completes when it was interrupted before the operation recorded the send', async () => {
    const { rig, id, status, settle } = await cut('after', /^DraftSent$/, ACCEPT);
    await settle();
    expect([(await rig.draft(id)).status, await status()]).to.deep.equal(['sent', 'committed']);
    expect(rig.submission.taken).to.have.length(1);
  });

  it('returns to pending_commit when it was interrupted before the operation recorded the postponement', async () => {
    const { rig, id, status, settle } = await cut('after', /^SendPostponed$/);
    expect([(await rig.draft(id)).status, await status()]).to.deep.equal(['in_review', 'committing']);
    rig.submission.course = ACCEPT;
    await settle();
    expect([(await rig.draft(id)).status, await status()]).to.deep.equal(['in_review', 'pending_commit']);
    expect(rig.submission.taken, 'its approval says when').to.deep.equal([]);
    expect((await rig.commit(KEY, rig.newRun())).draft).to.include({ status: 'sent' });
  });

  it('starts again when its second attempt was interrupted', async () => {
    const { rig, id, settle, status, commitDueNow } = await granted();
    rig.submission.course = LATER_AT_ENVELOPE;
    await rejection(rig.commit(KEY));
    const dying = dyingAfter(rig.ports, /^SendIntended$/);
    expect(await rejection(rig.commit(KEY, dying))).to.be.instanceOf(ProcessGone);
    rig.submission.course = ACCEPT;
    await settle();
    await commitDueNow();
    expect([(await rig.draft(id)).status, await status()]).to.deep.equal(['sent', 'committed']);
    expect(rig.submission.taken).to.have.length(1);
  });

  it('is found in Sent when it was interrupted after the data was sent', async () => {
    const { rig, id, settle, status } = await cut('before', /^DraftSent$/, ACCEPT);
    await settle();
    expect([(await rig.draft(id)).status, await status()]).to.deep.equal(['sending', 'committing']);
    rig.mailbox.add('Sent', await rig.messageId(id));
    await settle();
    expect([(await rig.draft(id)).status, await status()]).to.deep.equal(['sent', 'committed']);
    expect(rig.submission.taken).to.have.length(1);
  });
});

/** Does something right after the append that holds an event of this type. */
function afterAppend(
  store: ApprovedSendRig['ports']['events'],
  type: string,
  work: () => Promise<unknown>,
): ApprovedSendRig['ports']['events'] {
  return {
    append: async (stream, expected, events) => {
      const appended = await store.append(stream, expected, events);
      if (events.some((event) => event.type === type)) await work();
      return appended;
    },
    readStream: (stream, from) => store.readStream(stream, from),
    readLast: (stream) => store.readLast(stream),
    headPosition: () => store.headPosition(),
    readAll: (after, most) => store.readAll(after, most),
    subscribeToAll: (from, signal, filter) => store.subscribeToAll(from, signal, filter),
  };
}

/**
 * Commits the approval of a send: sends exactly the frozen message of its manifest, as a direct send does, or
 * nothing.
 */
import { endOf } from '../operations/approval-state.ts';
import { type Loaded, loadAggregate } from '../kernel/decide-and-append.ts';
import { ContentAltered } from '../ports/content-store.ts';
import { GatewayError } from '../values/errors.ts';
import { type HeldLease, holdLease, LeaseLost } from '../kernel/hold-lease.ts';
import { canonicalJson } from '../values/canonical-json.ts';
import type { Ports } from '../ports/ports.ts';
import type { Submission } from '../ports/submission-port.ts';
import { beginCommit } from '../operations/run-commit.ts';
import type { Committable, CommitKind, Executed } from '../operations/commit-kind.ts';
import type { Invalidation } from '../operations/approval-events.ts';
import type { SendManifest } from '../operations/manifest.ts';
import { approvalReply, invalidatedBy } from '../operations/approval-reply.ts';
import type { OperationState } from '../operations/operation.ts';
import { assertNotPaused } from '../messages/prepare-operation.ts';
import { decideSend, policyInForce } from '../policy/decide-for-caller.ts';
import { isFrozenFor } from '../drafts/decide-draft.ts';
import { draft, type DraftState } from '../drafts/draft.ts';
import { draftPayload } from '../drafts/draft-payload.ts';
import { liesWithin } from '../drafts/load-draft.ts';
import { beginAgain, type DraftAtRevision } from './freeze-draft.ts';
import { concludeSend } from './conclude-send.ts';
import { supersedeApproval } from '../drafts/end-review.ts';
import { runAttempt, whileConnecting } from './run-attempt.ts';
import { attachmentFactsOf } from './send-content.ts';
import { outcomeOf } from './send-outcome.ts';
import { giveQuotaBack, takeQuota } from '../operations/send-quota.ts';
import { assertSubmits } from './send-draft.ts';
import { outcomeReply, willRetry } from './send-reply.ts';

type Ready = Committable<SendManifest>;

export const sendCommit: CommitKind<SendManifest> = {
  kind: 'send_draft',
  scopes: () => ['drafts:send'],
  decide: async ({ directory, contacts }, { acting, orgId, manifest }) => {
    const { envelope, attachments, headers } = manifest;
    return decideSend(policyInForce(directory.state, orgId), acting, {
      recipients: envelope.to,
      writtenTo: await contacts.writtenTo(acting.mailboxId, envelope.to),
      attachments: attachments.flatMap(attachmentFactsOf),
      headers: headers.other.map(({ name }) => name),
    });
  },
  lost,
  execute,
};

/** Tests only the folders of the grant. An edit or a discard is recorded in the draft's stream. */
async function lost(
  { events, locators }: Ports,
  ground: Pick<Ready, 'access' | 'mailbox' | 'manifest'>,
): Promise<Invalidation | null> {
  if (ground.access.folderRoles === null) return null;
  const { state } = await loadAggregate(events, draft, ground.manifest.draft_id);
  return liesWithin(locators, ground, state) ? null : 'grant_gone';
}

async function execute(ports: Ports, ready: Ready): Promise<Executed> {
  const { commit, manifest, mailbox } = ready;
  const { operationId } = commit;
  await commit.claimed;
  try {
    assertNotPaused(mailbox);
    assertSubmits(mailbox);
  } catch (error) {
    if (error instanceof GatewayError) return { end: 'no_effect', refusal: error };
    throw error;
  }
  const loaded = await loadAggregate(ports.events, draft, manifest.draft_id);
  if (!isFrozenFor(loaded.state, operationId)) return await superseded(ports, commit, loaded.state);
  if (!liesWithin(ports.locators, ready, loaded.state))
    return { end: 'invalid', reason: 'grant_gone', refusal: invalidatedBy('grant_gone') };
  if (!(await isAsApproved(ports, loaded.state, manifest))) {
    // An edit since the draft was read removes the frozen bytes.
    const { state } = await loadAggregate(ports.events, draft, manifest.draft_id);
    if (!isFrozenFor(state, operationId)) return await superseded(ports, commit, state);
    return { end: 'invalid', reason: 'manifest_mismatch', refusal: invalidatedBy('manifest_mismatch') };
  }
  const lease = await holdLease(ports.leases, operationId);
  if (lease === null) return { end: 'changed' };
  try {
    const quota = await takeQuotaOnce(ports, ready);
    return await whileConnecting(ports, mailbox.id, (connecting) =>
      sendUnder({ lease, connecting, quota }, ports, ready, loaded),
    );
  } catch (error) {
    if (error instanceof LeaseLost) throw overtakenByOthers();
    // A caller receives the refusal and retries; the gateway retries when the quota allows it.
    const isPutOff = commit.by === 'schedule' && isQuotaUsedUp(error);
    if (isPutOff) return { end: 'no_effect', refusal: error };
    throw error;
  } finally {
    await lease.release();
  }
}

/** The draft was edited or discarded; its stream says which. */
async function superseded(
  ports: Ports,
  { author, operationId }: Ready['commit'],
  state: DraftState,
): Promise<Executed> {
  await supersedeApproval(ports, author, operationId, state);
  return { end: 'changed' };
}

/** The quota is taken before the intent, so nothing was begun. */
const isQuotaUsedUp = (error: unknown): error is GatewayError =>
  error instanceof GatewayError && error.code === 'quota_exceeded';

/**
 * Tests that the recipients are the approved ones, and the stored bytes too, as far as the store describes
 * them. The bytes are hashed again while they are sent.
 */
async function isAsApproved(
  { content, personal }: Ports,
  { send }: DraftState,
  { mime_sha256, envelope }: SendManifest,
): Promise<boolean> {
  if (send?.frozen.mime_sha256 !== mime_sha256) return false;
  const frozen = await personal.open(send.frozen.smtp_envelope);
  if (frozen === null || canonicalJson(JSON.parse(frozen)) !== canonicalJson(envelope)) return false;
  try {
    return (await content.describe(send.frozen.mime_id))?.sha256 === mime_sha256;
  } catch (error) {
    if (error instanceof ContentAltered) return false;
    throw error;
  }
}

interface Under {
  readonly lease: HeldLease;
  readonly connecting: Promise<Submission>;
  readonly quota: TakenQuota | null;
}

async function sendUnder(
  { lease, connecting, quota }: Under,
  ports: Ports,
  ready: Ready,
  { state, revision }: Loaded<DraftState>,
): Promise<Executed> {
  const { commit, manifest, mailbox, approval } = ready;
  const { operationId, author } = commit;
  const begun = await appendIntent(ports, ready, quota);
  if (begun === null) return { end: 'changed' };
  const loaded: DraftAtRevision = { id: manifest.draft_id, mailboxId: mailbox.id, state, revision };
  const commitNumber = (approval.attempt?.number ?? 0) + 1;
  const attempt = await beginAgain(ports, author, { loaded, lease }, commitNumber);
  const after =
    attempt === null
      ? (await loadAggregate(ports.events, draft, manifest.draft_id)).state
      : await runAttempt(ports, author, attempt, connecting);
  const closed = await concludeSend(ports, author, { operationId, loaded: begun }, after);
  commit.notePosition(closed.position);
  return await tell(ports, ready, { operation: closed.state, draft: after });
}

/** What is given back when the commit does not begin. */
interface TakenQuota {
  readonly principalId: string;
  readonly at: Date;
}

/** The quota is taken before the intent: once, however many attempts follow. Null when it was taken before. */
async function takeQuotaOnce(ports: Ports, { commit, state, manifest }: Ready): Promise<TakenQuota | null> {
  if (state.send !== null || !state.submitted) return null;
  const at = ports.clock.now();
  const sender = senderOf(state.submitted, manifest);
  await takeQuota(ports, commit.author, sender, commit);
  return { principalId: sender.principalId, at };
}

/** Returns the operation after it, or null when the commit was not begun. */
async function appendIntent(
  ports: Ports,
  ready: Ready,
  quota: TakenQuota | null,
): Promise<Loaded<OperationState> | null> {
  const { operationId, author } = ready.commit;
  const { mailbox_id, draft_id, draft_version } = ready.manifest;
  const intent = { type: 'SendIntended', data: { mailbox_id, draft_id, draft_version } } as const;
  const begun = await beginCommit(ports, ready, intent);
  if (begun !== null) return begun.loaded;
  if (quota) await giveQuotaBack(ports, author, quota.principalId, { id: operationId, intendedAt: quota.at });
  return null;
}

const senderOf = ({ by }: NonNullable<OperationState['submitted']>, { mailbox_id }: SendManifest) => ({
  principalId: by.id,
  actor: by.type,
  mailboxId: mailbox_id,
});

interface Ended {
  readonly operation: OperationState;
  readonly draft: DraftState;
}

/**
 * Throws the error of a failed send for a caller, as a direct send does. A scheduled commit receives the
 * reply.
 */
async function tell(ports: Ports, { commit, manifest }: Ready, ended: Ended): Promise<Executed> {
  const { operationId, by } = commit;
  const end = endOf(ended.operation.approval)?.status;
  if (end === 'superseded' || end === 'invalidated') return { end: 'changed' };
  const reported = { operationId, draftId: manifest.draft_id, draft: ended.draft };
  if (by === 'caller') await assertSent(ports, reported);
  const reply = approvalReply(operationId, ended.operation, ports.clock.now());
  const payload = await draftPayload(ports, manifest.draft_id, ended.draft);
  return { end: 'told', reply: { ...reply, draft: payload } };
}

async function assertSent(
  ports: Ports,
  reported: { readonly operationId: string; readonly draftId: string; readonly draft: DraftState },
): Promise<void> {
  const outcome = outcomeOf(reported.draft, reported.operationId);
  if (outcome !== null) await outcomeReply(ports, reported, outcome, { replayed: false });
  else if (reported.draft.send?.retryAt != null)
    throw willRetry(ports, reported, reported.draft.send.retryAt, { replayed: false });
}

/** This process slept past its lease; the process that took it over resumes the send. */
const overtakenByOthers = (): GatewayError =>
  new GatewayError('provider_timeout', 'The send is still running; read its operation.', {
    retryAfterSeconds: 5,
  });

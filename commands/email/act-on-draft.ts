/** The draft operations of email.act: the same use cases as the draft routes, answered as an operation. */
import type { Draft } from '../operations/draft-shape.ts';
import type { Context, Replay } from '../kernel/capability.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import { type Admit, admittedAs, type DraftWrite, expectedOf, loadDraft } from '../drafts/load-draft.ts';
import { changedBefore } from '../drafts/changed-before.ts';
import { assertVersion } from '../drafts/decide-draft.ts';
import { discardDraft } from '../drafts/discard-draft.ts';
import { draftPayload } from '../drafts/draft-payload.ts';
import { patchDraft } from '../drafts/edit-draft.ts';
import { replyToThread } from '../drafts/reply-to-thread.ts';
import { askPolicy, assertSendable, freedIfOver, sendDraft } from '../sending/send-draft.ts';
import { startDraft, startedBefore } from '../drafts/start-draft.ts';
import type { Mode } from '../operations/authorize-operation.ts';
import type { OperationReply } from '../operations/operation.ts';
import { decideActionPolicy } from '../policy/decide-for-caller.ts';
import type { PolicyDecision } from '../policy/decide-policy.ts';
import type { DraftSend, DraftWriting } from './act-operations.ts';

interface Act<Operation> {
  readonly mailboxId: string;
  readonly operation: Operation;
  readonly mode: Mode;
  readonly reason: string | undefined;
}

/** No `operation_id`: unlike a send it is complete, and `GET /operations` does not list its key's claim. */
const completed = (draft: Draft): OperationReply => ({
  status: 'completed',
  results: [],
  draft_id: draft.id,
  draft,
});

/** The reply of a preview: nothing ran or was written; the draft is the current one. */
const previewOf = (policy: PolicyDecision, draft: Draft | null, contentHash: string): OperationReply => ({
  status: 'preview',
  results: [],
  ...(draft === null ? {} : { draft_id: draft.id, draft }),
  preview: {
    content_hash: contentHash,
    items: [],
    policy: { decision: policy.decision, rule_id: policy.ruleId, version: policy.version },
  },
});

/** Writes or previews a draft. Throws what the draft routes throw, and `operation_unsupported`. */
export async function writeDraft(
  context: Context,
  { mailboxId, operation, mode }: Act<DraftWriting>,
): Promise<OperationReply> {
  if (mode === 'request_approval' || mode === 'prepare') {
    const message =
      'A draft is written at once: the modes are execute, execute_or_request_approval and preview.';
    throw new GatewayError('operation_unsupported', message);
  }
  const before = 'draft_id' in operation ? await draftOf(context, mailboxId, operation.draft_id) : null;
  if (mode !== 'preview') {
    const prefix = operation.type === 'draft_create' || operation.type === 'draft_reply' ? 'drf' : 'req';
    return completed(await run(context, mailboxId, operation, admittedAs(context, prefix)));
  }
  const { contentHash } = await rehearse(context, mailboxId, operation);
  return previewOf(decideActionPolicy(context, mailboxId, [operation.type]), before, contentHash);
}

/** The current draft. Throws `not_found`, also for a draft of another mailbox. */
async function draftOf(context: Context, mailboxId: string, draftId: string): Promise<Draft> {
  const { id, state, mailbox } = await loadDraft(context, draftId, []);
  if (mailbox.id !== mailboxId) throw notFound('draft');
  return await draftPayload(context.ports, id, state);
}

async function run(
  context: Context,
  mailboxId: string,
  operation: DraftWriting,
  admit: Admit,
): Promise<Draft> {
  switch (operation.type) {
    case 'draft_create':
      return await startDraft(context, { ...operation.draft, mailbox_id: mailboxId }, admit);
    case 'draft_reply': {
      const { type: _type, ...reply } = operation;
      return await replyToThread(context, { ...reply, mailbox_id: mailboxId }, admit);
    }
    case 'draft_edit': {
      const { draft_id, expected_version, patch } = operation;
      return await patchDraft(context, { ...patch, draft_id, expected_version }, admit);
    }
    case 'draft_discard': {
      const { draft_id, expected_version } = operation;
      return await discardDraft(context, { draft_id, expected_version }, admit);
    }
  }
}

/** Ends a rehearsal where the write would begin. */
class WouldWrite extends Error {
  readonly write: DraftWrite;

  constructor(write: DraftWrite) {
    super('it would be written');
    this.write = write;
  }
}

/** Runs the change up to its admission: all other refusals come before it, and nothing is written. */
async function rehearse(context: Context, mailboxId: string, operation: DraftWriting): Promise<DraftWrite> {
  try {
    await run(context, mailboxId, operation, (write) => Promise.reject(new WouldWrite(write)));
  } catch (error) {
    if (error instanceof WouldWrite) return error.write;
    throw error;
  }
  throw new Error('a rehearsal wrote a draft');
}

/** The draft that an earlier request with this key wrote. */
export const replayDraft =
  <Input>(operation: DraftWriting): Replay<Input, OperationReply> =>
  async (id, _, context, settled) => {
    const isNew = operation.type === 'draft_create' || operation.type === 'draft_reply';
    const draft = isNew
      ? await startedBefore(context, id)
      : await changedBefore(context, operation.draft_id, { id, settled });
    return draft && { ...completed(draft), original_status: 'completed' };
  };

/** Sends or previews a draft. Throws what `send_draft` throws. */
export async function sendOrPreview(
  context: Context,
  { mailboxId, operation, mode, reason }: Act<DraftSend>,
): Promise<OperationReply> {
  const { draft_id: draftId, expected_version: expectedVersion } = operation;
  await draftOf(context, mailboxId, draftId);
  if (mode !== 'preview') {
    return await sendDraft(context, { capability: 'email_act', draftId, expectedVersion, mode, reason });
  }
  const present = await loadDraft(context, draftId, ['drafts:send']);
  assertVersion(present.state, expectedOf(context, expectedVersion));
  const loaded = await freedIfOver(context, present);
  assertSendable(loaded);
  const draft = await draftPayload(context.ports, draftId, loaded.state);
  return previewOf(await askPolicy(context, loaded), draft, draft.content_hash);
}

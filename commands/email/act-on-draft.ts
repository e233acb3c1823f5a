/** The operations of email.act that write a draft: the use cases of the draft routes, answered as an operation. */
import type { Draft } from '../operations/draft-shape.ts';
import type { Context, Replay } from '../kernel/capability.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import { type Admit, admittedAs, type DraftWrite, loadDraft } from '../drafts/load-draft.ts';
import { changedBefore, patchDraft } from '../drafts/edit-draft.ts';
import { discardDraft } from '../drafts/discard-draft.ts';
import { draftPayload, draftPreview } from '../drafts/draft-payload.ts';
import { replyToThread, startDraft, startedBefore } from '../drafts/start-draft.ts';
import type { Mode } from '../operations/authorize-operation.ts';
import type { OperationReply } from '../operations/operation.ts';
import { decideActionPolicy } from '../policy/decide-for-caller.ts';
import type { DraftWriting } from './act-operations.ts';

interface DraftAct {
  readonly mailboxId: string;
  readonly operation: DraftWriting;
  readonly mode: Mode;
}

/** No `operation_id`: unlike a send it is complete, and `GET /operations` does not list its key's claim. */
const completed = (draft: Draft): OperationReply => ({
  status: 'completed',
  results: [],
  draft_id: draft.id,
  draft,
});

/** Writes or previews a draft. Throws what the draft routes throw, and `operation_unsupported`. */
export async function writeDraft(
  context: Context,
  { mailboxId, operation, mode }: DraftAct,
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
  return draftPreview(decideActionPolicy(context, mailboxId, [operation.type]), before, contentHash);
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

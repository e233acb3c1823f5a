/** A draft as the API returns it. */
import type { Attachment, Draft } from '../operations/draft-shape.ts';
import type { OperationReply } from '../operations/operation.ts';
import type { PolicyDecision } from '../policy/decide-policy.ts';
import type { PersonalData } from '../ports/ports.ts';
import { approvalOfDraft, type DraftState, rfcMessageIdOf } from './draft.ts';
import { openJson, openText } from '../kernel/sealed-json.ts';
import { Threading } from './draft-events.ts';
import { attachmentsOf, type DraftAttachment, openEnvelope } from './draft-envelope.ts';

export const attachmentPayload = ({ content_id, id, ...shown }: DraftAttachment): Attachment => ({
  id,
  filename: shown.filename,
  content_type: shown.content_type,
  size: shown.size,
  sha256: shown.sha256,
  inline: content_id !== null,
  content_id,
});

const ERASED = { from: null, to: null, cc: null, bcc: null, reply_to: null, subject: null, headers: null };

/** Personal fields are null once the mailbox's key is erased. Expects the state of a started draft. */
export async function draftPayload(
  { personal }: { readonly personal: PersonalData },
  id: string,
  state: DraftState,
): Promise<Draft> {
  const { current, createdAt, updatedAt } = state;
  if (current === null || createdAt === null) throw new Error(`draft ${id} was never started`);
  const envelope = await openEnvelope(personal, current);
  const { from, to, cc, bcc, reply_to, subject, headers } = envelope ?? ERASED;
  const rejected = await rejectedOf(personal, state);
  const answered = await openJson(personal, state.threading, Threading);
  return {
    id,
    mailbox_id: state.mailboxId ?? '',
    status: state.status,
    kind: state.kind,
    source_message_id: state.sourceMessageId,
    from,
    to,
    cc,
    bcc,
    reply_to,
    subject,
    headers,
    attachments: attachmentsOf(current, envelope).map(attachmentPayload),
    in_reply_to: answered?.in_reply_to ?? null,
    content_hash: current.content_hash,
    version: current.version,
    revision: state.revision,
    approval_id: approvalOf(state),
    message_id: await openText(personal, rfcMessageIdOf(state)),
    ...retryOf(state),
    ...(rejected.length > 0 ? { rejected } : {}),
    ...(envelope?.skipped_recipients ? { skipped_recipients: envelope.skipped_recipients } : {}),
    ...(await reportsOf(personal, state)),
    created_by: state.createdBy ?? '',
    created_at: createdAt,
    updated_at: updatedAt ?? createdAt,
  };
}

/** The reply of a preview: nothing ran or was written. `draft` is the current one; null for a new one. */
export const draftPreview = (
  policy: PolicyDecision,
  draft: Draft | null,
  contentHash: string,
): OperationReply => ({
  status: 'preview',
  results: [],
  ...(draft === null ? {} : { draft_id: draft.id, draft }),
  preview: {
    content_hash: contentHash,
    items: [],
    policy: { decision: policy.decision, rule_id: policy.ruleId, version: policy.version },
  },
});

const SENT_BY: ReadonlySet<DraftState['status']> = new Set(['sending', 'sent', 'send_unknown']);

const approvalOf = (state: DraftState): string | null =>
  SENT_BY.has(state.status) ? (state.send?.frozen.approval_id ?? null) : approvalOfDraft(state);

/** No attempt follows for a draft that was discarded while it waited. */
const retryOf = ({ status, send }: DraftState): Pick<Draft, 'retry_at' | 'commit_at'> => {
  if (status !== 'sending' && status !== 'in_review') return {};
  const { retryAt = null, commitAt = null } = send ?? {};
  return { ...(retryAt && { retry_at: retryAt }), ...(commitAt && { commit_at: commitAt }) };
};

const rejectedOf = (
  personal: PersonalData,
  { outcome }: DraftState,
): Promise<NonNullable<Draft['rejected']>> =>
  Promise.all(
    (outcome?.rejected ?? []).map(async ({ address, smtp_status, response }) => ({
      address: await personal.open(address),
      smtp_status,
      response: await personal.open(response),
    })),
  );

async function reportsOf(
  personal: PersonalData,
  { reports }: DraftState,
): Promise<Pick<Draft, 'delivery_reports'>> {
  if (reports.length === 0) return {};
  const each = reports.flatMap(({ recipients, report_message_id, at }) =>
    recipients.map(async ({ address, action, status, diagnostic, remote_mta }) => ({
      message_id: report_message_id,
      recipient: await personal.open(address),
      action,
      status,
      diagnostic: await openText(personal, diagnostic),
      remote_mta: await openText(personal, remote_mta),
      at,
    })),
  );
  return { delivery_reports: await Promise.all(each) };
}

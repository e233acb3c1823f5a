/** GET /approvals/:approval_id/attachments/:index: what an approver would let out, byte for byte. */
import { z } from 'zod';
import { ByteAnswer, safeMediaType } from '../../commands/kernel/byte-answer.ts';
import { type Context, defineCapability } from '../../commands/kernel/capability.ts';
import { notFound } from '../../commands/values/errors.ts';
import { openManifest, type SendManifest } from '../../commands/operations/manifest.ts';
import type { OperationState } from '../../commands/operations/operation.ts';
import { frozenAttachment } from './frozen-attachment.ts';
import { inlineType } from './inline-type.ts';
import { ApprovalId, requestedApproval } from './requested-approval.ts';

const Input = z.strictObject({
  approval_id: ApprovalId,
  index: z
    .string()
    .regex(/^(0|[1-9]\d{0,3})$/, 'Expected the index of an attachment of the manifest, from 0.')
    .describe('Which of manifest.attachments, from 0.'),
  disposition: z
    .enum(['attachment', 'inline'])
    .optional()
    .describe(
      'inline shows plain text, PNG, JPEG, GIF and WebP, known by their bytes; all else is downloaded.',
    ),
});
type Input = z.output<typeof Input>;

export const downloadApprovalAttachment = defineCapability<Input, ByteAnswer>({
  name: 'download_approval_attachment',
  title: 'Download an attachment of an approval',
  summary: 'The bytes of an attachment as they would be sent; takes Range.',
  description:
    'One attachment of the mail an approval is about, from the frozen message itself: its hash is that of the manifest, or ' +
    'nothing is answered. approval_invalidated: the kept message was altered.',
  effect: 'read',
  access: { any: ['approvals:read'] },
  rest: { method: 'get', path: '/approvals/:approval_id/attachments/:index', answerBytes: '*/*' },
  tool: null,
  idempotency: { kind: 'none' },
  input: Input,
  output: ByteAnswer,
  handle: async ({ approval_id, index, disposition }, context) => {
    const { state } = await requestedApproval(context, approval_id);
    const manifest = await sendManifest(context, state);
    await context.recordRead({
      mailboxId: state.mailboxId ?? '',
      messageIds: [],
      what: 'attachment',
      approvalIds: [approval_id],
    });
    const { contentType, filename, size, head, read } = await frozenAttachment(
      context.ports,
      manifest,
      Number(index),
    );
    const shown = disposition === 'inline' ? inlineType(contentType, head) : null;
    return {
      contentType: shown ?? safeMediaType(contentType, null),
      filename,
      knownLength: size,
      length: () => Promise.resolve(size),
      read,
      ...(shown === null ? {} : { isInline: true }),
    };
  },
});

/** Throws `not_found` for an approval of message actions and once the mailbox was erased. */
async function sendManifest({ ports }: Context, { approval }: OperationState): Promise<SendManifest> {
  const requested = approval?.requested;
  const text = requested && (await ports.personal.open(requested.manifest));
  const manifest =
    text == null || requested === undefined ? null : openManifest(text, requested.content_hash);
  if (manifest?.kind !== 'send_draft') throw notFound('attachment');
  return manifest;
}

/** GET /approvals/:approval_id/attachments/:index: what an approver would let out, byte for byte. */
import { z } from 'zod';
import { ByteAnswer, safeMediaType } from '../../commands/kernel/byte-answer.ts';
import { type Context, defineCapability } from '../../commands/kernel/capability.ts';
import { notFound } from '../../commands/values/errors.ts';
import { openManifest, type SendManifest } from '../../commands/operations/manifest.ts';
import type { OperationState } from '../../commands/operations/operation.ts';
import { frozenAttachment } from './frozen-attachment.ts';
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

/** What a browser may show in place: plain text and four kinds of pictures, known by their first bytes. Pure. */

const text = (bytes: Uint8Array, from: number, to: number): string =>
  Buffer.from(bytes.subarray(from, to)).toString('latin1');

const PICTURES: readonly (readonly [type: string, isOne: (head: Uint8Array) => boolean])[] = [
  ['image/png', (head) => text(head, 0, 8) === '\u0089PNG\r\n\u001a\n'],
  ['image/jpeg', (head) => text(head, 0, 3) === '\u00ff\u00d8\u00ff'],
  ['image/gif', (head) => /^GIF8[79]a$/.test(text(head, 0, 6))],
  ['image/webp', (head) => text(head, 0, 4) === 'RIFF' && text(head, 8, 12) === 'WEBP'],
];

/** The media type to show it under; null for everything that is only to be downloaded. `head`: the first 4 KiB. */
export function inlineType(declared: string, head: Uint8Array): string | null {
  const picture = PICTURES.find(([, isOne]) => isOne(head));
  if (picture) return picture[0];
  return declared.toLowerCase() === 'text/plain' ? plainText(head) : null;
}

/** With a control character it is no text, and without UTF-8 nobody knows which. */
function plainText(head: Uint8Array): string | null {
  try {
    const shown = new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true });
    return /[\u0000-\u0008\u000b\u000e-\u001f\u007f]/.test(shown) ? null : 'text/plain; charset=utf-8';
  } catch {
    return null;
  }
}

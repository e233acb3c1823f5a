/** An attachment as a file. */
import { z } from 'zod';
import { ByteAnswer, safeMediaType } from '../../commands/kernel/byte-answer.ts';
import { defineCapability } from '../../commands/kernel/capability.ts';
import { MailboxIdParameter } from '../../commands/mail/select.ts';
import { AttachmentId } from './get-attachment.ts';
import { requestedAttachment } from './requested-attachment.ts';

const Input = z.strictObject({ mailbox_id: MailboxIdParameter, attachment_id: AttachmentId });
type Input = z.output<typeof Input>;

export const downloadAttachment = defineCapability<Input, ByteAnswer>({
  name: 'download_attachment',
  title: 'Download an attachment',
  summary: 'The bytes of an attachment, decoded and streamed; takes Range.',
  description: 'One attachment as a file, whole or one range of it.',
  effect: 'read',
  access: { any: ['attachments:read'], mailbox: (input) => input.mailbox_id },
  rest: { method: 'get', path: '/mailboxes/:mailbox_id/attachments/:attachment_id', answerBytes: '*/*' },
  tool: null,
  idempotency: { kind: 'none' },
  input: Input,
  output: ByteAnswer,
  handle: async ({ mailbox_id, attachment_id }, context) => {
    const { description, ...bytes } = await requestedAttachment(context, mailbox_id, attachment_id);
    const { contentType, charset, filename } = description;
    return { ...bytes, contentType: safeMediaType(contentType, charset), filename };
  },
});

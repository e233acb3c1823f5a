/** A message as stored on the mail server (RFC 5322). */
import { z } from 'zod';
import { ByteAnswer } from '../../commands/values/byte-streams.ts';
import { defineCapability } from '../../commands/kernel/capability.ts';
import { rawBytes } from '../../commands/kernel/received-part.ts';
import { MailboxIdParameter, MessageId } from '../../commands/mail/select.ts';
import { orStale, readable, requestedMessage } from './requested-message.ts';

const Input = z.strictObject({ mailbox_id: MailboxIdParameter, message_id: MessageId });
type Input = z.output<typeof Input>;

const MEDIA_TYPE = 'message/rfc822';

export const getRawMessage = defineCapability<Input, ByteAnswer>({
  name: 'get_raw_message',
  title: 'Raw message',
  summary: 'The message as the mail server has it, streamed.',
  description: 'The whole MIME source of one message, nothing decoded and nothing cleaned.',
  effect: 'read',
  access: { any: ['messages:raw'], mailbox: (input) => input.mailbox_id },
  rest: { method: 'get', path: '/mailboxes/:mailbox_id/messages/:message_id/raw', answerBytes: MEDIA_TYPE },
  tool: null,
  idempotency: { kind: 'none' },
  input: Input,
  output: ByteAnswer,
  handle: async ({ mailbox_id, message_id }, context) => {
    const { mail } = context.ports;
    const requested = requestedMessage(context, mailbox_id, message_id);
    const { mailbox, ref } = requested;
    const [found] = await mail.withMailbox(mailbox.id, 'interactive', (session) =>
      session.fetch([ref], 'place', null),
    );
    await orStale(context, requested, found);
    await context.recordRead({ mailboxId: mailbox.id, messageIds: [message_id], what: 'raw' });
    const source = { mail, mailboxId: mailbox.id, ref };
    return {
      contentType: MEDIA_TYPE,
      filename: `${message_id}.eml`,
      // Some servers report a wrong RFC822.SIZE, so no length is sent before the message was read.
      knownLength: null,
      length: async () => {
        let length = 0;
        for await (const piece of readable(context, requested, rawBytes(source, null)))
          length += piece.length;
        return length;
      },
      read: (from) => readable(context, requested, rawBytes(source, null, from)),
    };
  },
});

/** One message by its id, in full. */
import { z } from 'zod';
import { defineCapability } from '../../commands/kernel/capability.ts';
import { GatewayError } from '../../commands/values/errors.ts';
import { MailboxIdParameter, MessageId } from '../../commands/mail/select.ts';
import { bodyFields, BodyOffset, bodyScopes, bodyWindow, hasOffsets, textFor } from './body-choice.ts';
import { DEPTH_OF, Message, type Viewing } from './message-view.ts';
import { recordBodies } from './read-messages.ts';
import { showMessages } from './show-messages.ts';
import { orStale, requestedMessage } from './requested-message.ts';

const Input = z.strictObject({
  mailbox_id: MailboxIdParameter,
  message_id: MessageId,
  ...bodyFields,
  body_offset: BodyOffset.describe('Continue a long body: next_offset of the part before.'),
});
type Input = z.output<typeof Input>;

export const getMessage = defineCapability<Input, Message>({
  name: 'get_message',
  title: 'Read one message',
  summary: 'One message with all its headers, attachments and, on request, its body.',
  description: 'One message by id: headers, attachments, security, and its body with include_body.',
  effect: 'read',
  access: { any: ['messages:read'], mailbox: (input) => input.mailbox_id, needs: bodyScopes },
  rest: { method: 'get', path: '/mailboxes/:mailbox_id/messages/:message_id' },
  tool: null,
  idempotency: { kind: 'none' },
  input: Input,
  output: Message,
  handle: async (input, context) => {
    if (input.body_offset !== undefined && !hasOffsets(input)) throw withoutBody();
    const { ports } = context;
    const requested = requestedMessage(context, input.mailbox_id, input.message_id);
    const { mailbox, access, ref } = requested;
    const body = bodyWindow(input);
    const { textChars, bodySource } = textFor(body);
    const [fetched] = await ports.mail.withMailbox(mailbox.id, 'interactive', (mail) =>
      mail.fetch([ref], DEPTH_OF.full, textChars, bodySource),
    );
    const message = await orStale(context, requested, fetched);
    const viewing: Viewing = { mailbox, access, locators: ports.locators, view: 'full', body };
    const [{ show }] = await Promise.all([
      showMessages(ports, viewing, [message]),
      body && recordBodies(context, viewing, [message]),
    ]);
    return show(message);
  },
});

function withoutBody(): GatewayError {
  const message = 'body_offset needs include_body text, markdown or html.';
  return new GatewayError('invalid_request', message, {
    details: { issues: [{ path: 'body_offset', code: 'custom', message }] },
  });
}

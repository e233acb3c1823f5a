/** reply_to_thread: a reply to a message, to its sender or to everyone. */
import { Draft, draftETag, type SkippedRecipient } from '../operations/draft-shape.ts';
import { type Context, defineCapability } from '../kernel/capability.ts';
import { GatewayError } from '../values/errors.ts';
import type { Scope } from '../values/scopes.ts';
import { type Admit, admittedAs, mailboxFor } from './load-draft.ts';
import { nameAttachments } from './draft-attachments.ts';
import { ReplyInput } from './draft-input.ts';
import { addressOf, sendable } from './mail-address.ts';
import { EMPTY_BODY, renderBody, withAppendix } from './render-body.ts';
import { prefixed, quotedHistory, readSource, replyRecipients, threadingOf } from './source-message.ts';
import { scopesForAttachments, startedBefore, writeStart } from './start-draft.ts';
import { checkRecipients } from './write-version.ts';

export const scopesToReply = ({ attachments }: Pick<ReplyInput, 'attachments'>): readonly Scope[] => [
  'drafts:write',
  ...scopesForAttachments(attachments),
];

/**
 * Starts a reply. Addresses it cannot go to are listed in `skipped_recipients`. The message's text is quoted
 * for a caller who may read bodies. Throws `not_found`, `insufficient_scope`, `invalid_request`,
 * `payload_too_large`, `message_stale`.
 */
export async function replyToThread(context: Context, input: ReplyInput, admit: Admit): Promise<Draft> {
  const { mailbox, access } = mailboxFor(context, input.mailbox_id, ['drafts:write']);
  const source = await readSource(context, mailbox, access, input.message_id);
  const all = input.reply_all ?? false;
  const { to, cc, skipped } = replyRecipients(source, mailbox.email, all);
  const added = sendable((input.to_add ?? []).map(addressOf), to);
  const isAdded = new Set(added.map(({ email }) => email.toLowerCase()));
  const fields = {
    from: null,
    to: [...to, ...added],
    cc: cc.filter(({ email }) => !isAdded.has(email.toLowerCase())),
    bcc: [],
    reply_to: [],
    subject: prefixed('Re', source.message.subject),
    headers: {},
    ...(skipped.length > 0 ? { skipped_recipients: [...skipped] } : {}),
  };
  if (to.length + cc.length + added.length === 0) throw nobodyToAnswer(skipped);
  checkRecipients(fields);
  const on = { mailbox, access, draftId: null, present: [] };
  const attachments = await nameAttachments(context, on, input.attachments ?? []);
  const own = (await renderBody(context.ports.markup, input)) ?? EMPTY_BODY;
  const history = quotedHistory(source);
  return await writeStart(context, mailbox.id, admit, {
    kind: all ? 'reply_all' : 'reply',
    source,
    threading: threadingOf(source),
    parts: { fields, body: history ? withAppendix(own, history) : own, attachments },
  });
}

const nobodyToAnswer = (skipped: readonly SkippedRecipient[]): GatewayError =>
  new GatewayError(
    'invalid_request',
    'The message has no address that a reply can go to; add recipients with to_add.',
    { details: { skipped_recipients: skipped } },
  );

export const replyToThreadCapability = defineCapability<ReplyInput, Draft>({
  name: 'reply_to_thread',
  title: 'Reply to a thread',
  summary: 'Starts an answer to a message.',
  description:
    'Start an answer to a message, to its sender or with reply_all to everyone; nothing is sent. Recipients, subject, ' +
    'threading and the quoted text come from the message; to_add adds recipients. Write only your own words, as one of ' +
    'text, html and markdown. The answer is the draft; read what it says with get_draft and include_content.',
  effect: 'write',
  access: { any: ['drafts:write'], mailbox: ({ mailbox_id }) => mailbox_id, needs: scopesToReply },
  rest: {
    method: 'post',
    path: '/mailboxes/:mailbox_id/reply_to_thread',
    status: 201,
    location: ({ id }) => `/drafts/${id}`,
  },
  tool: {
    surface: 'granular',
    hints: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  },
  idempotency: {
    kind: 'claim',
    required: true,
    replay: (targetId, _, context) => startedBefore(context, targetId),
  },
  input: ReplyInput,
  output: Draft,
  etag: draftETag,
  handle: (input, context) => replyToThread(context, input, admittedAs(context, 'drf')),
});

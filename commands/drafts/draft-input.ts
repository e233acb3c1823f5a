/** The input fields of a draft. Text that could end a header line is refused here, in every field. */
import { z } from 'zod';
import { headerText, isCustomHeader, isStandardHeader, MAX_HEADER_CHARS } from '../values/header-fields.ts';
import { MailboxIdParameter } from '../mail/select.ts';
import { AddressInput } from './mail-address.ts';

/** `contract.md` 15, To, Cc and Bcc together; the total is tested when the draft is complete. */
const addresses = z.array(AddressInput).max(100);
const MAX_BODY_CHARS = 500_000;
/**
 * The time of the Markdown parser can grow with the square of the input; this much takes a few seconds at
 * most.
 */
const MAX_MARKDOWN_CHARS = 50_000;
const MAX_HEADERS = 20;
export const MAX_ATTACHMENTS = 100;
const MAX_FILENAME_CHARS = 150;

const HeaderName = z
  .string()
  .refine(
    (name) => isStandardHeader(name) || isCustomHeader(name),
    'This header cannot be set here; List- fields can, and X- fields that the policy lists.',
  );

export const Headers = z
  .record(HeaderName, headerText(MAX_HEADER_CHARS).min(1))
  .refine((headers) => Object.keys(headers).length <= MAX_HEADERS, `At most ${String(MAX_HEADERS)} headers.`)
  .refine((headers) => {
    const names = Object.keys(headers).map((name) => name.toLowerCase());
    return new Set(names).size === names.length;
  }, 'Each header may be named once.')
  .describe("List-…, Importance, X- names of the policy's custom_headers.");

export const Filename = headerText(MAX_FILENAME_CHARS)
  .min(1)
  .refine((name) => !/[/\\]/.test(name) && !/^\.{1,2}$/.test(name), 'A name without folders.');

/** RFC 6838 4.2, with at most a charset: other parameters are not sent on. */
const MEDIA_TYPE =
  /^([a-z0-9][\w!#$&^.+-]{0,126}\/[a-z0-9][\w!#$&^.+-]{0,126})(?:\s*;\s*charset="?([\w.:+-]{1,40})"?)?$/i;

export const isMediaType = (text: string): boolean => MEDIA_TYPE.test(text);

/** Returns lower case, the charset without quotes. Expects a text that `isMediaType` accepts. */
export function mediaTypeOf(text: string): string {
  const [, type = 'application/octet-stream', charset] = MEDIA_TYPE.exec(text) ?? [];
  return charset === undefined
    ? type.toLowerCase()
    : `${type.toLowerCase()}; charset=${charset.toLowerCase()}`;
}

const MediaType = z.string().refine(isMediaType, 'A media type such as application/pdf.');
const CONTENT_ID = /^[\w.+-]{1,100}(?:@[a-zA-Z0-9.-]{1,100})?$/;

/** Without its brackets. Such a Content-ID has the same form in a header and in a `cid:` address. */
export const isContentId = (text: string): boolean => CONTENT_ID.test(text);

const ContentId = z.string().regex(CONTENT_ID).describe('Inline part; the HTML names it cid:….');

/** A request takes 256 KiB inline in total (`contract.md` 7); this limits one attachment, encoded. */
const MAX_INLINE_CHARS = 352_000;

export const AttachmentInput = z
  .union(
    [
      z.strictObject({
        id: z.string().min(1).max(80),
        filename: Filename.optional(),
        content_id: ContentId.optional(),
      }),
      z.strictObject({
        filename: Filename,
        content_type: MediaType.optional(),
        content_base64: z.base64().max(MAX_INLINE_CHARS),
        content_id: ContentId.optional(),
      }),
    ],
    'must be {"id"} of an upload or of an attachment of a message, or {"filename", "content_base64"}',
  )
  .describe('An upl_ or att_ id, or a small file as content_base64 (256 KiB in all).');
export type AttachmentInput = z.output<typeof AttachmentInput>;

const attachmentList = z.array(AttachmentInput).max(MAX_ATTACHMENTS);
const bodyText = z.string().max(MAX_BODY_CHARS);
const markdownText = z.string().max(MAX_MARKDOWN_CHARS);
const subject = headerText(MAX_HEADER_CHARS);

const bodyFields = {
  text: bodyText.optional(),
  html: bodyText.optional(),
  markdown: markdownText.optional(),
};

export interface BodyInput {
  readonly text?: string | null | undefined;
  readonly html?: string | null | undefined;
  readonly markdown?: string | null | undefined;
}

const bodiesIn = ({ text, html, markdown }: BodyInput): number =>
  [text, html, markdown].filter((body) => body != null).length;
export const ONE_BODY = { message: 'Give the body as one of text, html and markdown.', path: ['text'] };
export const atMostOneBody = (input: BodyInput): boolean => bodiesIn(input) <= 1;
export const exactlyOneBody = (input: BodyInput): boolean => bodiesIn(input) === 1;

const AddressField = AddressInput.describe("The mailbox's own address, with any name.");
export const ExpectedVersion = z.int().min(1).optional().describe('Refused when the draft has another.');
export const DraftId = z.string().min(1).max(64);

const newFields = {
  to: addresses.optional(),
  cc: addresses.optional(),
  bcc: addresses.optional(),
  from: AddressField.optional(),
  reply_to: addresses.optional(),
  subject: subject.optional(),
  headers: Headers.optional(),
  ...bodyFields,
  attachments: attachmentList.optional(),
};

/** The fields that start a draft, in every capability that starts one. */
export const NewDraftFields = {
  ...newFields,
  forward_of: z.string().min(1).max(80).optional().describe('A message to forward, its attachments too.'),
};
export const StartDraftInput = z
  .strictObject({ mailbox_id: MailboxIdParameter, ...NewDraftFields })
  .refine(atMostOneBody, ONE_BODY);
export type StartDraftInput = z.output<typeof StartDraftInput>;

export const ReplyFields = {
  message_id: z.string().min(1).max(80).describe('The message to answer.'),
  reply_all: z.boolean().optional().describe('To everyone; else to the sender alone.'),
  ...bodyFields,
  to_add: addresses.optional().describe('Further recipients.'),
  attachments: attachmentList.optional(),
};
export const ReplyInput = z
  .strictObject({ mailbox_id: MailboxIdParameter, ...ReplyFields })
  .refine(exactlyOneBody, ONE_BODY);
export type ReplyInput = z.output<typeof ReplyInput>;

export const EditDraftInput = z
  .strictObject({
    draft_id: DraftId,
    expected_version: ExpectedVersion,
    to: addresses,
    cc: addresses,
    bcc: addresses,
    subject,
    ...bodyFields,
    attachments: attachmentList,
    from: AddressField.optional(),
    reply_to: addresses.optional(),
    headers: Headers.optional(),
  })
  .refine(exactlyOneBody, ONE_BODY);
export type EditDraftInput = z.output<typeof EditDraftInput>;

/** Absent = keep, null = clear. */
export const PatchFields = {
  to: addresses.nullable().optional(),
  cc: addresses.nullable().optional(),
  bcc: addresses.nullable().optional(),
  from: AddressField.nullable().optional(),
  reply_to: addresses.nullable().optional(),
  subject: subject.nullable().optional(),
  headers: Headers.nullable().optional(),
  text: bodyText.nullable().optional().describe('The new body; null empties it.'),
  html: bodyText.nullable().optional().describe('The new body; null leaves its plain text.'),
  markdown: markdownText.nullable().optional().describe('The new body; null leaves its plain text.'),
  attachments: z
    .strictObject({
      add: attachmentList.optional(),
      remove: z.array(z.string().min(1).max(80)).max(MAX_ATTACHMENTS).optional().describe('Attachment ids.'),
    })
    .nullable()
    .optional()
    .describe('null removes all.'),
};
export const PatchDraftInput = z
  .strictObject({ draft_id: DraftId, expected_version: ExpectedVersion, ...PatchFields })
  .refine(atMostOneBody, ONE_BODY);
export type PatchDraftInput = z.output<typeof PatchDraftInput>;

export const DiscardDraftInput = z.strictObject({ draft_id: DraftId, expected_version: ExpectedVersion });
export type DiscardDraftInput = z.output<typeof DiscardDraftInput>;

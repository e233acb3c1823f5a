/** POST /drafts/:draft_id/attachments: stores a file in the content store, for the draft to refer to. */
import { z } from 'zod';
import { uploadEntry } from '../kernel/access-events.ts';
import { type Context, defineCapability } from '../kernel/capability.ts';
import { GatewayError } from '../values/errors.ts';
import { UploadedBytes } from '../values/byte-streams.ts';
import { assertEditable } from './decide-draft.ts';
import { DraftId, Filename, isMediaType, mediaTypeOf } from './draft-input.ts';
import { loadDraft } from './load-draft.ts';

/** `contract.md` 7. */
const MAX_UPLOAD_BYTES = 25 * 1024 * 1024;
/** An upload that no version names by then is erased. */
const UNUSED_FOR_MS = 24 * 3_600_000;

const Input = z.strictObject({
  draft_id: DraftId,
  filename: Filename.optional(),
  content: UploadedBytes,
});
type Input = z.output<typeof Input>;

const Output = z.object({
  id: z.string(),
  filename: z.string().nullable(),
  content_type: z.string(),
  size: z.int(),
  sha256: z.string(),
});
type Output = z.output<typeof Output>;

const tooLarge = (): GatewayError =>
  new GatewayError('payload_too_large', 'An attachment has at most 25 MiB.', {
    details: { max_bytes: MAX_UPLOAD_BYTES },
  });

/** The media type of the body. Parameters other than the charset say nothing about the file. */
function typeOf(contentType: string | null): string {
  const [type = '', ...parameters] = (contentType ?? 'application/octet-stream').split(';');
  const charset = parameters.find((parameter) => /^\s*charset=/i.test(parameter));
  const named = [type.trim(), charset?.trim()].filter((part) => part !== undefined).join('; ');
  if (isMediaType(named) && !named.toLowerCase().startsWith('multipart/')) return mediaTypeOf(named);
  throw new GatewayError(
    'unsupported_media_type',
    'Send the bytes of one file as the body, its media type as Content-Type.',
  );
}

async function upload(input: Input, context: Context): Promise<Output> {
  const { ports } = context;
  const { id: draftId, state, mailbox } = await loadDraft(context, input.draft_id, ['drafts:write']);
  assertEditable(state);
  const { contentType, length, bytes } = input.content;
  if (length !== null && length > MAX_UPLOAD_BYTES) throw tooLarge();
  const { id, filename, size, sha256, ...stored } = await ports.content.put(
    {
      id: ports.ids.newId('upl'),
      kind: 'upload',
      owner: { mailboxId: mailbox.id, draftId },
      filename: input.filename ?? null,
      contentType: typeOf(contentType),
      maxBytes: MAX_UPLOAD_BYTES,
      expiresAt: new Date(ports.clock.now().getTime() + UNUSED_FOR_MS),
    },
    bytes,
  );
  const uploaded = { mailbox_id: mailbox.id, draft_id: draftId, upload_id: id, size };
  await ports.accessLog.record(uploadEntry(context.author, ports.clock.now(), uploaded));
  return { id, filename, content_type: stored.contentType, size, sha256 };
}

export const uploadAttachment = defineCapability<Input, Output>({
  name: 'upload_attachment',
  title: 'Upload an attachment',
  summary: 'Takes the raw body as a file that the draft can refer to.',
  description:
    'The body is the file itself, at most 25 MiB, its media type the Content-Type. Nothing is attached yet: name the id ' +
    'under attachments in patch_draft or edit_draft of the same draft within 24 hours.',
  effect: 'write',
  access: { any: ['drafts:write'] },
  rest: { method: 'post', path: '/drafts/:draft_id/attachments', status: 201, bodyBytes: 'content' },
  tool: null,
  idempotency: { kind: 'none' },
  input: Input,
  output: Output,
  handle: upload,
});

/** GET /approvals/:approval_id/attachments/:index: an attachment of a send, exactly the bytes that were or would be sent. */
import { z } from 'zod';
import { ByteAnswer, safeMediaType } from '../../commands/values/byte-streams.ts';
import { type Context, defineCapability } from '../../commands/kernel/capability.ts';
import { GatewayError, notFound } from '../../commands/values/errors.ts';
import { openManifest, type SendManifest } from '../../commands/operations/manifest.ts';
import type { OperationState } from '../../commands/operations/operation.ts';
import { ApprovalId, requestedApproval } from './approval-access.ts';
import { createHash, type Hash } from 'node:crypto';
import { ContentAltered } from '../../commands/ports/content-store.ts';
import { leavesOf } from '../../commands/mail/message-leaves.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import { frozenMessageId } from './preview/send.ts';

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
      'inline shows plain text, PNG, JPEG, GIF and WebP, recognised by their bytes; everything else is downloaded.',
    ),
});
type Input = z.output<typeof Input>;

export const downloadApprovalAttachment = defineCapability<Input, ByteAnswer>({
  name: 'download_approval_attachment',
  title: 'Download an attachment of an approval',
  summary: 'The bytes of an attachment as they would be sent; takes Range.',
  description:
    'One attachment of the mail an approval is about, from the frozen message itself: its hash is that of the manifest, or ' +
    'nothing is returned. approval_invalidated: the stored message was altered.',
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

const text = (bytes: Uint8Array, from: number, to: number): string =>
  Buffer.from(bytes.subarray(from, to)).toString('latin1');

const PICTURES: readonly (readonly [type: string, isOne: (head: Uint8Array) => boolean])[] = [
  ['image/png', (head) => text(head, 0, 8) === '\u0089PNG\r\n\u001a\n'],
  ['image/jpeg', (head) => text(head, 0, 3) === '\u00ff\u00d8\u00ff'],
  ['image/gif', (head) => /^GIF8[79]a$/.test(text(head, 0, 6))],
  ['image/webp', (head) => text(head, 0, 4) === 'RIFF' && text(head, 8, 12) === 'WEBP'],
];

/** The media type for showing it in the browser; null = download only. `head`: the first 4 KiB. */
export function inlineType(declared: string, head: Uint8Array): string | null {
  const picture = PICTURES.find(([, isOne]) => isOne(head));
  if (picture) return picture[0];
  return declared.toLowerCase() === 'text/plain' ? plainText(head) : null;
}

/** Not with control characters, and only valid UTF-8, because other encodings are unknown. */
function plainText(head: Uint8Array): string | null {
  try {
    const shown = new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true });
    return /[\u0000-\u0008\u000b\u000e-\u001f\u007f]/.test(shown) ? null : 'text/plain; charset=utf-8';
  } catch {
    return null;
  }
}

interface FrozenAttachment {
  readonly filename: string | null;
  /** As declared. */
  readonly contentType: string;
  readonly size: number;
  /** The first bytes, at most 4 KiB. */
  readonly head: Uint8Array;
  /** Decoded bytes from an offset on. Throws `store_unavailable`. */
  readonly read: (from: number) => AsyncIterable<Uint8Array>;
}

const HEAD_BYTES = 4_096;

interface Leaf {
  readonly hash: Hash;
  head: Buffer;
}

/**
 * The attachment with this index in the manifest. The whole message is hashed before the first byte leaves. Throws
 * `not_found` for an unknown index and erased content, `approval_invalidated` when the bytes do not match the
 * manifest, `store_unavailable`.
 */
async function frozenAttachment(
  { events, content }: Pick<Ports, 'events' | 'content'>,
  manifest: SendManifest,
  index: number,
): Promise<FrozenAttachment> {
  const wanted = manifest.attachments[index];
  const mimeId = await frozenMessageId(events, manifest);
  if (wanted === undefined || mimeId === null) throw notFound('attachment');
  const leaves = await intactLeaves(content.open(mimeId), manifest.mime_sha256);
  const found = [...leaves].find(([, { hash }]) => hash.copy().digest('hex') === wanted.sha256);
  // An empty part has no bytes to hash and matches by its size.
  if (found === undefined && wanted.size > 0) throw altered();
  const [leaf, { head }] = found ?? [-1, { head: Buffer.alloc(0) }];
  return {
    filename: wanted.filename,
    contentType: wanted.content_type,
    size: wanted.size,
    head,
    read: (from) => bytesOf(content.open(mimeId), leaf, from),
  };
}

/** The hash of each part. Throws `approval_invalidated` when the message does not have this hash. */
async function intactLeaves(
  bytes: AsyncIterable<Uint8Array>,
  sha256: string,
): Promise<ReadonlyMap<number, Leaf>> {
  const message = createHash('sha256');
  const leaves = new Map<number, Leaf>();
  try {
    for await (const { leaf, bytes: some } of leavesOf(hashed(bytes, message))) {
      const known = leaves.get(leaf) ?? { hash: createHash('sha256'), head: Buffer.alloc(0) };
      known.hash.update(some);
      if (known.head.length < HEAD_BYTES)
        known.head = Buffer.concat([known.head, some]).subarray(0, HEAD_BYTES);
      leaves.set(leaf, known);
    }
  } catch (error) {
    if (error instanceof ContentAltered) throw altered();
    throw error;
  }
  if (message.digest('hex') !== sha256) throw altered();
  return leaves;
}

async function* hashed(bytes: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const piece of bytes) {
    hash.update(piece);
    yield piece;
  }
}

async function* bytesOf(
  message: AsyncIterable<Uint8Array>,
  wanted: number,
  from: number,
): AsyncGenerator<Uint8Array> {
  let skip = from;
  for await (const { leaf, bytes } of leavesOf(message)) {
    if (leaf > wanted) return;
    if (leaf < wanted) continue;
    if (skip < bytes.length) yield bytes.subarray(skip);
    skip = Math.max(0, skip - bytes.length);
  }
}

const altered = (): GatewayError =>
  new GatewayError(
    'approval_invalidated',
    'The stored message does not match the manifest; nothing of it is returned.',
    {
      details: { reason: 'manifest_mismatch' },
    },
  );

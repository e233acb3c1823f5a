/** An attachment as it lies in the frozen message of a send: exactly the bytes that were or would be sent. */
import { createHash, type Hash } from 'node:crypto';
import { ContentAltered } from '../../commands/ports/content-store.ts';
import { GatewayError, notFound } from '../../commands/values/errors.ts';
import { leavesOf } from '../../commands/mail/message-leaves.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import type { SendManifest } from '../../commands/operations/manifest.ts';
import { frozenMessageId } from './frozen-send.ts';

export interface FrozenAttachment {
  readonly filename: string | null;
  /** As it was declared. */
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
 * The attachment with this index in the manifest. The whole message is read and hashed before anything is handed out: throws
 * `not_found` for an index that is none and for what was erased, `approval_invalidated` when the bytes are not those of the
 * manifest, `store_unavailable`.
 */
export async function frozenAttachment(
  { events, content }: Pick<Ports, 'events' | 'content'>,
  manifest: SendManifest,
  index: number,
): Promise<FrozenAttachment> {
  const wanted = manifest.attachments[index];
  const mimeId = await frozenMessageId(events, manifest);
  if (wanted === undefined || mimeId === null) throw notFound('attachment');
  const leaves = await intactLeaves(content.open(mimeId), manifest.mime_sha256);
  const found = [...leaves].find(([, { hash }]) => hash.copy().digest('hex') === wanted.sha256);
  // A part without a byte is told by nothing but its size.
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

/** Each part hashed, of a message with this hash. Throws `approval_invalidated` for another one. */
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
    'The kept message is not the one of the manifest; nothing is shown of it.',
    {
      details: { reason: 'manifest_mismatch' },
    },
  );

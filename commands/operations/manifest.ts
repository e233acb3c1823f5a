/** Exactly what an approval covers (`contract.md` 9): built by the server, hashed, executed unchanged. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { canonicalJson } from '../values/canonical-json.ts';
import { ActionStep } from './operation-events.ts';

/** One message an operation would change. */
export const ManifestItem = z.object({
  message_id: z.string(),
  /** RFC 5322 Message-ID. */
  rfc_message_id: z.string().nullable(),
  /** HMAC-SHA-256 of the decoded subject under the nonce; null without a subject. */
  subject_hash: z.string().nullable(),
  /** The path of its folder at the request for approval. */
  folder: z.string(),
});
export type ManifestItem = z.output<typeof ManifestItem>;

const address = z.object({ name: z.string().nullable(), email: z.string() });

export const ActionsManifest = z.object({
  kind: z.literal('message_actions'),
  /** 128 random bits in hex: a hash must not reveal what is easily guessed. */
  nonce: z.string(),
  operation_id: z.string(),
  mailbox_id: z.string(),
  /** In order on each message. */
  steps: z.array(ActionStep.extend({ folder_path: z.string().optional() })),
  items: z.array(ManifestItem),
});
export type ActionsManifest = z.output<typeof ActionsManifest>;

export const SendManifest = z.object({
  kind: z.literal('send_draft'),
  nonce: z.string(),
  operation_id: z.string(),
  mailbox_id: z.string(),
  draft_id: z.string(),
  draft_version: z.int(),
  /** SMTP envelope: every recipient, Bcc included. */
  envelope: z.object({ from: z.string(), to: z.array(z.string()) }),
  headers: z.object({
    from: address,
    to: z.array(address),
    cc: z.array(address),
    bcc: z.array(address),
    reply_to: z.array(address),
    subject: z.string(),
    message_id: z.string(),
    in_reply_to: z.string().nullable(),
    references: z.array(z.string()),
    /** Headers that the writer added, in the order of the message. */
    other: z.array(z.object({ name: z.string(), value: z.string() })),
  }),
  /** SHA-256 of the canonical JSON `{html, text}` of both parts as they are sent, in hex. */
  body_sha256: z.string(),
  attachments: z.array(
    z.object({
      filename: z.string().nullable(),
      content_type: z.string(),
      /** The type by its leading bytes; absent where they show none. */
      sniffed_type: z.string().optional(),
      size: z.int(),
      sha256: z.string(),
    }),
  ),
  /** SHA-256 of the final message without its `Date`. */
  mime_sha256: z.string(),
  mime_size: z.int(),
});
export type SendManifest = z.output<typeof SendManifest>;

export const Manifest = z.discriminatedUnion('kind', [ActionsManifest, SendManifest]);
export type Manifest = z.output<typeof Manifest>;

/** The bytes hashed and stored (RFC 8785). Throws for a lone surrogate, as 3.2.2.2 requires. */
export function manifestText(manifest: Manifest): string {
  const text = canonicalJson(manifest);
  if (isWellFormed(JSON.parse(text))) return text;
  throw new Error('a manifest holds half a surrogate pair');
}

const isWellFormed = (value: unknown): boolean =>
  typeof value === 'string'
    ? value.isWellFormed()
    : value === null || typeof value !== 'object' || Object.values(value).every(isWellFormed);

/** SHA-256 of the manifest's bytes, in hex. */
export const contentHashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The manifest behind a hash. Null when the text has another hash, or is no manifest. */
export function openManifest(text: string, contentHash: string): Manifest | null {
  if (contentHashOf(text) !== contentHash) return null;
  const parsed = Manifest.safeParse(JSON.parse(text));
  return parsed.success ? parsed.data : null;
}

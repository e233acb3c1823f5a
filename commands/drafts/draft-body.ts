/** The body of one version, in the content store: the parts as they are sent, and their Markdown source. */
import { z } from 'zod';
import { type ContentOwner, type ContentStore, readText } from '../ports/content-store.ts';
import { GatewayError } from '../values/errors.ts';

export const DraftBody = z.object({
  text: z.string(),
  /** Null = sent as plain text only. */
  html: z.string().nullable(),
  /** What the caller wrote, where it was Markdown. */
  markdown: z.string().nullable(),
});
export type DraftBody = z.output<typeof DraftBody>;

/** A rendered, quoted and escaped body is far below this. */
const MAX_BODY_BYTES = 16 * 1024 * 1024;

/**
 * Stores a body under a new id. It does not expire before its draft is erased, because a version will name
 * it.
 */
export async function storeBody(
  content: ContentStore,
  id: string,
  owner: ContentOwner,
  body: DraftBody,
): Promise<string> {
  const facts = { id, kind: 'body', owner, filename: null, contentType: 'application/json' } as const;
  const bytes = Buffer.from(JSON.stringify(body));
  await content.put({ ...facts, maxBytes: MAX_BODY_BYTES, expiresAt: null }, inOnePiece(bytes));
  return id;
}

export async function* inOnePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes;
}

/** Null when it was erased with its draft. */
export async function loadBody(content: ContentStore, contentId: string): Promise<DraftBody | null> {
  try {
    return DraftBody.parse(JSON.parse(await readText(content, contentId)));
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'not_found') return null;
    throw error;
  }
}

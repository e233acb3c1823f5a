/** What a send was fixed as, found again in the stream of its draft and the content store. */
import { createHash } from 'node:crypto';
import { ContentAltered, type ContentStore } from '../../commands/ports/content-store.ts';
import { streamOf } from '../../commands/kernel/decide-and-append.ts';
import { GatewayError } from '../../commands/values/errors.ts';
import { type PastFact, readEvent } from '../../commands/values/event.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import { draft } from '../../commands/drafts/draft.ts';
import { type DraftBody, loadBody } from '../../commands/drafts/draft-body.ts';
import type { draftEvents } from '../../commands/drafts/draft-events.ts';
import { bodyHash } from '../../commands/sending/build-send-manifest.ts';
import type { SendManifest } from '../../commands/operations/manifest.ts';

export interface FrozenSend {
  /** Null = erased; `altered` = not the text the manifest's hash was made of. */
  readonly body: Pick<DraftBody, 'html' | 'text'> | 'altered' | null;
  /** The kept message beside the manifest's hash. */
  readonly message: 'same' | 'altered' | 'gone';
}

type Where = Pick<Ports, 'events' | 'content'>;

/** Reads the text and the whole kept message. Throws `store_unavailable`. */
export async function loadFrozenSend(
  { events, content }: Where,
  manifest: SendManifest,
): Promise<FrozenSend> {
  const facts = await factsOf(events, manifest);
  const [body, message] = await Promise.all([
    bodyOf(content, facts, manifest),
    messageOf(content, facts, manifest),
  ]);
  return { body, message };
}

type Facts = readonly PastFact<(typeof draftEvents)[number]>[];

const factsOf = async (events: Where['events'], { draft_id }: SendManifest): Promise<Facts> =>
  (await events.readStream(streamOf(draft, draft_id))).flatMap(
    (stored) => readEvent(draft.catalogue, stored) ?? [],
  ) as Facts;

/** Under which id the message was kept; null when it was never frozen for this. Throws `store_unavailable`. */
export const frozenMessageId = async (
  events: Where['events'],
  manifest: SendManifest,
): Promise<string | null> => messageIdOf(await factsOf(events, manifest), manifest);

function messageIdOf(facts: Facts, { operation_id }: SendManifest): string | null {
  const frozen = facts.findLast(
    (fact) => fact.type === 'DraftFrozen' && fact.data.operation_id === operation_id,
  );
  return frozen?.type === 'DraftFrozen' ? frozen.data.mime_id : null;
}

async function bodyOf(
  content: ContentStore,
  facts: Facts,
  manifest: SendManifest,
): Promise<FrozenSend['body']> {
  const versions = facts.flatMap((fact) =>
    fact.type === 'DraftStarted' || fact.type === 'DraftEdited' ? [fact.data.draft] : [],
  );
  const version = versions.find((each) => each.version === manifest.draft_version);
  if (!version) return null;
  const body = await intact(() => loadBody(content, version.content_id));
  return body === null || body === 'altered' || bodyHash(body) === manifest.body_sha256 ? body : 'altered';
}

async function messageOf(
  content: ContentStore,
  facts: Facts,
  manifest: SendManifest,
): Promise<FrozenSend['message']> {
  const id = messageIdOf(facts, manifest);
  const kept = id === null ? null : await intact(() => hashOf(content, id));
  if (kept === null) return 'gone';
  return kept === manifest.mime_sha256 ? 'same' : 'altered';
}

/** SHA-256 of the bytes as they lie there, in hex. */
async function hashOf(content: ContentStore, id: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of content.open(id)) hash.update(piece);
  return hash.digest('hex');
}

/** What is gone is null, what was tampered with is told as that. */
async function intact<T>(read: () => Promise<T>): Promise<T | 'altered' | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ContentAltered) return 'altered';
    if (error instanceof GatewayError && error.code === 'not_found') return null;
    throw error;
  }
}

/** The contents beside the lines of evidence: what the approval is about, as far as it is still kept. */
import type { Context } from '../../../commands/kernel/capability.ts';
import { openManifest } from '../../../commands/operations/manifest.ts';
import type { OperationState } from '../../../commands/operations/operation.ts';
import { ContentAltered } from '../../../commands/ports/content-store.ts';
import type { Ports } from '../../../commands/ports/ports.ts';
import { canonicalJson } from '../../../commands/values/canonical-json.ts';
import { GatewayError } from '../../../commands/values/errors.ts';
import type { StoredEvent } from '../../../commands/values/event.ts';
import { MOST_BYTES } from '../../../projections/audit-export.ts';
import type { FileContent } from '../../audit/audit-file.ts';
import { approvalPreview } from '../preview/approval-preview.ts';
import { frozenMessageId } from '../preview/send.ts';

/** The names are those of `docs/audit-format.md` 9. A content that is erased, altered or too large is not there. */
export async function evidenceContents(
  context: Pick<Context, 'caller' | 'ports'>,
  state: OperationState,
  approvalId: string,
): Promise<readonly FileContent[]> {
  const { ports } = context;
  const requested = state.approval?.requested;
  if (requested === undefined) return [];
  const text = await ports.personal.open(requested.manifest);
  if (text === null) return [];
  const { text: preview } = await approvalPreview(context, state, approvalId);
  const manifest = openManifest(text, requested.content_hash);
  const message = manifest?.kind === 'send_draft' ? await keptMessage(ports, manifest) : null;
  return [
    asText('manifest', text),
    asText('preview.txt', preview.toWellFormed()),
    ...(message === null ? [] : [{ name: 'message.eml', bytes: message, as: 'base64' as const }]),
  ].filter(isShort);
}

/** The policy that decided, as its event holds it; nothing for the built-in one. */
export const policyContent = ([policy]: readonly StoredEvent[]): readonly FileContent[] =>
  policy === undefined ? [] : [asText('policy.json', canonicalJson(policy.data))].filter(isShort);

function asText(name: string, text: string): FileContent {
  return { name, bytes: Buffer.from(text), as: 'text' };
}

/** Of a record what is not content; base64 and escapes make a content longer. */
const AROUND = 1_000;

function isShort({ bytes, as }: FileContent): boolean {
  const length =
    as === 'base64'
      ? Math.ceil(bytes.length / 3) * 4
      : Buffer.byteLength(JSON.stringify(Buffer.from(bytes).toString()));
  return length + AROUND <= MOST_BYTES;
}

const MOST_MESSAGE_BYTES = ((MOST_BYTES - AROUND) / 4) * 3;

/** The frozen message, without a date; null once it is gone, where it was altered, and where it is too large. */
async function keptMessage(
  { events, content }: Pick<Ports, 'events' | 'content'>,
  manifest: Parameters<typeof frozenMessageId>[1],
): Promise<Buffer | null> {
  const id = await frozenMessageId(events, manifest);
  if (id === null || manifest.mime_size > MOST_MESSAGE_BYTES) return null;
  try {
    const pieces: Uint8Array[] = [];
    for await (const piece of content.open(id)) pieces.push(piece);
    return Buffer.concat(pieces);
  } catch (error) {
    if (error instanceof ContentAltered) return null;
    if (error instanceof GatewayError && error.code === 'not_found') return null;
    throw error;
  }
}

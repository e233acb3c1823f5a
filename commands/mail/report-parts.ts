/**
 * The parts of a small message that a machine wrote, from its first bytes, all in memory. Never fails; bounded whatever the
 * text.
 */
import { decodePiece, type TransferEncoding } from './transfer-decoding.ts';

const MOST_PARTS = 50;
const MOST_DEPTH = 4;
const MOST_HEADERS = 500;
const LONGEST_LINE = 2_000;

export type Headers = ReadonlyMap<string, readonly string[]>;

export interface Entity {
  readonly headers: Headers;
  /** One character per byte. */
  readonly body: string;
}

export interface Leaf {
  readonly type: string;
  readonly text: string;
}

export function entityOf(raw: string): Entity {
  if (/^\r?\n/.test(raw)) return { headers: new Map(), body: raw };
  const end = /\r?\n\r?\n/.exec(raw);
  if (end === null) return { headers: headersOf(raw), body: '' };
  return { headers: headersOf(raw.slice(0, end.index)), body: raw.slice(end.index + end[0].length) };
}

export function headersOf(block: string): Headers {
  const headers = new Map<string, string[]>();
  const lines = block.replace(/\r?\n[ \t]+/g, ' ').split(/\r?\n/, MOST_HEADERS);
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon)).trim().toLowerCase();
    if (name === '') continue;
    const value = line.slice(colon + 1, colon + 1 + LONGEST_LINE).trim();
    headers.set(name, [...(headers.get(name) ?? []), value]);
  }
  return headers;
}

export const first = (headers: Headers, name: string): string => headers.get(name)?.[0] ?? '';

/** A message inside is one leaf: what it contains is not what this message says. */
export function leavesOf(entity: Entity, depth: number): readonly Leaf[] {
  const contentType = first(entity.headers, 'content-type');
  const type = (/^[\w.+-]+\/[\w.+-]+/.exec(contentType)?.[0] ?? 'text/plain').toLowerCase();
  if (!type.startsWith('multipart/')) return [{ type, text: textOf(entity, contentType) }];
  const [, quoted, bare] = /;\s*boundary\s*=\s*(?:"([^"]+)"|([^\s;"]+))/i.exec(contentType) ?? [];
  const boundary = quoted ?? bare;
  if (boundary === undefined || depth >= MOST_DEPTH) return [];
  const inside = partsOf(entity.body, boundary).flatMap((part) => leavesOf(entityOf(part), depth + 1));
  return inside.slice(0, MOST_PARTS);
}

/** The last part may be cut off. */
function partsOf(body: string, boundary: string): readonly string[] {
  const marker = `--${boundary}`;
  const parts: string[] = [];
  let start: number | null = null;
  for (let at = body.indexOf(marker); at >= 0; at = body.indexOf(marker, at + marker.length)) {
    const after = body.slice(at + marker.length, at + marker.length + 2);
    if ((at > 0 && body[at - 1] !== '\n') || !/^(?:--|\s|$)/.test(after)) continue;
    if (start !== null) parts.push(body.slice(start, at));
    const end = body.indexOf('\n', at);
    start = after === '--' || end < 0 ? null : end + 1;
    if (start === null || parts.length >= MOST_PARTS) return parts;
  }
  return start === null ? parts : [...parts, body.slice(start)];
}

function textOf({ headers, body }: Entity, contentType: string): string {
  const bytes = decodePiece(encodingOf(headers), new Uint8Array(), Buffer.from(body, 'latin1'), true).bytes;
  const isLatin = /charset\s*=\s*"?(?:iso-8859|windows-125)/i.test(contentType);
  return Buffer.from(bytes).toString(isLatin ? 'latin1' : 'utf8');
}

function encodingOf(headers: Headers): TransferEncoding {
  const encoding = first(headers, 'content-transfer-encoding').toLowerCase();
  return encoding === 'base64' || encoding === 'quoted-printable' ? encoding : 'identity';
}

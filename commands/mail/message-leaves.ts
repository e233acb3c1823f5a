/**
 * The parts of a message that hold content (RFC 2045, RFC 2046 5.1), decoded in pieces, in constant memory.
 */
import { decodePiece, type TransferEncoding } from './transfer-decoding.ts';

interface LeafPiece {
  /** Index of the part, from 0 in the order of the message; multipart containers do not count. */
  readonly leaf: number;
  /** Decoded. */
  readonly bytes: Uint8Array;
}

const LF = 0x0a;
/** RFC 5322 2.1.1 allows 998; a longer line is processed in pieces as it arrives. */
const LONGEST_LINE = 8_192;
const ENCODINGS: Readonly<Record<string, TransferEncoding>> = {
  base64: 'base64',
  'quoted-printable': 'quoted-printable',
};

/** Each piece of each part; an empty part has no piece. Throws what the source throws. */
export async function* leavesOf(
  message: AsyncIterable<Uint8Array>,
): AsyncGenerator<LeafPiece, void, undefined> {
  const reader = new PartReader();
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of message) {
    const bytes = rest.length === 0 ? Buffer.from(piece) : Buffer.concat([rest, piece]);
    let from = 0;
    for (let end = bytes.indexOf(LF); end >= 0; end = bytes.indexOf(LF, from)) {
      reader.line(bytes.subarray(from, end + 1));
      from = end + 1;
    }
    rest = bytes.subarray(from);
    if (rest.length > LONGEST_LINE) {
      reader.line(rest);
      rest = Buffer.alloc(0);
    }
    yield* reader.take();
  }
  if (rest.length > 0) reader.line(rest);
  reader.end();
  yield* reader.take();
}

type Place = 'head' | 'body' | 'between';

class PartReader {
  #place: Place = 'head';
  #head: string[] = [];
  /** Boundaries of the open containers, outermost first. */
  #boundaries: string[] = [];
  #leaf = -1;
  #encoding: TransferEncoding = 'identity';
  #carry: Uint8Array = Buffer.alloc(0);
  #encoded: Buffer[] = [];
  /** The line end before a boundary belongs to the boundary. */
  #lineEnd: Buffer = Buffer.alloc(0);
  readonly #found: LeafPiece[] = [];

  line(line: Buffer): void {
    if (this.#isBoundary(line)) return;
    if (this.#place === 'head') {
      const text = line.toString('latin1').replace(/\r?\n$/, '');
      if (text === '') this.#begin();
      else this.#head.push(text);
      return;
    }
    if (this.#place === 'between') return;
    const length = line.at(-1) === LF ? line.length - (line.at(-2) === 0x0d ? 2 : 1) : line.length;
    this.#encoded.push(this.#lineEnd, line.subarray(0, length));
    this.#lineEnd = line.subarray(length);
  }

  /** The pieces decoded since the last call. */
  *take(): Generator<LeafPiece, void, undefined> {
    this.#decode(false);
    yield* this.#found.splice(0);
  }

  end(): void {
    if (this.#place !== 'body') return;
    this.#encoded.push(this.#lineEnd);
    this.#decode(true);
    this.#place = 'between';
  }

  #isBoundary(line: Buffer): boolean {
    if (this.#boundaries.length === 0 || line[0] !== 0x2d || line[1] !== 0x2d) return false;
    const text = line.toString('latin1').trimEnd().slice(2);
    const depth = this.#boundaries.findLastIndex((each) => text === each || text === `${each}--`);
    if (depth < 0) return false;
    if (this.#place === 'body') this.#decode(true);
    const isLast = text !== this.#boundaries[depth];
    this.#boundaries = this.#boundaries.slice(0, isLast ? depth : depth + 1);
    this.#place = isLast ? 'between' : 'head';
    this.#head = [];
    return true;
  }

  #begin(): void {
    const fields = this.#head.join('\n').replaceAll(/\n[ \t]+/g, ' ');
    const type = /^content-type:\s*(.*)$/im.exec(fields)?.[1] ?? '';
    const [, quoted, bare] = /;\s*boundary=(?:"([^"]*)"|([^\s;]+))/i.exec(type) ?? [];
    const boundary = quoted ?? bare;
    this.#lineEnd = Buffer.alloc(0);
    if (type.toLowerCase().startsWith('multipart/') && boundary !== undefined) {
      this.#boundaries.push(boundary);
      this.#place = 'between';
      return;
    }
    const encoding = /^content-transfer-encoding:\s*(\S+)/im.exec(fields)?.[1]?.toLowerCase() ?? '';
    this.#encoding = ENCODINGS[encoding] ?? 'identity';
    this.#leaf += 1;
    this.#place = 'body';
  }

  #decode(isLast: boolean): void {
    if (this.#place !== 'body') return;
    const { bytes, carry } = decodePiece(this.#encoding, this.#carry, Buffer.concat(this.#encoded), isLast);
    this.#carry = isLast ? Buffer.alloc(0) : carry;
    this.#encoded = [];
    if (bytes.length > 0) this.#found.push({ leaf: this.#leaf, bytes });
  }
}

/**
 * Bytes of received mail: read from the mail server in pieces, each on a connection borrowed for that piece alone. A slow
 * reader, or one that went away, therefore holds nothing, and memory does not grow with the message.
 */
import { GatewayError } from './errors.ts';
import type { MailPort, MessageRef, PartDescription } from './mail-port.ts';
import { decodePiece } from './transfer-decoding.ts';

/** Large enough for few commands, small enough that 25 downloads at once stay far below 64 MiB. */
const PIECE_BYTES = 256 * 1024;

export interface PartSource {
  readonly mail: Pick<MailPort, 'withMailbox'>;
  readonly mailboxId: string;
  readonly ref: MessageRef;
}

/** Raw bytes of a part, or of the whole message (path null). Throws `message_stale` when it goes away meanwhile. */
export async function* rawBytes(
  { mail, mailboxId, ref }: PartSource,
  path: string | null,
  from = 0,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (let offset = from; ;) {
    const start = offset;
    const piece = await mail.withMailbox(mailboxId, 'bulk', (session) =>
      session.readBytes(ref, path, start, PIECE_BYTES),
    );
    if (piece === null) {
      throw new GatewayError('message_stale', 'The message moved or went away while it was read.');
    }
    if (piece.length > 0) yield piece;
    if (piece.length < PIECE_BYTES) return;
    offset += piece.length;
  }
}

/** A place in a part from which decoding can go on. */
interface Mark {
  readonly decoded: number;
  readonly encoded: number;
  readonly carry: Uint8Array;
}

const BEGIN: Mark = { decoded: 0, encoded: 0, carry: new Uint8Array() };

/** The decoded bytes of one part. Places passed once are remembered, so that a later read need not begin at the front. */
export class ReceivedPart {
  readonly #description: PartDescription;
  readonly #marks: Mark[] = [BEGIN];
  #length: number | null = null;

  constructor(description: PartDescription) {
    this.#description = description;
  }

  /** Decoded bytes in all, once they have been read to the end. */
  get knownLength(): number | null {
    return this.#length;
  }

  /** Decoded bytes in all, read to the end where that was not done before. Throws like `rawBytes`. */
  async length(source: PartSource): Promise<number> {
    if (this.#length !== null) return this.#length;
    const { decoded } = this.#marks.at(-1) ?? BEGIN;
    let length = decoded;
    for await (const bytes of this.read(source, decoded)) length += bytes.length;
    return length;
  }

  /** Decoded bytes from an offset on. Throws like `rawBytes`. */
  async *read(source: PartSource, from: number): AsyncGenerator<Uint8Array, void, undefined> {
    const { encoding, path } = this.#description;
    let mark = this.#before(from);
    for await (const { piece, isLast } of withLast(rawBytes(source, path, mark.encoded))) {
      const { bytes, carry } = decodePiece(encoding, mark.carry, piece, isLast);
      const skipped = Math.max(0, from - mark.decoded);
      mark = { decoded: mark.decoded + bytes.length, encoded: mark.encoded + piece.length, carry };
      if (isLast) this.#length = mark.decoded;
      else this.#remember(mark);
      if (skipped < bytes.length) yield bytes.subarray(skipped);
    }
  }

  #before(offset: number): Mark {
    return this.#marks.findLast(({ decoded }) => decoded <= offset) ?? BEGIN;
  }

  #remember(mark: Mark): void {
    const last = this.#marks.at(-1) ?? BEGIN;
    // A carry that grows is of hostile input; decoding then begins further in front.
    if (mark.encoded > last.encoded && mark.carry.length <= 2_048) this.#marks.push(mark);
  }
}

/** Decoding ends differently, so the last piece has to be known as such before it is decoded. */
async function* withLast(
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<{ readonly piece: Uint8Array; readonly isLast: boolean }, void, undefined> {
  let held: Uint8Array | null = null;
  for await (const piece of pieces) {
    if (held !== null) yield { piece: held, isLast: false };
    held = piece;
  }
  yield { piece: held ?? new Uint8Array(), isLast: true };
}

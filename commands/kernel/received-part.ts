/**
 * Bytes of received mail, read from the mail server in pieces. A connection is borrowed for a run of pieces and returned at
 * its end, or as soon as the next piece is not taken: a slow or disconnected reader holds no connection, and memory does not
 * grow with the message.
 */
import { GatewayError } from '../values/errors.ts';
import type { MailPort } from '../ports/mail-port.ts';
import type { MessageRef, PartDescription } from '../mail/message.ts';
import { decodePiece } from '../mail/transfer-decoding.ts';

/** The reader stops waiting for a stalled taker after this time. */
const WAIT_MS = 200;

/** A channel without a buffer: passes pieces from a reader to a taker, one at a time; each waits for the other. */
class AsyncChannel<Piece> {
  #piece = Promise.withResolvers<Piece | null>();
  #asked = Promise.withResolvers<boolean>();
  #isOver = false;

  /** Reader: the piece that was asked for. */
  put(piece: Piece): void {
    this.#asked = Promise.withResolvers<boolean>();
    this.#piece.resolve(piece);
  }

  /** Reader: true when the next piece is asked for in time. */
  async isAskedForMore(): Promise<boolean> {
    if (this.#isOver) return false;
    const asked = this.#asked;
    const timer = setTimeout(() => {
      asked.resolve(false);
    }, WAIT_MS);
    try {
      return await asked.promise;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Taker: the first piece; null when there is none. */
  first(): Promise<Piece | null> {
    return this.#piece.promise;
  }

  /** Taker: the next piece; null when there is none, or the reader did not wait. */
  async next(): Promise<Piece | null> {
    if (this.#isOver) return null;
    this.#piece = Promise.withResolvers<Piece | null>();
    this.#asked.resolve(true);
    return await this.#piece.promise;
  }

  /** Either: nothing more is put, or taken. */
  end(): void {
    this.#isOver = true;
    this.#piece.resolve(null);
    this.#asked.resolve(false);
  }
}

/** Large enough for few commands, small enough that 25 downloads at once stay far below 64 MiB. */
const PIECE_BYTES = 128 * 1024;
/** Pieces in a run. The server seeks at the start of each run, which takes time; other tasks wait for its end. */
const RUN_BYTES = 4 * 1024 * 1024;
/** A download delays no other answer, so it waits for a connection this many times longer. */
const MOST_WAITS = 4;

interface PartSource {
  readonly mail: Pick<MailPort, 'withMailbox'>;
  readonly mailboxId: string;
  readonly ref: MessageRef;
}

/** Raw bytes of a part, or of the whole message (path null). Throws `message_stale` when it disappears meanwhile. */
export async function* rawBytes(
  source: PartSource,
  path: string | null,
  from = 0,
): AsyncGenerator<Uint8Array, void, undefined> {
  let offset = from;
  let waits = 0;
  for (;;) {
    const handover = new AsyncChannel<Uint8Array>();
    const run = settled(readRun(source, { path, offset }, handover));
    void run.then(() => {
      handover.end();
    });
    try {
      for (let piece = await handover.first(); piece !== null; piece = await handover.next()) {
        offset += piece.length;
        waits = 0;
        yield piece;
      }
    } finally {
      handover.end();
    }
    const { isEnd, failure } = await run;
    if (isEnd) return;
    if (failure === null) continue;
    if (!isBusy(failure) || waits >= MOST_WAITS) throw failure;
    waits += 1;
  }
}

const isBusy = (failure: Error): boolean => failure instanceof GatewayError && failure.code === 'overloaded';

interface RunEnd {
  readonly isEnd: boolean;
  readonly failure: Error | null;
}

const settled = (run: Promise<boolean>): Promise<RunEnd> =>
  run.then(
    (isEnd) => ({ isEnd, failure: null }),
    (failure: unknown) => ({
      isEnd: false,
      failure: failure instanceof Error ? failure : new Error(String(failure)),
    }),
  );

/** True at the end of the bytes. */
const readRun = (
  { mail, mailboxId, ref }: PartSource,
  { path, offset }: { readonly path: string | null; readonly offset: number },
  handover: AsyncChannel<Uint8Array>,
): Promise<boolean> =>
  mail.withMailbox(mailboxId, 'bulk', async (session) => {
    for (let read = 0; read < RUN_BYTES;) {
      const piece = await session.readBytes(ref, path, offset + read, PIECE_BYTES);
      if (piece === null) {
        throw new GatewayError('message_stale', 'The message moved or went away while it was read.');
      }
      if (piece.length > 0) handover.put(piece);
      if (piece.length < PIECE_BYTES) return true;
      read += piece.length;
      if (!(await handover.isAskedForMore())) return false;
    }
    return false;
  });

/** A place in a part from which decoding can resume. */
interface Mark {
  readonly decoded: number;
  readonly encoded: number;
  readonly carry: Uint8Array;
}

/** Of a part of 64 MiB; more is read from the last mark on. */
const MOST_MARKS = 512;
/** A line of uuencode has at most 62 bytes, one of quoted-printable 76 (RFC 2045 6.7). */
const MOST_CARRIED = 128;

const BEGIN: Mark = { decoded: 0, encoded: 0, carry: new Uint8Array() };

/** The decoded bytes of one part. Passed places are remembered, so that a later read does not start at the front. */
export class ReceivedPart {
  readonly #description: PartDescription;
  readonly #marks: Mark[] = [BEGIN];
  #length: number | null = null;

  constructor(description: PartDescription) {
    this.#description = description;
  }

  /** The number of decoded bytes, once they were read to the end. */
  get knownLength(): number | null {
    return this.#length;
  }

  /** The number of decoded bytes; reads to the end if necessary. Throws like `rawBytes`. */
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
    if (mark.encoded <= last.encoded || this.#marks.length >= MOST_MARKS) return;
    // Only hostile input has a growing carry; decoding then starts further in front.
    if (mark.carry.length > MOST_CARRIED) return;
    // A copy: the carry is part of a whole piece.
    this.#marks.push({ ...mark, carry: Uint8Array.from(mark.carry) });
  }
}

/** Decoding ends differently, so the last piece must be known before it is decoded. */
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

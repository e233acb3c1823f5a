/** A file that is exported: read piece by piece, counted, kept until it is saved, and read on after a broken connection. */
import { ApiError, openFile } from './api.js';

/** Pieces are handed to the browser in parts of this size: it keeps large files on disk. */
const PART_BYTES = 8 * 1024 * 1024;
/** Every record of a line begins so, and no other record: the names in it are in order. */
const LINE_RECORD = [...new TextEncoder().encode('{"bo')];
const LINE_FEED = 10;

/** @typedef {{ lines: number, total: number, bytes: number }} Progress */

export class ExportFile {
  /** @type {string} */
  #path;
  /** @type {AbortSignal} */
  #signal;
  /** @type {string | null} */
  #id = null;
  /** What was asked for and is not read yet. @type {AsyncIterable<Uint8Array<ArrayBuffer>> | null} */
  #pieces = null;
  #whole = new Blob([]);
  /** @type {Uint8Array<ArrayBuffer>[]} */
  #parts = [];
  #partBytes = 0;
  #bytes = 0;
  #lines = 0;
  /** Where in a record the last piece ended, and whether it was a line so far. */
  #place = 0;
  #isLine = true;
  #total = 0;
  #isCsv = false;
  name = 'audit.jsonl';
  /** Lines for which the filter cannot be proven. */
  undecidable = 0;
  /** The first line of the next part; null where there is none. @type {string | null} */
  nextSeq = null;

  /**
   * @param {Record<string, string>} query of `GET /audit/export`
   * @param {AbortSignal} signal
   */
  constructor(query, signal) {
    this.#path = `/audit/export?${new URLSearchParams(query).toString()}`;
    this.#signal = signal;
    this.#isCsv = query['format'] === 'csv';
  }

  /** @returns {Progress} */
  get progress() {
    return { lines: Math.min(this.#lines, this.#total), total: this.#total, bytes: this.#bytes };
  }

  /** Whether `read` can go on where it broke off. */
  get canContinue() {
    return this.#id !== null;
  }

  /** Asks for the file, or for its rest. Throws `ApiError`. */
  async open() {
    const { headers, isRest, pieces } = await this.#ask();
    if (this.#id === null) this.#begin(headers);
    else if (!isRest && this.#bytes > 0)
      throw new ApiError('unreadable', 'The rest of the file was not sent. Begin again.');
    this.#pieces = pieces;
  }

  /**
   * Reads to the end. Called again after an error, it goes on. Throws `ApiError`.
   * @param {() => void} onProgress
   */
  async read(onProgress) {
    if (this.#pieces === null) await this.open();
    const pieces = this.#pieces ?? [];
    this.#pieces = null;
    for await (const piece of pieces) {
      this.#take(piece);
      onProgress();
    }
  }

  /** The file, once it was read to its end. */
  toBlob() {
    this.#handOver();
    return this.#whole;
  }

  #ask() {
    const signal = this.#signal;
    if (this.#id === null) return openFile(this.#path, { signal });
    const rest = new URLSearchParams({ export_id: this.#id });
    return openFile(`/audit/export?${rest.toString()}`, { signal, fromByte: this.#bytes });
  }

  /** @param {Headers} headers */
  #begin(headers) {
    this.#id = headers.get('audit-export-id');
    this.#total = Number(headers.get('audit-lines-total') ?? 0);
    this.undecidable = Number(headers.get('audit-lines-undecidable') ?? 0);
    this.name = /filename="?([\w.-]+)/.exec(headers.get('content-disposition') ?? '')?.[1] ?? this.name;
    this.nextSeq = /[?&]from_seq=(\d+)[^>]*>; rel="next"/.exec(headers.get('link') ?? '')?.[1] ?? null;
  }

  /** @param {Uint8Array<ArrayBuffer>} piece */
  #take(piece) {
    this.#count(piece);
    this.#bytes += piece.length;
    this.#parts.push(piece);
    this.#partBytes += piece.length;
    if (this.#partBytes >= PART_BYTES) this.#handOver();
  }

  #handOver() {
    this.#whole = new Blob([this.#whole, ...this.#parts]);
    this.#parts = [];
    this.#partBytes = 0;
  }

  /**
   * Of a CSV the rows, with that of the headings until the end.
   * @param {Uint8Array} piece
   */
  #count(piece) {
    for (const byte of piece) {
      if (byte === LINE_FEED) {
        if (this.#isCsv) this.#lines += 1;
        this.#place = 0;
        this.#isLine = !this.#isCsv;
      } else if (this.#isLine && this.#place < LINE_RECORD.length) {
        this.#isLine = byte === LINE_RECORD[this.#place];
        this.#place += 1;
        if (this.#isLine && this.#place === LINE_RECORD.length) this.#lines += 1;
      }
    }
  }
}

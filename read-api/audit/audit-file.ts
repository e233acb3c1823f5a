/** Writes an audit file (`docs/audit-format.md` 6), record by record, as fast as it is read. */
import { createHash } from 'node:crypto';
import type { FileMode } from '../../commands/audit/export-events.ts';
import { bodyHash, leafHash } from '../../commands/audit/audit-line.ts';
import { Frontier, tiling } from '../../commands/audit/merkle.ts';
import { rootIn } from '../../commands/audit/signed-note.ts';
import type { Sql } from '../../commands/ports/ports.ts';
import { canonicalJson } from '../../commands/values/canonical-json.ts';
import { type ExportedLine, linesIn, MOST_BYTES, type SeqParts } from '../../projections/audit-export.ts';
import { SubtreeReader } from '../../projections/audit-tree.ts';
import { InnerCheckpoints } from './inner-checkpoints.ts';
import type { LineTexts } from './line-texts.ts';

/** What a file says of itself. */
export interface FileHeader {
  readonly kind: 'export' | 'evidence';
  readonly mode: FileMode;
  readonly trail: string;
  readonly epoch: number;
  readonly origin: string;
  /** The signed checkpoint that the file is about. */
  readonly note: string;
  readonly size: number;
  readonly vkeys: readonly string[];
  /** The range the file is about. */
  readonly fromSeq: number;
  readonly toSeq: number;
  readonly filter: Readonly<Record<string, string>> | null;
  /** Of evidence. */
  readonly approvalId?: string;
  readonly createdAt: string;
  readonly createdBy: string;
  readonly requestId: string;
}

export interface FileContent {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** As text or in base64. */
  readonly as: 'text' | 'base64';
}

/** Which lines a file has, and what of them. */
export interface FilePlan {
  /** The lines in the file, in order; all others are covered. */
  readonly seqs: SeqParts;
  /** Sizes whose checkpoints are in the file also where they part a cover; others are there where they cost nothing. */
  readonly checkpoints: readonly number[];
  /** What is shown of a line besides its public part; null = nothing. */
  show(line: ExportedLine): Promise<Pick<LineTexts, 'opened' | 'erased'> | null>;
  readonly contents: readonly FileContent[];
}

/** The bytes of the file. Throws when the lines do not give the root of the checkpoint, and the error of the database. */
export async function* auditFile(sql: Sql, header: FileHeader, plan: FilePlan): AsyncGenerator<Buffer> {
  const file = new Records(sql, header, plan);
  yield file.begin();
  for await (const lines of linesIn(sql, header.trail, plan.seqs)) {
    for (const line of lines) {
      await file.coverUpTo(line.seq - 1);
      await file.add(line);
    }
    yield file.taken();
  }
  await file.coverUpTo(header.size);
  yield file.taken();
  for (const content of plan.contents) {
    file.addContent(content);
    yield file.taken();
  }
  yield file.end();
}

type Entry = Readonly<Record<string, unknown>>;

class Records {
  readonly #header: FileHeader;
  readonly #plan: FilePlan;
  readonly #subtrees: SubtreeReader;
  readonly #inner: InnerCheckpoints;
  readonly #hash = createHash('sha256');
  readonly #tree = new Frontier();
  readonly #counts = { covered: 0, lines: 0, public_only: 0 };
  #epoch = 0;
  #text = '';

  constructor(sql: Sql, header: FileHeader, plan: FilePlan) {
    this.#header = header;
    this.#plan = plan;
    this.#subtrees = new SubtreeReader(sql, header.trail);
    this.#inner = new InnerCheckpoints(sql, header);
  }

  begin(): Buffer {
    this.#write(headerOf(this.#header));
    return this.taken();
  }

  /** What was written since the last time. */
  taken(): Buffer {
    const bytes = Buffer.from(this.#text);
    this.#text = '';
    this.#hash.update(bytes);
    return bytes;
  }

  async coverUpTo(to: number): Promise<void> {
    if (this.#tree.size >= to) return;
    const stops = this.#plan.checkpoints.filter((size) => size > this.#tree.size && size < to);
    for (const stop of [...stops, to]) {
      for (const { level, index } of tiling(this.#tree.size, stop)) {
        const hash = await this.#subtrees.hash({ level, index });
        const width = 2 ** level;
        this.#write({ from: index * width, hash: base64(hash), level, t: 'cover' });
        this.#tree.add(level, hash);
        this.#counts.covered += width;
      }
      await this.#addCheckpoint();
    }
  }

  async add(line: ExportedLine): Promise<void> {
    const hash = line.body === null ? line.bodyHash : bodyHash(line.body, line.salt);
    if (hash === null) throw new Error(`line ${String(line.seq)} has neither body nor hash`);
    this.#text += (await this.#wholeRecord(line)) ?? this.#publicRecord(line, hash);
    this.#counts.lines += 1;
    this.#tree.push(leafHash(line.line, hash));
    if (this.#inner.mayBeAt(this.#tree.size)) await this.#addCheckpoint();
  }

  addContent({ name, bytes, as }: FileContent): void {
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    this.#write({
      name,
      sha256,
      t: 'content',
      [as]: Buffer.from(bytes).toString(as === 'text' ? 'utf8' : 'base64'),
    });
  }

  end(): Buffer {
    const { note, trail, size } = this.#header;
    if (!Buffer.from(rootIn(note)).equals(this.#tree.root()))
      throw new Error(`the lines of ${trail} do not give the root of its checkpoint of size ${String(size)}`);
    this.#write({ ...this.#counts, sha256: this.#hash.copy().digest('hex'), t: 'trailer' });
    return this.taken();
  }

  #write(entry: Entry): void {
    this.#text += recordOf(entry);
  }

  /** Null where only the public part is shown. */
  async #wholeRecord(exported: ExportedLine): Promise<string | null> {
    const { line, body, salt } = exported;
    const shown = body === null ? null : await this.#plan.show(exported);
    if (shown === null) return null;
    const opened = shown.opened.map(({ at, text, salt: of }) => ({ at, salt: of ?? undefined, text }));
    const record =
      `{"body":${JSON.stringify(body)}` +
      (shown.erased.length > 0 ? `,"erased":${canonicalJson(shown.erased)}` : '') +
      `,"line":${JSON.stringify(line)}` +
      (opened.length > 0 ? `,"opened":${canonicalJson(opened)}` : '') +
      `,"salt":"${salt === null ? '' : base64(salt)}","t":"line"}\n`;
    return isTooLong(record) ? null : record;
  }

  #publicRecord({ line }: ExportedLine, hash: Uint8Array): string {
    this.#counts.public_only += 1;
    return `{"body_hash":"${base64(hash)}","line":${JSON.stringify(line)},"t":"line"}\n`;
  }

  /** The checkpoint of the lines so far, where there is one that they agree with. Epochs do not fall (`docs/audit-format.md` 6). */
  async #addCheckpoint(): Promise<void> {
    const sealed = await this.#inner.at(this.#tree.size);
    if (sealed.length === 0) return;
    const root = this.#tree.root();
    const fits = sealed.find(
      ({ epoch, note }) => epoch >= this.#epoch && Buffer.from(rootIn(note)).equals(root),
    );
    if (fits === undefined) return;
    this.#epoch = fits.epoch;
    this.#write({ note: fits.note, t: 'checkpoint' });
  }
}

const headerOf = (header: FileHeader): Entry => ({
  ...(header.approvalId === undefined ? {} : { approval_id: header.approvalId }),
  checkpoint: header.note,
  created_at: header.createdAt,
  created_by: header.createdBy,
  epoch: header.epoch,
  filter: header.filter,
  format: 'mailbox-gateway/audit/v1',
  from_seq: header.fromSeq,
  keys: header.vkeys,
  kind: header.kind,
  mode: header.mode,
  origin: header.origin,
  request_id: header.requestId,
  t: 'header',
  to_seq: header.toSeq,
  trail: header.trail,
});

const recordOf = (entry: Entry): string => `${canonicalJson(entry)}\n`;

/** A character has at most three bytes: most records need no second look. */
const isTooLong = (record: string): boolean =>
  record.length * 3 > MOST_BYTES && Buffer.byteLength(record) - 1 > MOST_BYTES;

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

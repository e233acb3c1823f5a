/** Trails of made-up events, and audit files of them, built from `docs/audit-format.md`. */
import { AUDIT_NAME, originOf, sampleKey, type SampleKey, sha256, signedNote, TRAIL } from './sample-keys.ts';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
/** A record that a case may alter before it is written. */
export type Entry = Record<string, unknown>;

/** RFC 8785; JavaScript prints numbers and strings as it asks for. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  members.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`;
}

/** RFC 6962 section 2.1, as it is written there. */
export function treeHash(leaves: readonly Buffer[], from = 0, to = leaves.length): Buffer {
  if (to === from) return sha256();
  if (to - from === 1) return leaves[from] ?? sha256();
  let split = 1;
  while (split * 2 < to - from) split *= 2;
  return sha256(Buffer.of(1), treeHash(leaves, from, from + split), treeHash(leaves, from + split, to));
}

export interface EventFacts {
  readonly data?: Json;
  readonly stream?: string;
  readonly revision?: string;
  readonly actor?: string | null;
  readonly session?: string | null;
  readonly at?: string;
  readonly mailbox_id?: string;
  readonly approval_id?: string;
  readonly isSalted?: boolean;
  readonly trail?: string;
}

interface Leaf {
  readonly line: Entry;
  readonly body: Entry;
  readonly salt: Buffer;
  readonly hash: Buffer;
}

export const KEY = sampleKey(1);
export const bodyHash = (body: unknown, salt: Buffer): Buffer => sha256(salt, canonical(body));

/** `sealed.v2` with a commitment to `text`; the box is made up. */
export function sealed(owner: string, text: string, salt = Buffer.alloc(16, 0xaa)): string {
  return `sealed.v2.${owner}.${sha256(Buffer.of(2), salt, text).toString('base64url')}.AA`;
}

const USUAL = {
  data: {},
  stream: 'draft-x',
  actor: 'usr_a',
  session: null,
  at: '2026-01-01T00:00:00.000Z',
  isSalted: true,
  trail: TRAIL,
};

export class SampleTrail {
  readonly leaves: Leaf[] = [];
  readonly #revisions = new Map<string, number>();

  add(type: string, facts: EventFacts = {}): this {
    const { data, stream, actor, session, at, isSalted, trail } = { ...USUAL, ...facts };
    const seq = this.leaves.length + 1;
    const next = this.#revisions.get(stream) ?? 0;
    this.#revisions.set(stream, next + 1);
    const line = {
      actor: { id: actor, session_id: session, token_id: null, type: 'person' },
      ...(facts.approval_id !== undefined && { approval_id: facts.approval_id }),
      causation_id: 'req_1',
      correlation_id: 'req_1',
      id: `evt_${seq}`,
      ...(facts.mailbox_id !== undefined && { mailbox_id: facts.mailbox_id }),
      occurred_at: at,
      request_id: 'req_1',
      revision: facts.revision ?? String(next),
      ...(!isSalted && { salt: 'none' }),
      schema: 1,
      seq,
      stream,
      surface: 'console',
      trail,
      type,
      v: 1,
    };
    const salt = isSalted ? sha256(`salt ${seq}`).subarray(0, 16) : Buffer.alloc(0);
    const body = { data, meta: {} };
    this.leaves.push({ line, body, salt, hash: sha256(Buffer.of(0), canonical(line), bodyHash(body, salt)) });
    return this;
  }

  fill(count: number): this {
    while (this.leaves.length < count) this.add('DraftVersionSaved', { data: { n: this.leaves.length } });
    return this;
  }

  node(level: number, from: number): Buffer {
    return treeHash(this.leaves.map(({ hash }) => hash).slice(from, from + 2 ** level));
  }

  root(size = this.leaves.length): Buffer {
    return treeHash(this.leaves.slice(0, size).map(({ hash }) => hash));
  }

  text(size = this.leaves.length, epoch = 1): string {
    return `${originOf(epoch)}\n${size}\n${this.root(size).toString('base64')}\n`;
  }

  checkpoint(size = this.leaves.length, keys: readonly SampleKey[] = [KEY], epoch = 1): string {
    return signedNote(this.text(size, epoch), keys);
  }

  shown(seq: number, more: Entry = {}): Entry {
    const { line, body, salt } = this.#leaf(seq);
    return structuredClone({ t: 'line', line, body, salt: salt.toString('base64'), ...more });
  }

  public(seq: number): Entry {
    const { line, body, salt } = this.#leaf(seq);
    return structuredClone({ t: 'line', line, body_hash: bodyHash(body, salt).toString('base64') });
  }

  cover(from: number, level: number): Entry {
    return { t: 'cover', from, level, hash: this.node(level, from).toString('base64') };
  }

  /** The largest covers over the indices `from` up to `to`. */
  covers(from: number, to: number): Entry[] {
    const found: Entry[] = [];
    for (let at = from; at < to;) {
      let level = 0;
      while (at % 2 ** (level + 1) === 0 && at + 2 ** (level + 1) <= to) level++;
      found.push(this.cover(at, level));
      at += 2 ** level;
    }
    return found;
  }

  /** The records of a file without its trailer: all lines of `show`, covers over the rest. */
  records(header: Entry = {}, show: (seq: number) => Entry | null = (seq) => this.shown(seq)): Entry[] {
    const size = this.leaves.length;
    const records: Entry[] = [
      {
        t: 'header',
        format: 'mailbox-gateway/audit/v1',
        kind: 'export',
        mode: 'complete',
        trail: TRAIL,
        epoch: 1,
        origin: `${AUDIT_NAME}/${TRAIL}/1`,
        checkpoint: this.checkpoint(),
        keys: [KEY.vkey],
        from_seq: 1,
        to_seq: size,
        filter: null,
        created_at: '2026-01-02T00:00:00.000Z',
        created_by: 'usr_a',
        request_id: 'req_2',
        ...header,
      },
    ];
    let hidden = 0;
    for (let seq = 1; seq <= size; seq++) {
      const record = show(seq);
      if (record === null) continue;
      records.push(...this.covers(hidden, seq - 1), record);
      hidden = seq;
    }
    return [...records, ...this.covers(hidden, size)];
  }

  #leaf(seq: number): Leaf {
    const leaf = this.leaves[seq - 1];
    if (leaf === undefined) throw new Error(`the trail has no line ${seq}`);
    return leaf;
  }
}

/** Sets what is at `path` of a record; undefined removes it. */
export function put(record: Entry | undefined, path: string, value: unknown): void {
  const names = path.split('.');
  const last = names.pop() ?? '';
  let at: unknown = record;
  for (const name of names) at = (at as Entry)[name];
  (at as Entry)[last] = value;
}

/** A record as it is written: a line and a body that are still objects become their texts. */
export const written = ({ ...record }: Entry): string => {
  for (const name of record['t'] === 'line' ? ['line', 'body'] : [])
    if (typeof record[name] === 'object' && record[name] !== null) record[name] = canonical(record[name]);
  return canonical(record);
};

/** The bytes of a file: with a trailer that fits, as whoever alters a file can write it too. */
export function fileOf(records: readonly (Entry | string)[], trailer: Entry = {}): Buffer {
  const text = records.map((record) => `${typeof record === 'string' ? record : written(record)}\n`).join('');
  const of = (t: string): Entry[] =>
    records.filter((record) => typeof record !== 'string').filter((record) => record['t'] === t);
  const end = {
    t: 'trailer',
    lines: of('line').length,
    public_only: of('line').filter((record) => 'body_hash' in record).length,
    covered: of('cover').reduce((sum, cover) => sum + 2 ** Number(cover['level']), 0),
    sha256: sha256(text).toString('hex'),
    ...trailer,
  };
  return Buffer.from(`${text}${canonical(end)}\n`);
}

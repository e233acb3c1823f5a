/** One file with what it is verified with, and what every verifier answers. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Entry, fileOf, KEY, SampleTrail, sealed } from './sample-trail.ts';

export interface AuditCase {
  readonly name: string;
  readonly file: Buffer;
  /** Texts of key files; by default the gateway's first key. */
  readonly keys?: readonly string[];
  readonly known?: readonly string[];
  readonly policy?: string;
  /** More arguments, as they are. */
  readonly args?: readonly string[];
  readonly exit: 0 | 1 | 2 | 3;
  readonly code: string | null;
  /** The record of exit 1. */
  readonly record?: number;
}

export interface Answer {
  readonly exit: number;
  readonly code: string | null;
  readonly record: number | null;
  readonly offset: number | null;
}

/** The offset of a record, counted from 1; that after the last is the length of the file. */
export function offsetOf(file: Buffer, record: number): number {
  let at = 0;
  for (let n = 1; n < record; n++) at = file.indexOf(10, at) + 1;
  return at;
}

export function answerOf({ file, exit, code, record }: AuditCase): Answer {
  if (record === undefined) return { exit, code, record: null, offset: null };
  return { exit, code, record, offset: offsetOf(file, record) };
}

/** Options of `verifyAudit` from the arguments of a program. */
export interface Options {
  keys?: readonly string[];
  known?: readonly string[];
  policy?: string;
  witnesses?: string[];
  quorum?: string;
  require?: string[];
  distrust?: string[];
}

export function optionsOf({ keys = [KEY.vkey], known = [], policy, args = [] }: AuditCase): Options {
  const all = (name: string): string[] => args.filter((_, index) => args[index - 1] === name);
  const [quorum] = all('--quorum');
  return {
    keys,
    known,
    witnesses: all('--witness'),
    require: all('--require'),
    distrust: all('--distrust'),
    ...(policy !== undefined && { policy }),
    ...(quorum !== undefined && { quorum }),
  };
}

/** Writes the files of a case to a folder of its own; returns the arguments that name them. */
export function writeCase(folder: string, one: AuditCase): readonly string[] {
  const own = join(folder, one.name.replaceAll(/[^a-z0-9]+/gi, '-'));
  mkdirSync(own, { recursive: true });
  const write = (name: string, content: string | Buffer): string => {
    writeFileSync(join(own, name), content);
    return join(own, name);
  };
  const { keys = [KEY.vkey], known = [], policy, args = [] } = one;
  return [
    write('audit.jsonl', one.file),
    ...keys.flatMap((text, n) => ['--key', write(`key-${n}.txt`, `${text}\n`)]),
    ...known.flatMap((text, n) => ['--known', write(`known-${n}.txt`, text)]),
    ...(policy === undefined ? [] : ['--policy', write('policy.txt', policy)]),
    ...args,
    '--json',
  ];
}

export const REASON = 'Zoë said "yes"';
export const REASON_SALT = Buffer.alloc(16, 0xaa).toString('base64');

/** Seven lines with sealed texts of both forms, an erasure, and two streams. */
export const sevenLines = (): SampleTrail =>
  new SampleTrail()
    .add('DraftCreated', { mailbox_id: 'mbx_1' })
    .add('NoteSaved', {
      data: {
        reason: sealed('usr_a', REASON),
        old: 'sealed.v1.usr_a.AAAA',
        list: [{ 'a/b~c': sealed('usr_b', 'x') }],
        gone: 'sealed.v1.oac_2.AAAA',
      },
    })
    .add('DraftVersionSaved', {
      mailbox_id: 'mbx_1',
      data: { numbers: [0, 1.5, 1e21, 1e-7], text: '\u0000\u001f\u007f é \u2028 𝄞', '10': 1, '9': 2 },
    })
    .add('PersonalDataErased', {
      stream: 'personalData-usr_b',
      data: { owner_id: 'usr_b', basis: 'request' },
    })
    .add('OAuthClientDeleted', { stream: 'oauthClient-oac_2' })
    .add('DraftSent', { isSalted: false, actor: 'usr_c' })
    .fill(7);

export const OPENED = { opened: [{ at: '/data/reason', salt: REASON_SALT, text: REASON }] };

/** A file of the seven lines after `alter` changed its records; the trailer fits again. */
export function altered(alter: (records: Entry[], trail: SampleTrail) => void, header: Entry = {}): Buffer {
  const trail = sevenLines();
  const records = trail.records(header, (seq) => trail.shown(seq, seq === 2 ? OPENED : {}));
  alter(records, trail);
  return fileOf(records);
}

/** Answers of a Gmail-like server: FETCH items and SEARCH keys, for plain messages with ASCII headers. */
import type { LabelFolder, LabelledAccount, LabelledMessage } from './labelled-account.ts';
import { isInSet, literal, quoted, type Word } from '../imap-words.ts';

/** Unfolded, by name in lower case. */
function headersOf({ raw }: Pick<LabelledMessage, 'raw'>): ReadonlyMap<string, string> {
  const head = raw.toString('latin1').split('\r\n\r\n')[0] ?? '';
  const lines = head.replaceAll(/\r\n(?=[ \t])/g, '').split('\r\n');
  return new Map(
    lines.map((line) => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      line.slice(line.indexOf(':') + 1).trim(),
    ]),
  );
}

const bodyOf = (raw: Buffer): Buffer => raw.subarray(raw.indexOf('\r\n\r\n') + 4);

function addresses(text: string | undefined): string {
  if (text === undefined || text === '') return 'NIL';
  const all = text.split(',').map((each) => {
    const [, name, whole = each] = /^(.*?)\s*<(.*)>$/.exec(each.trim()) ?? [];
    const [local = '', host = ''] = whole.trim().split('@');
    return `(${quoted(name === '' ? null : name)} NIL ${quoted(local)} ${quoted(host)})`;
  });
  return `(${all.join('')})`;
}

function envelope(message: LabelledMessage): string {
  const headers = headersOf(message);
  const from = addresses(headers.get('from'));
  const parts = [
    quoted(headers.get('date')), quoted(headers.get('subject')), from, from, from,
    addresses(headers.get('to')), addresses(headers.get('cc')), 'NIL',
    quoted(headers.get('in-reply-to')), quoted(headers.get('message-id')),
  ]; // prettier-ignore
  return `(${parts.join(' ')})`;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const two = (value: number): string => String(value).padStart(2, '0');
const internalDate = (date: Date): string =>
  `"${two(date.getUTCDate())}-${String(MONTHS[date.getUTCMonth()])}-${String(date.getUTCFullYear())} ${date.toISOString().slice(11, 19)} +0000"`;

function structure({ raw }: LabelledMessage): string {
  const body = bodyOf(raw);
  const lines = body.toString('latin1').split('\r\n').length - 1;
  return `("TEXT" "PLAIN" ("CHARSET" "utf-8") NIL NIL "8BIT" ${String(body.length)} ${String(lines)} NIL NIL NIL NIL)`;
}

/** Gmail omits the label of the open folder. */
function labels(account: LabelledAccount, open: LabelFolder, message: LabelledMessage): string {
  const all = account.foldersOf(message).filter((folder) => folder !== open);
  return `(${all.flatMap(({ label }) => (label === null ? [] : [quoted(label)])).join(' ')})`;
}

function section(name: string, { raw }: LabelledMessage, given: Shown['given']): string {
  const [, what = '', from, length] = /^BODY(?:\.PEEK)?\[(.*?)\](?:<(\d+)\.(\d+)>)?$/i.exec(name) ?? [];
  const cut = (bytes: Buffer): Buffer =>
    from === undefined ? bytes : bytes.subarray(Number(from), Number(from) + Number(length));
  const fields = /^HEADER\.FIELDS \((.*)\)$/i.exec(what)?.[1]?.toLowerCase().split(' ');
  const wanted = [...headersOf({ raw })].filter(([key]) => fields?.includes(key.toLowerCase()) ?? true);
  const head = Buffer.from(`${wanted.map(([key, value]) => `${key}: ${value}\r\n`).join('')}\r\n`);
  const bytes = what === '' ? raw : what.toUpperCase().startsWith('HEADER') ? head : bodyOf(raw);
  const told = name.replace(/\.PEEK/i, '').replace(/<(\d+)\.\d+>$/, '<$1>');
  const piece = from === undefined ? bytes : given(cut(bytes));
  return `${told} ${piece === null ? 'NIL' : literal(piece)}`;
}

export interface Shown {
  readonly account: LabelledAccount;
  readonly open: LabelFolder;
  readonly uid: number;
  readonly message: LabelledMessage;
  /** The part of a piece that the server returns; null = NIL. */
  readonly given: (piece: Buffer) => Buffer | null;
}

const ITEMS: Readonly<Record<string, (shown: Shown) => string>> = {
  UID: ({ uid }) => String(uid),
  FLAGS: ({ message }) => `(${[...message.flags].join(' ')})`,
  INTERNALDATE: ({ message }) => internalDate(message.receivedAt),
  'RFC822.SIZE': ({ message }) => String(message.raw.length),
  ENVELOPE: ({ message }) => envelope(message),
  BODYSTRUCTURE: ({ message }) => structure(message),
  MODSEQ: ({ message }) => `(${String(message.modseq)})`,
  'X-GM-MSGID': ({ message }) => String(message.id),
  'X-GM-LABELS': ({ account, open, message }) => labels(account, open, message),
};

/** One item of a FETCH answer. */
export function item(shown: Shown, name: string): string {
  const known = ITEMS[name.toUpperCase()];
  return known === undefined ? section(name, shown.message, shown.given) : `${name} ${known(shown)}`;
}

type Test = (uid: number, message: LabelledMessage) => boolean;

const FLAG_KEYS: Readonly<Record<string, string>> = {
  SEEN: '\\Seen', FLAGGED: '\\Flagged', ANSWERED: '\\Answered', DRAFT: '\\Draft', DELETED: '\\Deleted',
}; // prettier-ignore

const hasFlag = ({ flags }: LabelledMessage, flag: string): boolean =>
  [...flags].some((own) => own.toLowerCase() === flag.toLowerCase());
const day = (date: Date): number => Math.floor(date.getTime() / 86_400_000);

/** All keys must hold. Throws for an unknown key. */
export function searchOf(keys: readonly Word[], highest: number): Test {
  const rest = [...keys];
  const tests: Test[] = [];
  while (rest.length > 0) tests.push(nextTest(rest, highest));
  return (uid, message) => tests.every((test) => test(uid, message));
}

function nextTest(rest: Word[], highest: number): Test {
  const key = rest.shift() ?? '';
  if (typeof key !== 'string') return searchOf(key, highest);
  const name = key.toUpperCase();
  if (/^[\d*]/.test(name)) return (uid) => isInSet(key, uid, highest);
  return flagTest(name) ?? groupTest(name, rest, highest) ?? valueTest(name, rest, highest);
}

function flagTest(name: string): Test | null {
  if (name === 'ALL') return () => true;
  const flag = FLAG_KEYS[name] ?? null;
  if (flag !== null) return (_, message) => hasFlag(message, flag);
  const absent = name.startsWith('UN') ? (FLAG_KEYS[name.slice(2)] ?? null) : null;
  return absent === null ? null : (_, message) => !hasFlag(message, absent);
}

function groupTest(name: string, rest: Word[], highest: number): Test | null {
  if (name !== 'NOT' && name !== 'OR') return null;
  const first = nextTest(rest, highest);
  if (name === 'NOT') return (uid, message) => !first(uid, message);
  const second = nextTest(rest, highest);
  return (uid, message) => first(uid, message) || second(uid, message);
}

const VALUE_TESTS: Readonly<Record<string, (value: string, highest: number) => Test>> = {
  UID: (set, highest) => (uid) => isInSet(set, uid, highest),
  KEYWORD: (flag) => (_, message) => hasFlag(message, flag),
  UNKEYWORD: (flag) => (_, message) => !hasFlag(message, flag),
  LARGER:
    (size) =>
    (_, { raw }) =>
      raw.length > Number(size),
  SMALLER:
    (size) =>
    (_, { raw }) =>
      raw.length < Number(size),
  SINCE:
    (date) =>
    (_, { receivedAt }) =>
      day(receivedAt) >= day(new Date(`${date} UTC`)),
  BEFORE:
    (date) =>
    (_, { receivedAt }) =>
      day(receivedAt) < day(new Date(`${date} UTC`)),
  'X-GM-MSGID':
    (wanted) =>
    (_, { id }) =>
      String(id) === wanted,
};

function valueTest(name: string, rest: Word[], highest: number): Test {
  const value = String(rest.shift()).toLowerCase();
  if (name === 'HEADER') {
    const wanted = String(rest.shift()).toLowerCase();
    return (_, message) => headersOf(message).get(value)?.toLowerCase().includes(wanted) === true;
  }
  const test = VALUE_TESTS[name];
  if (test === undefined) throw new Error(`SEARCH ${name} is not understood`);
  return test(value, highest);
}

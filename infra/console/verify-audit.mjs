/**
 * Verifies an audit file as `docs/audit-format.md` says, whose sections are cited. One file that imports nothing, so that it can be kept and read as a whole:
 * `node verify-audit.mjs FILE --key vkey.txt`, or in a page `verifyAudit(chunks, options)`. Set by hand, to stay within 500 lines.
 */
const [FORMAT, ROTATION, MAX_RECORD, MAX_DEPTH] = ['mailbox-gateway/audit/v1', 'mailbox-gateway/audit-key/v1', 8 * 2 ** 20, 64];
const [LEAF, NODE, SEALED_TEXT] = [0, 1, 2].map((byte) => Uint8Array.of(byte));
const [utf8, strict] = [new TextEncoder(), new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })];
class Failure extends Error { constructor(code, exit) { super(code); Object.assign(this, { code, exit }); } }
const [fail, stop] = [1, 2].map((exit) => (code) => { throw new Failure(code, exit); });
const isTrue = (holds, code) => holds || fail(code); const need = (conditions) => { for (const code in conditions) isTrue(conditions[code], code); };
const attempt = (act, otherwise) => { try { return act(); } catch { return otherwise(); } };
// SHA-256 (FIPS 180-4). As a program, the one of node:crypto takes its place: it is faster.
const PRIMES = Array.from({ length: 310 }, (_, i) => i + 2).filter((n) => ![2, 3, 5, 7, 11, 13, 17].some((p) => p < n && n % p === 0));
const fractions = (primes, root) => Uint32Array.from(primes, (prime) => (root(prime) % 1) * 2 ** 32);
const [K, w, turn] = [fractions(PRIMES, Math.cbrt), new Uint32Array(64), (x, n) => (x >>> n) | (x << (32 - n))];
function block(state, bytes, at) {
  for (let i = 0, p = at; i < 16; i++, p += 4) w[i] = (bytes[p] << 24) | (bytes[p + 1] << 16) | (bytes[p + 2] << 8) | bytes[p + 3];
  const mixed = (x, m, n, o) => turn(x, m) ^ turn(x, n) ^ (x >>> o);
  for (let i = 16; i < 64; i++) w[i] = w[i - 16] + w[i - 7] + mixed(w[i - 15], 7, 18, 3) + mixed(w[i - 2], 17, 19, 10);
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i++) {
    const t = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + w[i]) | 0;
    const u = (t + (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0; h = g; g = f; f = e; e = (d + t) | 0; d = c; c = b; b = a; a = u;
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i] += word));
}
const bytesOf = (latin1) => { const bytes = new Uint8Array(latin1.length); for (let i = 0; i < bytes.length; i++) bytes[i] = latin1.charCodeAt(i); return bytes; };
const joined = (a, b) => { const all = new Uint8Array(a.length + b.length); all.set(a); all.set(b, a.length); return all; };
export class Sha256 {
  #state = fractions(PRIMES.slice(0, 8), Math.sqrt); #rest = new Uint8Array(0); #size = 0;
  update(bytes) {
    const all = joined(this.#rest, bytes); let at = 0; for (; at + 64 <= all.length; at += 64) block(this.#state, all, at);
    this.#rest = all.subarray(at); this.#size += bytes.length; return this;
  }
  digest() {
    const end = new DataView(new ArrayBuffer((this.#rest.length < 56 ? 64 : 128) - this.#rest.length)); end.setUint8(0, 0x80);
    end.setBigUint64(end.byteLength - 8, BigInt(this.#size) * 8n); this.update(new Uint8Array(end.buffer));
    this.#state.forEach((word, i, { buffer }) => new DataView(buffer).setUint32(i * 4, word)); return new Uint8Array(this.#state.buffer);
  }
}
let [newHash, sha256, scratch] = [() => new Sha256(), (bytes) => newHash().update(bytes).digest(), new Uint8Array(2 ** 16)];
export function hashOf(...parts) {
  let [most, at] = [0, 0]; for (const part of parts) most += part.length * 3; if (most > scratch.length) scratch = new Uint8Array(most);
  for (const part of parts) if (isText(part)) at += utf8.encodeInto(part, scratch.subarray(at)).written; else { scratch.set(part, at); at += part.length; }
  return sha256(scratch.subarray(0, at));
}
// Section 1: canonical JSON, and base64.
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const [isText, isInteger] = [(value) => typeof value === 'string', (value) => Number.isSafeInteger(value) && value >= 0];
const isDecimal = (text) => /^(?:0|[1-9][0-9]*)$/.test(text) && isInteger(Number(text));
/** Whether `JSON.stringify` writes the members in their order: it begins with names that are numbers. */
function isInOrder(value, left) {
  if (typeof value !== 'object' || value === null) return true;
  isTrue(left > 0, 'not_canonical'); let before = null; if (Array.isArray(value)) return value.every((item) => isInOrder(item, left - 1));
  for (const name in value) { if (!isInOrder(value[name], left - 1) || (before !== null && name <= before)) return false; else before = name; }
  return true;
}
export function canonicalJson(value, left = MAX_DEPTH) {
  if (isInOrder(value, left)) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item, left - 1)).join(',')}]`;
  return `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name], left - 1)}`).join(',')}}`;
}
export const parsed = (text) => { const value = attempt(() => JSON.parse(text), () => fail('not_canonical')); return isTrue(canonicalJson(value) === text, 'not_canonical') && value; };
/** Only what encodes to the same text again is base64: that refuses pad bits, too. */
function base64(text, length = null) {
  const decoded = attempt(() => atob(text), () => fail('base64_invalid'));
  return isTrue(btoa(decoded) === text && (length ?? decoded.length) === decoded.length, 'base64_invalid') && bytesOf(decoded);
}
const toBase64 = (bytes) => btoa(String.fromCharCode(...bytes)); const toBase64url = (bytes) => toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
// Sections 2 and 6: the members of records, as `name`, `name:kind` and `name?`.
const isList = (is) => (value) => Array.isArray(value) && value.every(is);
const KINDS = {
  text: isText, int: (value) => typeof value === 'number', null: (value) => value === null || isText(value), object: isObject,
  schema: (value) => value === null || typeof value === 'number', one: (value) => value === 1, none: (value) => value === 'none', texts: isList(isText),
  filter: (value) => value === null || (members(value, FILTER) && Object.keys(value).length > 0), line: (value) => value?.[IS_PLAIN] || members(value, LINE),
  actor: (value) => members(value, ACTOR), erased: (value) => isList(isText)(value) && value.length > 0,
  opened: (value) => isList((item) => members(item, OPENED))(value) && value.length > 0,
};
const wordsOf = (words) => words.split(' ').map((word) => /^(\w+)(?::(\w+))?(\??)$/.exec(word)).map(([, name, kind = 'text', may]) => ({ name, kind, may: may === '?' }));
const shape = (words) => Object.assign(new Map(wordsOf(words).map(({ name, kind, may }) => [name, { is: KINDS[kind], counts: may ? 0 : 1 }])),
  { required: wordsOf(words).filter(({ may }) => !may).length });
const SHAPES = {
  header: shape('approval_id? checkpoint created_at created_by epoch:int filter:filter format from_seq:int keys:texts kind mode origin request_id t to_seq:int trail'),
  line: shape('body:object erased:erased? line:line opened:opened? salt t'), hidden: shape('body_hash line:line t'),
  cover: shape('from:int hash level:int t'), checkpoint: shape('note t'), stamp: shape('kind size:int t token'),
  content: shape('name sha256 t text'), binary: shape('base64 name sha256 t'), trailer: shape('covered:int lines:int public_only:int sha256 t'),
};
const IN_ACTOR = 'id:null session_id:null token_id:null type:null';
const IN_LINE = 'actor:actor approval_id? causation_id:null correlation_id:null id mailbox_id? occurred_at:null request_id:null revision salt:none? ' +
  'schema:schema seq:int stream surface:null trail type v:one';
const [LINE, ACTOR, OPENED, FILTER] = [IN_LINE, IN_ACTOR, 'at salt? text', 'actor? approval_id? mailbox_id? outcome? request_id? resource? type?'].map(shape);
function members(value, of) {
  isTrue(isObject(value), 'member_unknown'); let count = 0;
  for (const name of Object.keys(value)) { const member = of.get(name); isTrue(member?.is(value[name]), 'member_unknown'); count += member.counts; }
  return isTrue(count === of.required, 'member_unknown');
}
/** Most lines are spelled as simply as PLAIN accepts, which is canonical and has the members of LINE; reading them so is many times faster. */
const [IS_PLAIN, WORD, NUMBER] = [Symbol('plain'), '"([^"\\\\\\0-\\x1f\\ud800-\\udfff]*)"', '(0|[1-9]\\d{0,14})'];
const SPELLED = { text: WORD, null: `(?:null|${WORD})`, none: '"(none)"', schema: `(?:null|${NUMBER})`, int: NUMBER, one: '1' };
const spelled = (words) => wordsOf(words).map(({ name, kind, may }) => `${may ? '(?:' : ''}"${name}":${SPELLED[kind]},${may ? ')?' : ''}`).join('').slice(0, -1);
SPELLED.actor = `\\{${spelled(IN_ACTOR)}\\}`; const PLAIN = new RegExp(`^\\{${spelled(IN_LINE)}\\}$`);
export function lineOf(text) {
  const found = PLAIN.exec(text); if (found === null) return parsed(text);
  const [, id = null, session_id, , , approval_id, , , , mailbox_id, occurred_at, request_id, revision, salt, , seq, stream, , trail, type] = found;
  return { [IS_PLAIN]: true, actor: { id, session_id }, approval_id, mailbox_id, occurred_at, request_id, revision, salt, seq: Number(seq), stream, trail, type };
}
const integers = (value) => { for (const name in value) isTrue(typeof value[name] !== 'number' || isInteger(value[name]), 'number_invalid'); return true; };
const isHeader = ({ kind, mode, approval_id: approval }) => (kind === 'evidence' ? mode === 'sparse' && /^chk_./s.test(approval ?? '')
  : kind === 'export' && ['complete', 'skeleton', 'sparse'].includes(mode) && approval === undefined);
const ENCODED = { line: 'salt', hidden: 'body_hash', cover: 'hash', stamp: 'token', binary: 'base64' };
const [HASHES, NO_NOTE, NONE] = [['hidden', 'cover'], { wrong: null }, []];
// Section 5: notes and keys.
const KEY_NAME = /^[^\0-\x20+]+$/;
/** The log of an origin is what comes before the epoch: audit name and trail. */
function originOf(text) {
  const [, log, trail, epoch] = /^(.+\/([^/]+))\/([^/]+)$/.exec(text) ?? [];
  return log === undefined || !KEY_NAME.test(text) ? null : { text, log, trail, epoch: isDecimal(epoch) && epoch !== '0' ? Number(epoch) : null };
}
/** The code of what is wrong is in `wrong`; the caller says when it counts. `count` is 5 for the note of a rotation. */
export function parseNote(text, count = 3) {
  try {
    const lines = text.split('\n'); const signed = lines.slice(0, count); const [kind, origin, size, root, vkey] = count === 3 ? [null, ...signed] : signed;
    const found = lines.slice(count + 1, -1).map((line) => /^\u2014 ([^ ]+) ([^ ]+)$/.exec(line) ?? fail('note_invalid')); const from = originOf(origin ?? '');
    isTrue(from !== null && lines[count] === '' && found.length > 0 && lines.at(-1) === '', 'note_invalid');
    isTrue(from.epoch !== null && isDecimal(size), 'number_invalid'); base64(root, 32); const raw = found.map(([, name, signature]) => ({ name, bytes: base64(signature) }));
    const isFormed = raw.every(({ name, bytes }) => KEY_NAME.test(name) && bytes.length > 4) && text.isWellFormed() && !/[\0-\x09\x0b-\x1f]/.test(text);
    isTrue(isFormed && raw.length <= 16, 'note_invalid'); const signatures = raw.map(({ name, bytes }) => ({ name, id: hex(bytes.subarray(0, 4)), bytes: bytes.slice(4) }));
    return { wrong: null, kind, origin: from, size: Number(size), root, vkey, body: `${signed.join('\n')}\n`, text, signatures };
  } catch (error) { return { wrong: error.code ?? 'note_invalid' }; }
}
const keyId = (name, type, key) => hex(hashOf(`${name}\n`, Uint8Array.of(type), key).subarray(0, 4));
function parseVkey(vkey, type) {
  const [, name, id, text] = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(vkey) ?? stop('usage'); const bytes = base64(text, 33); const key = bytes.slice(1);
  if (!KEY_NAME.test(name) || bytes[0] !== type || keyId(name, type, key) !== id) stop('usage');
  return { name, names: [name], id, type, key, hex: hex(key), since: Infinity };
}
export async function isSigned(key, signature, text) {
  const subtle = globalThis.crypto?.subtle ?? stop('unsupported'); try {
    return await subtle.verify('Ed25519', await subtle.importKey('raw', key, 'Ed25519', false, ['verify']), signature, utf8.encode(text));
  } catch ({ name }) { return name === 'NotSupportedError' ? stop('unsupported') : false; }
}
// Section 4: the tree.
export const leafHash = (line, bodyHash) => hashOf(LEAF, line, bodyHash);
export class Tree {
  size = 0; #stack = [];
  push(level, hash) {
    let top = { level, hash }; for (; this.#stack.at(-1)?.level === top.level; top = { level: top.level + 1, hash: hashOf(NODE, this.#stack.pop().hash, top.hash) });
    this.#stack.push(top); this.size += 2 ** level;
  }
  root = () => toBase64(this.size === 0 ? hashOf() : this.#stack.map(({ hash }) => hash).reduceRight((below, entry) => hashOf(NODE, entry, below)));
}
/** The message imprint of a TimeStampToken (RFC 3161 2.4.2) when it is SHA-256. `into` steps to one item of a DER value. */
function imprintOf(der) {
  const into = ({ from, to }, index, tag) => {
    const more = der[from + 1] < 0x80 ? 0 : der[from + 1] - 0x80; const start = from + 2 + more;
    const end = start + (more === 0 ? der[from + 1] : der.subarray(from + 2, start).reduce((sum, byte) => sum * 256 + byte, 0));
    isTrue(end <= to && der[from + 1] !== 0x80 && (index > 0 || der[from] === tag), 'stamp_mismatch');
    return index === 0 ? { from: start, to: end } : into({ from: end, to }, index - 1, tag);
  };
  const path = (from, ...steps) => steps.reduce((item, [index, tag]) => into(item, index, tag), from);
  const content = path({ from: 0, to: der.length }, [0, 0x30], [1, 0xa0], [0, 0x30], [2, 0x30]); const imprint = path(content, [1, 0xa0], [0, 4], [0, 0x30], [2, 0x30]);
  const found = [path({ from: 0, to: der.length }, [0, 0x30], [0, 6]), path(content, [0, 6]), path(imprint, [0, 0x30], [0, 6]), path(imprint, [1, 4])];
  const [type, of, hash, value] = found.map((item) => hex(der.subarray(item.from, item.to)));
  return isTrue(type === '2a864886f70d010702' && of === '2a864886f70d0109100104' && hash === '608648016503040201', 'stamp_mismatch') && value;
}
// Section 3: sealed texts.
const SEALED = /^sealed\.(?:v1\.(?<old>[\w-]+)|v2\.(?<owner>[\w-]+)\.(?<commitment>[\w-]{43}))\.[\w-]+$/;
function sealedAt(body, pointer) {
  const has = (value, name) => (Array.isArray(value) ? isDecimal(name) : isObject(value)) && Object.hasOwn(value, name);
  const names = pointer.split('/').slice(1).map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const value = names.reduce((at, name) => (has(at, name) ? at[name] : undefined), /^(?:\/(?:[^~/]|~[01])*)+$/.test(pointer) ? body : undefined);
  return (isText(value) && SEALED.exec(value)?.groups) || fail('opened_at');
}
// Section 7: trust. What is wrong here is reported at the trailer.
function trustOf({ keys, witnesses, doubts }, header) {
  const [trusted, waiting, revoked, seen, signers, judged] = [new Map(), [], new Map(), new Map(), new Map(), new Set()];
  const cosigned = { first: Infinity, by: new Set() }; let wrong = null;
  const add = (key) => {
    const { names, since } = trusted.get(key.hex) ?? { names: [], since: key.since };
    trusted.set(key.hex, { ...key, names: [...names, key.name], since: Math.min(since, doubts.get(key.id) ?? Infinity) });
  };
  const addWaiting = () => waiting.splice(0).filter((key) => !trusted.has(key.hex)).forEach(add);
  const isOf = ({ key, type, names }, { name, id }, { text, log }) =>
    names.some((own) => originOf(own)?.log === log && (name === own || name === text)) && keyId(name, type, key) === id;
  async function signersOf({ signatures, origin, body }, candidates) {
    const found = new Map();
    for (const key of candidates) for (const { id, bytes } of signatures.filter((one) => isOf(key, one, origin))) {
      isTrue(await isSigned(key.key, bytes, body), 'signature_invalid'); found.set(key.hex, { ...key, since: Math.min(key.since, doubts.get(id) ?? Infinity) });
    }
    return found;
  }
  async function judge(note, candidates) {
    isTrue(new Set(note.signatures.map(({ name, id }) => `${name} ${id}`)).size === note.signatures.length, 'signature_invalid');
    for (const { name, id, bytes } of note.signatures) for (const witness of witnesses.filter((one) => one.name === name && one.id === id)) {
      const time = bytes.length === 72 ? Number(new DataView(bytes.buffer).getBigUint64(0)) : NaN;
      const isValid = isInteger(time) && (await isSigned(witness.key, bytes.slice(8), `cosignature/v1\ntime ${time}\n${note.body}`)); isTrue(isValid, 'signature_invalid');
      if (note === header) { cosigned.first = Math.min(cosigned.first, time); cosigned.by.add(witness.hex); }
    }
    return signersOf(note, candidates);
  }
  const step = (check) => async (...args) => {
    if (keys.length === 0 || wrong !== null) return; try {
      await check(...args);
      // The header's checkpoint is judged with each key as it comes to be trusted. It is larger than every line.
      while (judged.size < trusted.size || (signers.size > 0 && waiting.length > 0)) {
        const found = await judge(header, [...trusted.values()].filter((key) => !judged.has(key.hex))); for (const key of trusted.keys()) judged.add(key);
        for (const [by, key] of found) signers.set(by, key); if (signers.size > 0) addWaiting();
      }
    } catch (error) { if (error.exit !== 1) throw error; wrong = error.code; }
  };
  const remember = (note, by) => seen.set(JSON.stringify([note.origin.text, by, note.signatures.map(({ name, id }) => [name, id])]), { ...note, by });
  return {
    begin: step(() => keys.forEach(add)),
    checkpoint: step(async (note) => { let found = await judge(note, trusted.values());
      if (found.size > 0 && waiting.length > 0) { addWaiting(); found = await judge(note, trusted.values()); } remember(note, [...found.keys()]); }),
    rotation: step(async (text, index) => {
      const note = parseNote(text, 5); const next = attempt(() => parseVkey(note.vkey, 1), () => fail('rotation_unsigned')); const { log } = header.origin;
      isTrue(note.kind === ROTATION && note.size <= index && note.origin.log === log && originOf(next.name)?.log === log, 'rotation_unsigned');
      const unsigned = ({ code }) => (code === 'unsupported' ? stop(code) : fail('rotation_unsigned'));
      const [own, found] = await Promise.all([[next], trusted.values()].map((by) => signersOf(note, by))).catch(unsigned);
      isTrue(own.size > 0 && found.size > 0, 'rotation_unsigned'); waiting.push({ ...next, since: Math.max(...[...found.values()].map(({ since }) => since)) });
    }),
    revocation({ vkey, since, size }) {
      const key = attempt(() => parseVkey(vkey, 1), () => null); const isFormed = key !== null && isText(since) && isInteger(size);
      revoked.set(isFormed ? key.hex : null, { ...key, isFormed, size: Math.min(size, revoked.get(key?.hex)?.size ?? Infinity) });
    },
    end() {
      if (keys.length === 0) return { isSound: true, cosigners: cosigned.by };
      isTrue(wrong === null, wrong); isTrue(signers.size > 0, 'signature_missing'); remember(header, [...signers.keys()]);
      const isIn = (key, { size, origin, signatures }) => key.size < size && signatures.some((one) => isOf(key, one, origin));
      const isKept = ({ by, size }) => by.some((key) => !(revoked.get(key)?.size < size));
      const isRevoked = (key) => !key.isFormed || [...seen.values()].some((note) => isIn(key, note) && !isKept(note));
      isTrue(![...revoked.values()].some(isRevoked), 'key_revoked');
      return { isSound: [...signers.values()].some(({ since }) => since === Infinity || cosigned.first < since), cosigners: cosigned.by };
    },
  };
}
// Section 9: evidence of one approval. What is wrong here is reported at the trailer.
const [CONTENTS, TIME] = [['manifest', 'message.eml', 'policy.json', 'preview.txt'], /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/];
/** The hash of the message that a content is or names. */
const SAYS = { __proto__: null, manifest: (bytes) => attempt(() => JSON.parse(strict.decode(bytes))?.mime_sha256, () => null), 'message.eml': (bytes) => withoutDate(bytes) };
function evidenceOf(approvalId, trail) {
  const [stream, votes, contents, frozen, fresh, policies] = [`operation-opn_${approvalId.slice(4)}`, new Map(), new Map(), [], new Map(), new Map()];
  let [revision, request, decided, isCommitted, isGranted, wrong] = [0, null, undefined, false, false, null];
  const CHECKS = {
    __proto__: null, OperationDecided({ policy_version: version }) { decided ??= version; },
    ApprovalRequested(data) { isTrue(request === null, 'revision_gap'); request = data; },
    ApprovalVoteCast({ content_hash: hash, decision }, { actor: { id, session_id: session }, occurred_at: at }) {
      need({ vote_hash: isText(hash) && hash === request?.content_hash, vote_after_commit: !isCommitted, vote_repeated: !votes.has(id),
        vote_not_fresh: !fresh.has(session) || (TIME.test(at) && at <= fresh.get(session)) });
      votes.set(id, decision === 'approve' && isText(id));
    },
    ApprovalGranted({ by }) {
      const [quorum, yes] = [request?.terms?.quorum, [...votes.values()].filter(Boolean).length];
      isTrue(isInteger(quorum) && (by === 'quorum' ? quorum >= 1 && yes >= quorum : by === 'policy' && quorum === 0), 'quorum_unmet'); isGranted = true;
    },
    CommitStarted({ content_hash: hash }) { need({ vote_hash: isText(hash) && hash === request?.content_hash, quorum_unmet: isGranted }); isCommitted = true; },
  };
  return {
    line(line, body) {
      const data = isObject(body?.data) ? body.data : {}; const { type } = line; const until = type === 'SessionStarted' ? data.stepped_up_until : data.until;
      if (type === 'DraftFrozen' && line.approval_id === approvalId) frozen.push(data.mime_sha256);
      if (type === 'PolicySet' && line.stream === `policy-${trail}` && isInteger(data.version)) policies.set(data.version, hex(hashOf(canonicalJson(data))));
      if ((type === 'SessionStarted' || type === 'SessionSteppedUp') && line.stream.startsWith('session-') && TIME.test(until)) fresh.set(line.stream.slice(8), until);
      if (line.stream !== stream || wrong !== null) return;
      try { isTrue(line.revision === String(revision++) && body !== null, 'revision_gap'); CHECKS[type]?.(data, line); } catch ({ code }) { wrong = code; }
    },
    content(name, bytes, hash) { isTrue(!contents.has(name), 'content_mismatch'); contents.set(name, { hash, of: SAYS[name]?.(bytes) }); },
    isKnown: () => [...contents.keys()].every((name) => CONTENTS.includes(name)),
    end() {
      isTrue(wrong === null, wrong); isTrue(request !== null, 'revision_gap'); const [manifest, message, policy] = CONTENTS.map((name) => contents.get(name));
      const isSent = frozen.length === 1 && isText(message?.of) && message.of === frozen[0] && (!manifest || manifest.of === message.of);
      isTrue((!manifest || manifest.hash === request.content_hash) && (!message || isSent) && (!policy || policy.hash === policies.get(decided)), 'content_mismatch');
      return revision - 1;
    },
  };
}
function withoutDate(bytes) {
  let [hash, dates, isDate] = [newHash(), 0, false];
  for (let at = 0, next, isHeader = true; at < bytes.length; at = next) {
    next = bytes.indexOf(10, at) + 1 || bytes.length; const start = String.fromCharCode(...bytes.subarray(at, Math.min(next, at + 5)));
    if (/^\r?\n/.test(start)) isHeader = false;
    if (!/^[ \t]/.test(start)) dates += (isDate = isHeader && /^date:/i.test(start)) ? 1 : 0;
    if (!isDate) hash.update(bytes.subarray(at, isHeader ? next : (next = bytes.length)));
  }
  return dates > 1 ? null : hex(hash.digest());
}
// What a verifier is asked. A policy is a tlog-policy of C2SP.
function policyOf(text) {
  const [keys, witnesses, met] = [[], [], new Map()]; let isMet = null; const named = (name) => met.get(name) ?? stop('usage');
  const define = (name, holds) => (met.has(name) || name === 'none' ? stop('usage') : met.set(name, holds));
  const WORDS = {
    log: (vkey) => keys.push(parseVkey(vkey, 1)), witness: (name, vkey) => define(name, (signed) => signed.has(parseVkey(vkey, 4).hex), witnesses.push(parseVkey(vkey, 4))),
    group(name, k, ...names) {
      const parts = names.map(named); const least = k === 'any' ? 1 : k === 'all' ? parts.length : isDecimal(k) ? Number(k) : 0;
      if (least < 1 || least > parts.length || new Set(names).size < names.length) stop('usage');
      define(name, (signed) => parts.filter((holds) => holds(signed)).length >= least);
    },
    quorum: (name) => (isMet = isMet !== null ? stop('usage') : name === 'none' ? () => true : named(name)),
  };
  for (const [word, ...rest] of text.split('\n').map((line) => line.split(/[ \t]+/).filter(Boolean))) {
    if (word !== undefined && !word.startsWith('#')) Object.hasOwn(WORDS, word) ? WORDS[word](...rest) : stop('usage');
  }
  return { keys, witnesses, isMet: isMet ?? stop('usage') };
}
const DOUBT = /^([0-9a-f]{8})@(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))$/;
function asked({ keys = [], policy, known: notes = [], witnesses = [], quorum, require = [], distrust = [] }) {
  const rules = policy === undefined ? { keys: [], witnesses: [], isMet: () => true } : policyOf(policy);
  const vkeys = keys.flatMap((text) => text.split('\n')).map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'));
  const known = notes.map((text) => parseNote(text)); const doubts = new Map(distrust.map((text) => DOUBT.exec(text)).map(([, id, time]) => [id, Date.parse(time) / 1000]));
  const isRead = require.every((word) => ['complete', 'witness', 'stamp'].includes(word)) && [...doubts.values()].every(Number.isFinite);
  isTrue(isRead && known.every(({ wrong }) => wrong === null) && isDecimal(String(quorum ?? 0)), 'usage');
  const least = Number(quorum ?? (witnesses.length > 0 || require.includes('witness') ? 1 : 0));
  return { keys: [...rules.keys, ...vkeys.map((vkey) => parseVkey(vkey, 1))], witnesses: [...rules.witnesses, ...witnesses.map((vkey) => parseVkey(vkey, 4))],
    known, doubts, require, isMet: (signed) => rules.isMet(signed) && signed.size >= least };
}
/** What ends the stream of an owner whose key is destroyed with it; and the members that older lines lack. */
const ENDED = { InviteSettled: 'invite-', InviteEnded: 'invite-', SystemMailSkipped: 'systemMail-', SystemMailAttempted: 'systemMail-', OAuthClientDeleted: 'oauthClient-' };
const [ENDS, OLDER] = [new Map(Object.entries(ENDED)), ['approval_id', 'mailbox_id']];
// Section 8: the checks, record by record, each in the order of the table. A promise comes only where there are signatures to check.
class Audit {
  facts = { lines: 0, public_only: 0, covered: 0, opened: 0, opened_unprovable: 0, erased: 0, erased_unproven: 0, matching: 0, undecided: 0, checkpoints: 0, stamps: 0, known: 0 };
  isAtEnd = false; epoch = 1; tree = new Tree(); inner = new Map(); erased = []; erasures = new Set(); constructor(asked) { this.asked = asked; }
  record(text) {
    const record = parsed(text); const { t } = isObject(record) ? record : {}; const isLine = t === 'line'; const texts = isLine ? { line: record.line, body: record.body } : {};
    if (texts.line !== undefined) record.line = isText(texts.line) ? lineOf(texts.line) : null;
    if (texts.body !== undefined) record.body = isText(texts.body) ? parsed(texts.body) : null;
    const shape = isLine && record.body_hash !== undefined ? 'hidden' : t === 'content' && record.text === undefined ? 'binary' : t;
    isTrue(isText(t) && Object.hasOwn(SHAPES, t) && t !== 'hidden' && t !== 'binary', 'member_unknown'); members(record, SHAPES[shape]);
    isTrue(t !== 'header' || isHeader(record), 'member_unknown'); integers(record);
    if (isLine) isTrue(integers(record.line) && isDecimal(record.line.revision), 'number_invalid');
    const note = t === 'header' ? parseNote(record.checkpoint) : t === 'checkpoint' ? parseNote(record.note) : NO_NOTE;
    isTrue(note.wrong === null || note.wrong === 'note_invalid', note.wrong); for (const { salt = '' } of record.opened ?? []) base64(salt);
    const bytes = ENCODED[shape] === undefined ? null : base64(record[ENCODED[shape]], HASHES.includes(shape) ? 32 : null);
    const isLate = this.hasContents && ['line', 'cover', 'checkpoint'].includes(t);
    const isHere = (t === 'header') === (this.note === undefined) && (t !== 'content' || this.evidence !== null) && !isLate && !this.isAtEnd;
    isTrue(isHere, 'record_position'); isTrue(note.wrong === null, 'note_invalid'); return this[t](record, note === NO_NOTE ? bytes : note, texts);
  }
  header({ kind, mode, filter, approval_id, origin, epoch, trail, from_seq, to_seq }, note) {
    const isPublic = filter?.outcome === undefined && filter?.resource === undefined; const known = this.asked.known.filter((one) => one.origin.log === note.origin.log);
    need({ origin_mismatch: origin === note.origin.text, trail_mismatch: trail === note.origin.trail, epoch_mismatch: epoch === note.origin.epoch,
      filter_not_public: mode === 'sparse' || (mode === 'complete' ? filter === null : filter !== null && isPublic),
      range_invalid: from_seq >= 1 && from_seq <= to_seq + 1 && to_seq <= note.size, known_note_mismatch: known.every(({ size }) => size <= note.size) });
    Object.assign(this.facts, { kind, mode, filter, approval_id, trail, origin, from_seq, to_seq, size: note.size });
    Object.assign(this, { note, known, trust: trustOf(this.asked, note), evidence: kind === 'evidence' ? evidenceOf(approval_id, trail) : null }); this.#grown();
    return this.trust.begin();
  }
  #grown() { for (const { root } of this.known.filter(({ size }) => size === this.tree.size)) isTrue(++this.facts.known && root === this.tree.root(), 'known_note_mismatch'); }
  line({ line, body = null, opened = NONE, erased = NONE }, bytes, texts) {
    const { type, stream, seq, trail } = line; const { from_seq, to_seq, filter } = this.facts;
    const isSalted = body === null || bytes.length === (line.salt === undefined ? 16 : 0);
    isTrue(trail === this.facts.trail, 'trail_mismatch'); isTrue(seq === this.tree.size + 1, 'seq_mismatch');
    isTrue(isSalted && opened.every(({ salt }) => salt === undefined || atob(salt).length === 16), 'salt_invalid');
    isTrue(this.tree.size < this.note.size, 'line_beyond_size'); if (opened.length + erased.length > 0) this.#texts(opened, erased, body);
    this.tree.push(0, leafHash(texts.line, body === null ? bytes : hashOf(bytes, texts.body))); this.#grown(); this.facts.lines++; this.facts.public_only += body === null ? 1 : 0;
    if (filter !== null && seq >= from_seq && seq <= to_seq) this.#filter(line, Object.entries(filter));
    this.evidence?.line(line, body); if (type === 'AuditKeyRevoked' && body === null) this.isHidden = true; const ended = ENDS.get(type);
    const data = isObject(body?.data) ? body.data : {}; if (type === 'PersonalDataErased') this.erasures.add(data.owner_id);
    if (ended !== undefined && stream.startsWith(ended) && (type !== 'SystemMailAttempted' || data.next_at === null)) this.erasures.add(stream.slice(ended.length));
    if (type === 'AuditKeyRevoked' && body !== null) this.trust.revocation(data);
    return type === 'AuditKeyRotated' && body !== null ? this.trust.rotation(data.note, seq - 1) : undefined;
  }
  #filter(line, wanted) {
    const others = wanted.filter(([name, value]) => (name === 'actor' ? line.actor.id : line[name]) !== value); if (others.length === 0) this.facts.matching++;
    const isOpen = line.salt === 'none' && others.every(([name]) => OLDER.includes(name) && line[name] === undefined);
    if (this.facts.mode === 'skeleton' && others.length > 0 && isOpen) this.facts.undecided++;
  }
  #texts(opened, erased, body) {
    const found = opened.map((item) => ({ ...item, ...sealedAt(body, item.at) }));
    this.erased.push(...erased.map((at) => sealedAt(body, at)).map(({ owner, old }) => owner ?? old));
    isTrue(found.every(({ salt, commitment }) => (salt === undefined) === (commitment === undefined)), 'opened_at');
    for (const { salt, text, commitment } of found) {
      this.facts[salt === undefined ? 'opened_unprovable' : 'opened']++;
      const isSealed = () => text.isWellFormed() && toBase64url(hashOf(SEALED_TEXT, base64(salt), text)) === commitment;
      isTrue(salt === undefined || isSealed(), 'opened_mismatch');
    }
    isTrue(new Set([...opened.map(({ at }) => at), ...erased]).size === opened.length + erased.length, 'erased_and_opened');
  }
  cover({ from, level }, hash) {
    const { mode, from_seq, to_seq } = this.facts; const end = from + 2 ** level;
    need({ cover_unaligned: from % 2 ** level === 0, cover_position: from === this.tree.size, cover_beyond_size: end <= this.note.size,
      cover_in_range: mode === 'sparse' || Math.max(from, from_seq - 1) >= Math.min(end, to_seq) });
    this.tree.push(level, hash); this.facts.covered += end - from; this.#grown();
  }
  checkpoint(_, note) {
    const { log, epoch } = this.note.origin; const isHere = note.size === this.tree.size && !this.inner.has(note.size);
    need({ origin_mismatch: note.origin.log === log, epoch_mismatch: note.origin.epoch <= epoch && note.origin.epoch >= this.epoch, inner_checkpoint_position: isHere });
    isTrue(note.root === this.tree.root(), 'inner_checkpoint_root'); this.inner.set(note.size, hex(hashOf(note.text))); this.epoch = note.origin.epoch; this.facts.checkpoints++;
    return this.trust.checkpoint(note);
  }
  stamp({ kind, size }, token) {
    const imprint = kind === 'rfc3161' ? imprintOf(token) : null; const isLast = size === this.note.size && hex(hashOf(this.note.text)) === imprint;
    isTrue(isLast || this.inner.get(size) === imprint, 'stamp_mismatch'); this.facts.stamps++; this.isStamped ||= isLast;
  }
  content({ name, sha256: given, text }, decoded) {
    this.hasContents = true; const bytes = text === undefined ? decoded : utf8.encode(text);
    isTrue((text ?? '').isWellFormed() && hex(sha256(bytes)) === given, 'content_mismatch'); this.evidence.content(name, bytes, given);
  }
  trailer(trailer) { Object.assign(this, { isAtEnd: true, counts: trailer }); }
  /** What is checked when the file has ended, and what was asked and is not shown. `hash` is that of the bytes before the trailer. */
  end(hash) {
    const { facts, counts, tree, note, erasures } = this;
    const isCounted = ['lines', 'public_only', 'covered'].every((name) => counts[name] === facts[name]) && counts.sha256 === hash;
    need({ size_mismatch: tree.size === note.size, trailer_mismatch: isCounted, root_mismatch: tree.root() === note.root });
    const { isSound, cosigners } = this.trust.end(); facts.revision = this.evidence?.end(); for (const owner of this.erased) facts[erasures.has(owner) ? 'erased' : 'erased_unproven']++;
    facts.witnesses = cosigners.size; const { keys, require, known, isMet } = this.asked;
    return Object.entries({
      no_key: keys.length === 0, opened_unprovable: facts.opened_unprovable > 0, erasure_unproven: facts.erased_unproven > 0, revocation_hidden: this.isHidden,
      content_unproven: this.evidence?.isKnown() === false, filter_older_lines: facts.undecided > 0, not_complete: require.includes('complete') && facts.mode === 'sparse',
      quorum_of_witnesses: !isMet(cosigners), stamp_missing: require.includes('stamp') && !this.isStamped,
      known_note_not_covered: facts.known < known.length, key_distrusted: !isSound,
    }).flatMap(([code, holds]) => (holds ? [code] : []));
  }
}
function textOf(bytes, record) {
  const text = bytes.length > MAX_RECORD ? null : attempt(() => strict.decode(bytes), () => null);
  const { t, format } = (record === 1 && attempt(() => JSON.parse(text), () => null)) || {};
  if (record === 1 && (t !== 'header' || format !== FORMAT)) stop('not_audit_file');
  return isTrue(text !== null && !text.endsWith('\r'), 'encoding_invalid') && text;
}
async function* read(chunks) { try { yield* chunks; } catch { stop('unreadable'); } }
async function verify(chunks, audit, place) {
  let [held, size, digest, hash] = [new Uint8Array(2 ** 18), 0, null, newHash()];
  for await (const chunk of read(chunks)) {
    if (size + chunk.length > held.length) held = joined(held, new Uint8Array(held.length + chunk.length));
    held.set(chunk, size); const buffer = held.subarray(0, size + chunk.length); let from = 0;
    for (let end = buffer.indexOf(10, size); end >= 0; end = buffer.indexOf(10, from)) {
      const pending = audit.record(textOf(buffer.subarray(from, end), place.record)); if (pending !== undefined) await pending;
      if (audit.isAtEnd) digest ??= hex(hash.update(buffer.subarray(0, from)).digest());
      Object.assign(place, { last: place.offset, record: place.record + 1, offset: place.offset + end + 1 - from }); from = end + 1;
    }
    if (digest === null) hash.update(buffer.subarray(0, from));
    held.copyWithin(0, from, buffer.length); size = buffer.length - from; if (size > MAX_RECORD) textOf(held.subarray(0, size), place.record);
  }
  if (size > 0 || place.record === 1) textOf(held.subarray(0, size), place.record);
  need({ encoding_invalid: size === 0, record_position: audit.isAtEnd }); Object.assign(place, { record: place.record - 1, offset: place.last }); return audit.end(digest);
}
/** `options` are the arguments, with the texts of the files that they name: `{keys, policy, known, witnesses, quorum, require, distrust}`. */
export async function verifyAudit(chunks, options = {}) {
  const place = { record: 1, offset: 0 }; let audit = null;
  try {
    audit = new Audit(attempt(() => asked(options), () => stop('usage'))); const codes = await verify(chunks, audit, place);
    return { exit: codes.length === 0 ? 0 : 3, code: codes[0] ?? null, record: null, offset: null, codes, facts: audit.facts };
  } catch (error) { return refusal(error, place, audit?.facts); }
}
function refusal(error, place, facts = null) {
  const { exit, code } = error instanceof Failure ? error : (() => { throw error; })();
  return { exit, code, record: exit === 1 ? place.record : null, offset: exit === 1 ? place.offset : null, codes: [code], facts };
}
const WORDS = new Map(`seq_mismatch: a line does not have the number of its place, so lines were removed, inserted or moved; not_complete: lines of the range may be hidden
filter_older_lines: older lines name no mailbox and no approval, so it is open whether they match; erasure_unproven: texts are said to be erased, without a line that says so
usage: the arguments are not understood, or a key or note is not formed as it must be; trailer_mismatch: the file is not as it was written, its counts or its sum differ
opened_unprovable: texts are shown that were sealed without a way to prove them; key_distrusted: the key is in doubt since a time, and no witness signed before
known_note_mismatch: a checkpoint that you hold does not agree with this file; known_note_not_covered: a checkpoint that you hold could not be compared
unsupported: signatures cannot be verified here, as Ed25519 is missing; key_revoked: a checkpoint is signed by a key that was revoked before
revocation_hidden: the contents of a revocation of a key are hidden; signature_missing: none of the given keys signed the checkpoint; unreadable: a file cannot be read
opened_mismatch: an opened text is not the one that was sealed; not_audit_file: this is no audit file of a form known here; signature_invalid: a signature is not valid
content_unproven: a content is shown that no line is about; quorum_of_witnesses: fewer witnesses signed than asked for; size_mismatch: there are fewer lines than were signed
root_mismatch: the lines are not those that were signed; no_key: no key was given, so it is open who signed this; stamp_missing: there is no time stamp of the checkpoint
encoding_invalid: the bytes are not lines of UTF-8`.split(/; |\n/).map((words) => words.split(': ')));
export function sentences({ exit, record, offset, codes, facts }) {
  const said = codes.map((code) => `${WORDS.get(code) ?? 'the record does not agree with the rest, or is not formed as it must be'} (${code})`).join('; ');
  if (exit === 2) return [`Not verified: ${said}.`];
  if (exit === 1) return [`NOT PROVEN: record ${record}, at byte ${offset}: ${said}.`];
  const { from_seq, to_seq, size, mode, kind, trail, origin } = facts;
  const filtered = `All of them are in the file; ${facts.matching} match the filter ${JSON.stringify(facts.filter)}.`;
  const covered = 'Others may be covered: NOT proven is that no covered line belongs to what was asked for.';
  const stamped = 'NOT proven are signatures of time stamps: openssl ts -verify -token_in -in token.der -data note.txt -CAfile tsa.pem';
  const evidence = `Its approval ${facts.approval_id}: events 0 to ${facts.revision}, without a gap. NOT proven: that no later one is covered, and preview.txt, which no line is about.`;
  return [
    exit === 0 ? 'PROVEN as asked: these lines were signed, and nothing was altered, removed or moved.' : `TRUE, BUT LESS THAN ASKED: ${said}.`,
    `The file (${kind}, ${mode}) is about ${from_seq > to_seq ? 'no lines' : `the lines ${from_seq} to ${to_seq}`} of the trail ${trail}, ` +
      `under the checkpoint of ${origin} over ${size} lines. ${mode === 'sparse' ? covered : mode === 'skeleton' ? filtered : 'All of them are in the file.'}`,
    `Lines: ${facts.lines - facts.public_only} shown, ${facts.public_only} without their contents, ${facts.covered} covered. ` +
      `Sealed texts: ${facts.opened} opened and proven, ${facts.opened_unprovable} opened without proof, ${facts.erased} erased with the line that says so, ${facts.erased_unproven} without.`,
    `Earlier checkpoints: ${facts.checkpoints}; checkpoints that you hold: ${facts.known}; witnesses: ${facts.witnesses}; time stamps: ${facts.stamps}.`,
    ...(facts.stamps > 0 ? [stamped] : []), ...(kind === 'evidence' ? [evidence] : []),
    'NOT proven: that what was recorded is true or happened when it says; who made this file; that no other history was signed, unless others hold checkpoints.',
  ];
}
async function main() {
  const [{ parseArgs }, { openSync, readFileSync, readSync }, crypto] = await Promise.all(['util', 'fs', 'crypto'].map((name) => import(`node:${name}`)));
  newHash = () => crypto.createHash('sha256'); if (crypto.hash !== undefined) sha256 = (bytes) => bytesOf(crypto.hash('sha256', bytes, 'latin1'));
  const [one, many] = [{ type: 'string' }, { type: 'string', multiple: true }];
  const options = { key: many, policy: one, known: many, witness: many, quorum: one, require: many, distrust: many, json: { type: 'boolean' } };
  const text = (name) => attempt(() => strict.decode(readFileSync(name)), () => stop('unreadable')); let result = null;
  function* pieces(name) { const [from, piece] = [openSync(name), new Uint8Array(2 ** 16)]; for (let n; (n = readSync(from, piece)) > 0;) yield piece.subarray(0, n); }
  try {
    const { values, positionals } = attempt(() => parseArgs({ options, allowPositionals: true }), () => stop('usage'));
    const { key = [], known = [], policy = [], witness: witnesses } = values; if (positionals.length !== 1) stop('usage');
    const given = { ...values, keys: key.map(text), known: known.map(text), policy: [policy].flat().map(text)[0], witnesses };
    result = await verifyAudit(pieces(positionals[0]), given);
  } catch (error) { result = refusal(error); }
  process.stdout.write(`${process.argv.includes('--json') ? JSON.stringify(result) : sentences(result).join('\n')}\n`); process.exitCode = result.exit;
}
if (globalThis.process?.versions?.node !== undefined) {
  const [{ realpathSync }, { pathToFileURL }] = await Promise.all([import('node:fs'), import('node:url')]);
  if (attempt(() => pathToFileURL(realpathSync(process.argv[1])).href, () => null) === import.meta.url) await main();
}

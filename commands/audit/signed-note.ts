/** Checkpoints as C2SP signed notes, and the keys that sign them (`docs/audit-format.md` 5). */
import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';

/** The signature type of a gateway's key. */
const ED25519 = 1;
const KEY_BYTES = 32;
const KEY_ID_BYTES = 4;

/** A public key under its name. */
export interface VerifierKey {
  /** No spaces and no `+`. */
  readonly name: string;
  /** 32 bytes, Ed25519. */
  readonly publicKey: Uint8Array;
}

/** The first four bytes of SHA-256(name | LF | type | public key), in hex. */
export const keyIdOf = ({ name, publicKey }: VerifierKey): string =>
  createHash('sha256')
    .update(`${name}\n`)
    .update(Buffer.of(ED25519))
    .update(publicKey)
    .digest()
    .subarray(0, KEY_ID_BYTES)
    .toString('hex');

/** `<name>+<key id>+<base64 of type and key>`. */
export const vkeyOf = (key: VerifierKey): string =>
  `${key.name}+${keyIdOf(key)}+${Buffer.of(ED25519, ...key.publicKey).toString('base64')}`;

/** The key of a vkey text; null when it is not well formed. */
export function readVkey(vkey: string): VerifierKey | null {
  const [, name, id, encoded] = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]{44})$/.exec(vkey) ?? [];
  if (name === undefined || encoded === undefined) return null;
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.length !== KEY_BYTES + 1 || bytes[0] !== ED25519 || bytes.toString('base64') !== encoded)
    return null;
  const key = { name, publicKey: bytes.subarray(1) };
  return keyIdOf(key) === id ? key : null;
}

/** The key name of an epoch's checkpoints: `<audit name>/<trail>/<epoch>`. */
export const originOf = (auditName: string, trail: string, epoch: number): string =>
  `${auditName}/${trail}/${String(epoch)}`;

/** The signed text of a checkpoint. */
export const checkpointText = (origin: string, size: number, root: Uint8Array): string =>
  `${origin}\n${String(size)}\n${Buffer.from(root).toString('base64')}\n`;

/** The root in the third line of a checkpoint. */
export const rootIn = (note: string): Uint8Array => Buffer.from(note.split('\n', 3)[2] ?? '', 'base64');

/** The signed text that a new key is introduced by. */
export const rotationText = (origin: string, size: number, root: Uint8Array, newVkey: string): string =>
  `mailbox-gateway/audit-key/v1\n${checkpointText(origin, size, root)}${newVkey}\n`;

/** The key ids of its signatures, in their order. */
export const keyIdsIn = (note: string): readonly string[] =>
  note
    .slice(note.indexOf('\n\n') + 2)
    .split('\n')
    .flatMap((line) => /^\u2014 \S+ (\S+)$/.exec(line)?.[1] ?? [])
    .map((encoded) => Buffer.from(encoded, 'base64').subarray(0, KEY_ID_BYTES).toString('hex'));

export interface Signed extends VerifierKey {
  /** Ed25519 over the text. */
  readonly signature: Uint8Array;
}

/** The note: the text, an empty line, one line per signature. */
export const noteOf = (text: string, signatures: readonly Signed[]): string =>
  `${text}\n${signatures.map(signatureLine).join('')}`;

const signatureLine = (signed: Signed): string =>
  `\u2014 ${signed.name} ${Buffer.concat([Buffer.from(keyIdOf(signed), 'hex'), signed.signature]).toString('base64')}\n`;

/** DER of an Ed25519 public key before its 32 bytes (RFC 8410 4). */
const SPKI_HEAD = Buffer.from('302a300506032b6570032100', 'hex');

/** The 32 bytes of an Ed25519 public key. */
export const rawPublicKey = (key: KeyObject): Uint8Array =>
  key.export({ format: 'der', type: 'spki' }).subarray(SPKI_HEAD.length);

/** True when the note has a valid signature of this key. */
export function isSignedBy(note: string, key: VerifierKey): boolean {
  const end = note.indexOf('\n\n');
  if (end < 0) return false;
  const text = note.slice(0, end + 1);
  const head = `\u2014 ${key.name} `;
  const publicKey = createPublicKey({
    key: Buffer.concat([SPKI_HEAD, key.publicKey]),
    format: 'der',
    type: 'spki',
  });
  return note
    .slice(end + 2)
    .split('\n')
    .filter((line) => line.startsWith(head))
    .map((line) => Buffer.from(line.slice(head.length), 'base64'))
    .some(
      (bytes) =>
        bytes.subarray(0, KEY_ID_BYTES).toString('hex') === keyIdOf(key) &&
        verify(null, Buffer.from(text), publicKey, bytes.subarray(KEY_ID_BYTES)),
    );
}

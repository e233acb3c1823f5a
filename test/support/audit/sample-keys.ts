/** Keys, signed notes and time stamps for audit files, by Node's crypto and independent of the verifier. */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';

export const sha256 = (...parts: readonly (Uint8Array | string)[]): Buffer => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};

export const AUDIT_NAME = 'gateway.example/audit';
export const TRAIL = 'org_test';
export const originOf = (epoch = 1, trail = TRAIL): string => `${AUDIT_NAME}/${trail}/${epoch}`;

const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');
const GATEWAY_TYPE = 1;
const WITNESS_TYPE = 4;
const TIME_BYTES = 8;

export interface SampleKey {
  readonly name: string;
  readonly type: number;
  readonly vkey: string;
  readonly id: Buffer;
  readonly privateKey: KeyObject;
}

/** The key whose seed is 32 times `byte`, or the bytes given. */
export function sampleKey(seed: number | Buffer, name = originOf(), type = GATEWAY_TYPE): SampleKey {
  const bytes = typeof seed === 'number' ? Buffer.alloc(32, seed) : seed;
  const privateKey = createPrivateKey({ key: Buffer.concat([PKCS8, bytes]), format: 'der', type: 'pkcs8' });
  const publicKey = createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(-32);
  const typed = Buffer.concat([Buffer.of(type), publicKey]);
  const id = sha256(`${name}\n`, typed).subarray(0, 4);
  return { name, type, privateKey, id, vkey: `${name}+${id.toString('hex')}+${typed.toString('base64')}` };
}

export const sampleWitness = (seed: number, name = `witness.example/${seed}`): SampleKey =>
  sampleKey(seed, name, WITNESS_TYPE);

/** One signature line, without its LF. */
export function signatureLine(text: string, key: SampleKey, time = 0): string {
  const seconds = Buffer.alloc(TIME_BYTES);
  seconds.writeBigUInt64BE(BigInt(time));
  const signature =
    key.type === WITNESS_TYPE
      ? Buffer.concat([
          seconds,
          sign(null, Buffer.from(`cosignature/v1\ntime ${time}\n${text}`), key.privateKey),
        ])
      : sign(null, Buffer.from(text), key.privateKey);
  return `— ${key.name} ${Buffer.concat([key.id, signature]).toString('base64')}`;
}

export const noteOf = (text: string, ...lines: readonly string[]): string =>
  `${text}\n${lines.map((line) => `${line}\n`).join('')}`;

/** A note of the gateway over `text`, signed by each key. */
export const signedNote = (text: string, keys: readonly SampleKey[]): string =>
  noteOf(text, ...keys.map((key) => signatureLine(text, key)));

const der = (tag: number, ...parts: readonly Buffer[]): Buffer => {
  const content = Buffer.concat(parts);
  const size =
    content.length < 0x80
      ? Buffer.of(content.length)
      : Buffer.of(0x82, content.length >> 8, content.length & 0xff);
  return Buffer.concat([Buffer.of(tag), size, content]);
};
const oid = (hex: string): Buffer => der(6, Buffer.from(hex, 'hex'));
const SIGNED_DATA = '2a864886f70d010702';
const TST_INFO = '2a864886f70d0109100104';
const SHA256 = '608648016503040201';
const integer = (value: number): Buffer => der(2, Buffer.of(value));

/** A TimeStampToken (RFC 3161) with this imprint; its signature is left out, which verifiers do not read. */
export function stampToken(imprint: Buffer): string {
  const info = der(
    0x30,
    integer(1),
    oid('2a0304'),
    der(0x30, der(0x30, oid(SHA256), der(5)), der(4, imprint)),
    integer(7),
    der(0x18, Buffer.from('20260101000000Z')),
  );
  const content = der(0x30, oid(TST_INFO), der(0xa0, der(4, info)));
  const signed = der(0x30, integer(3), der(0x31, der(0x30, oid(SHA256))), content, der(0x31));
  return der(0x30, oid(SIGNED_DATA), der(0xa0, signed)).toString('base64');
}

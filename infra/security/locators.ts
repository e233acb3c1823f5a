/**
 * The `Locators` port: sealed locators (`contract.md` 1). The IV is a MAC of the plaintext (as in SIV, RFC 5297), so the
 * same place always gets the same id, and only ids made with the MAC key open.
 */
import { createCipheriv, createHmac, timingSafeEqual } from 'node:crypto';
import { approximateBytes } from '../../commands/values/approximate-bytes.ts';
import { BoundedMap } from '../../commands/values/bounded-map.ts';
import { derivedId, fromBase32, toBase32 } from '../../commands/values/ids.ts';
import type { KeyObject } from 'node:crypto';
import type { Locators, MessagePlace } from '../../commands/ports/ports.ts';

const IV_BYTES = 12;
const BLOCK_BYTES = 16;
/** A cache of recent ids of folders and threads, about 5 MB: the next message has often the same. */
const MOST_REMEMBERED = 20_000;
/** A Message-ID, which names a thread, can be as long as its sender likes. */
const BOUND = {
  mostBytes: 8 * 1_048_576,
  bytesOf: (id: string, what: string): number => approximateBytes(id) + approximateBytes(what),
};

/**
 * AES in counter mode (NIST SP 800-38A 6.5), which encrypts and decrypts; the counter is the last four bytes of a block. One
 * cipher for all ids: a page has many, and a cipher of its own costs each more than its blocks.
 */
function counterMode(key: KeyObject): (iv: Uint8Array, bytes: Uint8Array) => Buffer {
  const cipher = createCipheriv('aes-256-ecb', key, null).setAutoPadding(false);
  return (iv, bytes) => {
    const blocks = Math.ceil(bytes.length / BLOCK_BYTES);
    const counters = Buffer.alloc(blocks * BLOCK_BYTES);
    for (let block = 0; block < blocks; block += 1) {
      counters.set(iv, block * BLOCK_BYTES);
      counters.writeUInt32BE(block, block * BLOCK_BYTES + IV_BYTES);
    }
    const keyStream = cipher.update(counters).subarray(0, bytes.length);
    for (let at = 0; at < bytes.length; at += 1) keyStream[at] = (keyStream[at] ?? 0) ^ (bytes[at] ?? 0);
    return keyStream;
  };
}

/** Seals numbers, each 0 … 2^32 - 1, and opens what it sealed. Throws `RangeError` for any other number. */
export function createLocators(encryptionKey: KeyObject, macKey: KeyObject): Locators {
  const syntheticIv = (prefix: string, payload: Uint8Array): Buffer =>
    createHmac('sha256', macKey).update(prefix).update(payload).digest().subarray(0, IV_BYTES);

  const inCounterMode = counterMode(encryptionKey);
  const made = new BoundedMap<string, string>(MOST_REMEMBERED, BOUND);
  const remembered = (what: string, make: () => string): string => {
    const known = made.get(what);
    if (known !== undefined) return known;
    const id = make();
    made.set(what, id);
    return id;
  };

  const seal = (prefix: string, numbers: readonly number[]): string => {
    const payload = Buffer.alloc(numbers.length * 4);
    for (const [index, number] of numbers.entries()) payload.writeUInt32BE(number, index * 4);
    const iv = syntheticIv(prefix, payload);
    return `${prefix}_${toBase32(Buffer.concat([iv, inCounterMode(iv, payload)]))}`;
  };

  const open = (prefix: string, id: string, count: number): number[] | null => {
    const length = prefix.length + 1 + Math.ceil(((IV_BYTES + count * 4) * 8) / 5);
    if (id.length !== length || !id.startsWith(`${prefix}_`)) return null;
    const text = id.slice(prefix.length + 1);
    const bytes = fromBase32(text);
    // Spare bits of the last character could encode the same bytes differently: one message, one id.
    if (bytes === null || toBase32(bytes) !== text) return null;
    const iv = bytes.subarray(0, IV_BYTES);
    const payload = inCounterMode(iv, bytes.subarray(IV_BYTES));
    if (!timingSafeEqual(iv, syntheticIv(prefix, payload))) return null;
    return Array.from({ length: count }, (_, index) => payload.readUInt32BE(index * 4));
  };

  return {
    message: ({ mailboxNumber, folderNumber, uidValidity, uid }) =>
      seal('msg', [mailboxNumber, folderNumber, uidValidity, uid]),
    folder: (mailboxNumber, folderNumber) =>
      remembered(`fld ${String(mailboxNumber)} ${String(folderNumber)}`, () =>
        seal('fld', [mailboxNumber, folderNumber]),
      ),
    attachment: ({ mailboxNumber, folderNumber, uidValidity, uid }, part) =>
      seal('att', [mailboxNumber, folderNumber, uidValidity, uid, part]),
    thread: (mailboxNumber, rootMessageId) =>
      remembered(`thr ${String(mailboxNumber)} ${rootMessageId}`, () =>
        derivedId('thr', macKey, ['thr', String(mailboxNumber), rootMessageId]),
      ),
    openMessage: (id) => {
      const numbers = open('msg', id, 4);
      return numbers && placeOf(numbers);
    },
    openAttachment: (id) => {
      const numbers = open('att', id, 5);
      return numbers && { place: placeOf(numbers), part: numbers[4] ?? 0 };
    },
    openFolder: (id) => {
      const numbers = open('fld', id, 2);
      if (numbers === null) return null;
      const [mailboxNumber = 0, folderNumber = 0] = numbers;
      return { mailboxNumber, folderNumber };
    },
  };
}

function placeOf([
  mailboxNumber = 0,
  folderNumber = 0,
  uidValidity = 0,
  uid = 0,
]: readonly number[]): MessagePlace {
  return { mailboxNumber, folderNumber, uidValidity, uid };
}

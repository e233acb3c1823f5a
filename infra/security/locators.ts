/**
 * The `Locators` port: sealed locators (`contract.md` 1). The IV is a MAC of the plaintext (as in SIV, RFC 5297), so the
 * same place always gets the same id, and only ids made with the MAC key open.
 */
import { createCipheriv, createDecipheriv, createHmac, timingSafeEqual } from 'node:crypto';
import { approximateBytes } from '../../commands/values/approximate-bytes.ts';
import { BoundedMap } from '../../commands/values/bounded-map.ts';
import { derivedId, fromBase32, toBase32 } from '../../commands/values/ids.ts';
import type { KeyObject } from 'node:crypto';
import type { Locators, MessagePlace } from '../../commands/ports/ports.ts';

const IV_BYTES = 12;
/** CTR counts in the last four bytes of its 16. */
const COUNTER = Buffer.alloc(4);
/** A cache of recent ids, about 5 MB: showing a page again needs no cipher per message. */
const MOST_REMEMBERED = 20_000;
/** A Message-ID, which names a thread, can be as long as its sender likes. */
const BOUND = {
  mostBytes: 8 * 1_048_576,
  bytesOf: (id: string, what: string): number => approximateBytes(id) + approximateBytes(what),
};

/** Seals numbers, each 0 … 2^32 - 1, and opens what it sealed. Throws `RangeError` for any other number. */
export function createLocators(encryptionKey: KeyObject, macKey: KeyObject): Locators {
  const syntheticIv = (prefix: string, payload: Uint8Array): Buffer =>
    createHmac('sha256', macKey).update(prefix).update(payload).digest().subarray(0, IV_BYTES);

  const made = new BoundedMap<string, string>(MOST_REMEMBERED, BOUND);
  const remembered = (what: string, make: () => string): string => {
    const known = made.get(what);
    if (known !== undefined) return known;
    const id = make();
    made.set(what, id);
    return id;
  };

  const seal = (prefix: string, numbers: readonly number[]): string =>
    remembered(`${prefix} ${numbers.join()}`, () => sealAnew(prefix, numbers));

  const sealAnew = (prefix: string, numbers: readonly number[]): string => {
    const payload = Buffer.alloc(numbers.length * 4);
    for (const [index, number] of numbers.entries()) payload.writeUInt32BE(number, index * 4);
    const iv = syntheticIv(prefix, payload);
    const cipher = createCipheriv('aes-256-ctr', encryptionKey, Buffer.concat([iv, COUNTER]));
    return `${prefix}_${toBase32(Buffer.concat([iv, cipher.update(payload), cipher.final()]))}`;
  };

  const open = (prefix: string, id: string, count: number): number[] | null => {
    const length = prefix.length + 1 + Math.ceil(((IV_BYTES + count * 4) * 8) / 5);
    if (id.length !== length || !id.startsWith(`${prefix}_`)) return null;
    const text = id.slice(prefix.length + 1);
    const bytes = fromBase32(text);
    // Spare bits of the last character could encode the same bytes differently: one message, one id.
    if (bytes === null || toBase32(bytes) !== text) return null;
    const iv = bytes.subarray(0, IV_BYTES);
    const decipher = createDecipheriv('aes-256-ctr', encryptionKey, Buffer.concat([iv, COUNTER]));
    const payload = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES)), decipher.final()]);
    if (!timingSafeEqual(iv, syntheticIv(prefix, payload))) return null;
    return Array.from({ length: count }, (_, index) => payload.readUInt32BE(index * 4));
  };

  return {
    message: ({ mailboxNumber, folderNumber, uidValidity, uid }) =>
      seal('msg', [mailboxNumber, folderNumber, uidValidity, uid]),
    folder: (mailboxNumber, folderNumber) => seal('fld', [mailboxNumber, folderNumber]),
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

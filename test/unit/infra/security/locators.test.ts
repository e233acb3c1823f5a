import { createDecipheriv } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { fromBase32, toBase32 } from '../../../../commands/values/ids.ts';
import { createLocators } from '../../../../infra/security/locators.ts';
import { randomKey } from '../../../support/samples/random-key.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const u32 = fc.integer({ min: 0, max: 0xffff_ffff });
const place = fc.record({ mailboxNumber: u32, folderNumber: u32, uidValidity: u32, uid: u32 });

const ONE_PLACE = { mailboxNumber: 1, folderNumber: 2, uidValidity: 0xffff_fffe, uid: 4 };

describe('a sealed locator', () => {
  const [encryptionKey, macKey] = [randomKey(), randomKey()];
  const locators = createLocators(encryptionKey, macKey);

  it(`opens to the place it was made of, in at most 56 characters ${verifies('contract:1:locator-stable')}`, () => {
    fc.assert(
      fc.property(place, (message) => {
        const id = locators.message(message);
        expect(id).to.match(/^msg_[0-9a-hjkmnp-tv-z]+$/);
        expect(id.length).to.be.at.most(56);
        expect(locators.openMessage(id)).to.deep.equal(message);
        const { mailboxNumber, folderNumber } = message;
        const folder = locators.folder(mailboxNumber, folderNumber);
        expect(folder).to.match(/^fld_[0-9a-hjkmnp-tv-z]{1,52}$/);
        expect(locators.openFolder(folder)).to.deep.equal({ mailboxNumber, folderNumber });
        const attachment = locators.attachment(message, message.uid);
        expect(attachment).to.match(/^att_[0-9a-hjkmnp-tv-z]{1,52}$/);
        expect(locators.openAttachment(attachment)).to.deep.equal({ place: message, part: message.uid });
      }),
    );
  });

  it(`is the same for one place on every replica, and differs for another ${verifies('contract:1:locator-stable')}`, () => {
    const replica = createLocators(encryptionKey, macKey);
    fc.assert(
      fc.property(place, place, (one, other) => {
        expect(replica.message(one)).to.equal(locators.message(one));
        const same = JSON.stringify(one) === JSON.stringify(other);
        expect(locators.message(one) === locators.message(other)).to.equal(same);
      }),
    );
  });

  it('is its IV, and its numbers in the counter mode of OpenSSL', () => {
    const bytes = fromBase32(locators.attachment(ONE_PLACE, 0xffff_ffff).slice(4));
    if (bytes === null) throw new Error('not base32');
    const cipher = createDecipheriv(
      'aes-256-ctr',
      encryptionKey,
      Buffer.concat([bytes.subarray(0, 12), Buffer.alloc(4)]),
    );
    const numbers = cipher.update(bytes.subarray(12));
    expect(numbers.toString('hex')).to.equal('0000000100000002fffffffe00000004ffffffff');
  });

  it(`is refused when any character was changed ${verifies('contract:1:locator-forged')}`, () => {
    fc.assert(
      fc.property(place, fc.nat(), fc.integer({ min: 1, max: 31 }), (message, at, step) => {
        const id = locators.message(message);
        const index = 4 + (at % (id.length - 4));
        const character = ALPHABET[(ALPHABET.indexOf(id[index] ?? '') + step) % 32] ?? '';
        expect(locators.openMessage(id.slice(0, index) + character + id.slice(index + 1))).to.equal(null);
      }),
    );
  });

  it('is refused in another spelling of the same bytes', () => {
    const id = locators.message({ mailboxNumber: 1, folderNumber: 2, uidValidity: 3, uid: 4 });
    const last = ALPHABET.indexOf(id.at(-1) ?? '');
    const respelt = `${id.slice(0, -1)}${ALPHABET[last + 1] ?? ''}`;
    expect(fromBase32(respelt.slice(4)), 'the same bytes').to.deep.equal(fromBase32(id.slice(4)));
    for (const other of [respelt, id.toUpperCase(), ` ${id}`, `${id}0`, id.slice(0, -1)]) {
      expect(locators.openMessage(other), other).to.equal(null);
    }
  });

  it('is refused when made under other keys or of random bytes', () => {
    const stranger = createLocators(randomKey(), randomKey());
    const sameEncryption = createLocators(encryptionKey, randomKey());
    fc.assert(
      fc.property(place, fc.uint8Array({ minLength: 28, maxLength: 28 }), (message, bytes) => {
        expect(locators.openMessage(stranger.message(message))).to.equal(null);
        expect(locators.openMessage(sameEncryption.message(message))).to.equal(null);
        expect(locators.openMessage(`msg_${toBase32(bytes)}`)).to.equal(null);
      }),
    );
  });

  it('is refused as an id of another kind', () => {
    const message = locators.message({ mailboxNumber: 1, folderNumber: 2, uidValidity: 3, uid: 4 });
    const folder = locators.folder(1, 2);
    const attachment = locators.attachment({ mailboxNumber: 1, folderNumber: 2, uidValidity: 3, uid: 4 }, 5);
    expect(locators.openFolder(message)).to.equal(null);
    expect(locators.openMessage(folder)).to.equal(null);
    expect(locators.openFolder(`fld_${message.slice(4)}`)).to.equal(null);
    expect(locators.openMessage(`msg_${folder.slice(4)}`)).to.equal(null);
    expect(locators.openMessage('')).to.equal(null);
    expect(locators.openAttachment(message)).to.equal(null);
    expect(locators.openMessage(`msg_${attachment.slice(4)}`)).to.equal(null);
  });

  it('is not made of numbers that IMAP does not have', () => {
    expect(() => locators.folder(1, 2 ** 32)).to.throw(RangeError);
    expect(() => locators.folder(-1, 1)).to.throw(RangeError);
  });

  it('names a thread by mailbox and root Message-ID', () => {
    const thread = locators.thread(1, '<a@example.com>');
    expect(thread).to.match(/^thr_[0-9a-hjkmnp-tv-z]{26}$/);
    expect(locators.thread(1, '<a@example.com>')).to.equal(thread);
    expect(locators.thread(2, '<a@example.com>')).not.to.equal(thread);
    expect(locators.thread(1, '<b@example.com>')).not.to.equal(thread);
  });
});

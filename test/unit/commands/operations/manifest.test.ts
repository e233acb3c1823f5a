import { expect } from 'chai';
import fc from 'fast-check';
import {
  buildActionsManifest,
  isSameMessage,
  movedDestinations,
} from '../../../../commands/messages/actions-manifest.ts';
import {
  type ActionsManifest,
  contentHashOf,
  manifestText,
  openManifest,
} from '../../../../commands/operations/manifest.ts';
import { canonicalJson } from '../../../../commands/values/canonical-json.ts';

const INBOX = { number: 1, path: 'INBOX' };
const ARCHIVE = { number: 2, path: 'Archive' };
const mailbox = { id: 'mbx_1', folders: [INBOX, ARCHIVE] };
const target = {
  message_id: 'msg_1',
  rfc_message_id: '<1@example.com>',
  stale: false,
  ref: { folder: INBOX, uidValidity: 7, uid: 1 },
};
const face = { messageId: '<1@example.com>', subject: 'Invoice' };
const built = (nonce: string, changes: Partial<typeof face> = {}): ActionsManifest =>
  buildActionsManifest(nonce, {
    operationId: 'opn_1',
    mailbox,
    steps: [{ action: 'move', folder: 2, target_uid_validity: 9, target_uid_next: 4 }],
    targets: [target],
    faces: [{ ...face, ...changes }],
  });
const NONCE = '00112233445566778899aabbccddeeff';

describe('manifestText', () => {
  it('matches the example of RFC 8785 3.2.2 to 3.2.4', () => {
    const example = JSON.parse(
      '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],' +
        '"string":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false]}',
    ) as unknown;
    const expected =
      '7b226c69746572616c73223a5b6e756c6c2c747275652c66616c73655d2c226e756d62657273223a5b3333333333333333332e33333333' +
      '3333332c31652b33302c342e352c302e3030322c31652d32375d2c22737472696e67223a22e282ac245c75303030665c6e4127425c2' +
      '25c5c5c5c5c222f227d';
    expect(Buffer.from(canonicalJson(example)).toString('hex')).to.equal(expected);
  });

  it('sorts members as RFC 8785 3.2.3 does, by UTF-16 code unit', () => {
    const example = {
      '\u20ac': 'Euro Sign',
      '\r': 'Carriage Return',
      '\ufb33': 'Hebrew Letter Dalet With Dagesh',
      '1': 'One',
      '\ud83d\ude00': 'Emoji: Grinning Face',
      '\u0080': 'Control',
      '\u00f6': 'Latin Small Letter O With Diaeresis',
    };
    expect([...canonicalJson(example).matchAll(/:"([^"]+)"/g)].map(([, value]) => value)).to.deep.equal([
      'Carriage Return',
      'One',
      'Control',
      'Latin Small Letter O With Diaeresis',
      'Euro Sign',
      'Emoji: Grinning Face',
      'Hebrew Letter Dalet With Dagesh',
    ]);
  });

  it('matches the numbers of RFC 8785 appendix B', () => {
    const numbers: readonly (readonly [string, string])[] = [
      ['0000000000000000', '0'], ['8000000000000000', '0'], ['0000000000000001', '5e-324'],
      ['8000000000000001', '-5e-324'], ['7fefffffffffffff', '1.7976931348623157e+308'],
      ['4340000000000000', '9007199254740992'], ['c340000000000000', '-9007199254740992'],
      ['4430000000000000', '295147905179352830000'], ['44b52d02c7e14af5', '9.999999999999997e+22'],
      ['44b52d02c7e14af6', '1e+23'], ['444b1ae4d6e2ef4e', '999999999999999700000'],
      ['444b1ae4d6e2ef4f', '999999999999999900000'], ['444b1ae4d6e2ef50', '1e+21'],
      ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'], ['3eb0c6f7a0b5ed8d', '0.000001'],
      ['41b3de4355555553', '333333333.3333332'], ['41b3de4355555557', '333333333.33333343'],
      ['becbf647612f3696', '-0.0000033333333333333333'], ['43143ff3c1cb0959', '1424953923781206.2'],
    ]; // prettier-ignore
    for (const [bits, written] of numbers) {
      expect(canonicalJson(Buffer.from(bits, 'hex').readDoubleBE())).to.equal(written);
    }
  });

  it('throws when a string has an unpaired surrogate (RFC 8785 3.2.2.2)', () => {
    const manifest = { ...built(NONCE), operation_id: 'opn_\ud800' };
    expect(() => manifestText(manifest)).to.throw('surrogate');
  });
});

describe('manifest of message actions', () => {
  it('names each message, its place and its destination', () => {
    const [item] = built(NONCE).items;
    expect(built(NONCE)).to.deep.equal({
      kind: 'message_actions',
      nonce: NONCE,
      operation_id: 'opn_1',
      mailbox_id: 'mbx_1',
      steps: [{ action: 'move', folder: 2, folder_path: 'Archive' }],
      items: [{ ...item, message_id: 'msg_1', rfc_message_id: '<1@example.com>', folder: 'INBOX' }],
    });
    expect(item?.subject_hash).to.match(/^[0-9a-f]{64}$/);
  });

  it('hashes the subject with a nonce, so that it cannot be guessed', () => {
    expect(built(NONCE).items[0]?.subject_hash).not.to.equal(
      built('ff112233445566778899aabbccddeeff').items[0]?.subject_hash,
    );
  });

  it('opens only with its own hash', () => {
    const text = manifestText(built(NONCE));
    expect(openManifest(text, contentHashOf(text))).to.deep.equal(built(NONCE));
    fc.assert(
      fc.property(fc.nat({ max: text.length - 1 }), fc.integer({ min: 1, max: 94 }), (at, shift) => {
        const code = 32 + ((text.charCodeAt(at) - 32 + shift) % 95);
        const altered = text.slice(0, at) + String.fromCharCode(code) + text.slice(at + 1);
        expect(openManifest(altered, contentHashOf(text))).to.equal(null);
      }),
    );
  });

  it('recognises its messages, and no other message at the same place', () => {
    const manifest = built(NONCE);
    const [item] = manifest.items;
    if (!item) throw new Error('no item');
    expect(isSameMessage(NONCE, item, face)).to.equal(true);
    expect(isSameMessage(NONCE, item, { ...face, subject: 'Invoice 2' })).to.equal(false);
    expect(isSameMessage(NONCE, item, { ...face, messageId: '<2@example.com>' })).to.equal(false);
    expect(isSameMessage(NONCE, item, { messageId: null, subject: null })).to.equal(false);
  });

  it('reports a destination that was renamed or is missing', () => {
    const manifest = built(NONCE);
    expect(movedDestinations(manifest, mailbox)).to.deep.equal([]);
    const renamed = { folders: [INBOX, { number: 2, path: 'Bin' }] };
    expect(movedDestinations(manifest, renamed)).to.deep.equal([2]);
    expect(movedDestinations(manifest, { folders: [INBOX] })).to.deep.equal([2]);
    const missing = { ...ARCHIVE, availability: 'missing' as const };
    expect(movedDestinations(manifest, { folders: [INBOX, missing] })).to.deep.equal([2]);
  });
});

import { expect } from 'chai';
import fc from 'fast-check';
import { decodePiece, type TransferEncoding } from '../../../../commands/mail/transfer-decoding.ts';

/** Decoded in pieces of these lengths, the last one repeated until the end. */
function inPieces(encoding: TransferEncoding, encoded: Buffer, lengths: readonly number[]): Buffer {
  const decoded: Uint8Array[] = [];
  let carry: Uint8Array = new Uint8Array();
  let at = 0;
  for (let index = 0; at < encoded.length || index === 0; index += 1) {
    const length = lengths[Math.min(index, lengths.length - 1)] ?? encoded.length;
    const piece = encoded.subarray(at, at + length);
    at += length;
    const step = decodePiece(encoding, carry, piece, at >= encoded.length);
    decoded.push(step.bytes);
    carry = step.carry;
  }
  return Buffer.concat(decoded);
}

const lengths = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 8 });
const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
const wrap = (text: string, width: number): string =>
  text.replaceAll(new RegExp(`.{${String(width)}}`, 'g'), '$&\r\n');

/** Quoted-printable as a careful writer makes it (RFC 2045 6.7), lines broken anywhere. */
const quoted = (data: Buffer): string =>
  Array.from(data, (byte) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('')
    .replaceAll(/.{75}/g, '$&=\r\n');

describe('decodePiece', () => {
  it('restores what was encoded, wherever the pieces are cut', () => {
    fc.assert(
      fc.property(bytes, lengths, fc.integer({ min: 1, max: 90 }), (data, cuts, width) => {
        expect(inPieces('base64', Buffer.from(wrap(data.toString('base64'), width)), cuts)).to.deep.equal(
          data,
        );
        expect(inPieces('quoted-printable', Buffer.from(quoted(data)), cuts)).to.deep.equal(data);
        expect(inPieces('identity', data, cuts)).to.deep.equal(data);
      }),
    );
  });

  it('never throws, and yields the same for any input wherever it is cut', () => {
    const odd = fc.stringMatching(/^[=A-Fa-f0-9 \t\r\n!é]{0,80}$/).map((text) => Buffer.from(text, 'latin1'));
    fc.assert(
      fc.property(odd, lengths, (input, cuts) => {
        for (const encoding of ['base64', 'quoted-printable'] as const) {
          const whole = decodePiece(encoding, new Uint8Array(), input, true);
          expect(inPieces(encoding, input, cuts), encoding).to.deep.equal(Buffer.from(whole.bytes));
        }
      }),
      { numRuns: 500 },
    );
  });

  it('skips characters outside Base64, and starts again after padding', () => {
    const decode = (text: string): string => inPieces('base64', Buffer.from(text), [3]).toString();
    expect(decode('aGVs!bG8*=\r\naGk=')).to.equal('hellohi');
    expect(decode('aGVsbG8')).to.equal('hello');
    expect(decode('====')).to.equal('');
  });

  it('keeps an invalid equals sign, drops spaces at a line end and joins soft breaks', () => {
    const decode = (text: string): string => inPieces('quoted-printable', Buffer.from(text), [2]).toString();
    expect(decode('a=b =ZZ 1=3d2')).to.equal('a=b =ZZ 1=2');
    expect(decode('a  \t\r\nb = \t \r\nc')).to.equal('a\r\nb c');
    expect(decode('end=')).to.equal('end=');
  });

  it('takes time linear in the length', () => {
    const begin = performance.now();
    for (const text of [
      ' '.repeat(400_000),
      '='.repeat(400_000),
      '= '.repeat(200_000),
      '=\r'.repeat(200_000),
    ]) {
      decodePiece('quoted-printable', new Uint8Array(), Buffer.from(text), false);
      decodePiece('base64', new Uint8Array(), Buffer.from(text), false);
    }
    expect(performance.now() - begin).to.be.below(5_000);
  });
});

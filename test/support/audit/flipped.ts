/** Small files of each kind of record, for tests that flip every bit of them. */
import { OPENED, REASON } from './audit-case.ts';
import { fileOf, SampleTrail, sealed } from './sample-trail.ts';

const noted = new SampleTrail().add('NoteSaved', { data: { reason: sealed('usr_a', REASON) } });
const five = new SampleTrail().fill(5);

/** Covers, a checkpoint between them, and a line whose data is hidden. */
function sparseFile(): Buffer {
  const inner = { t: 'checkpoint', note: five.checkpoint(2) };
  const [header = {}] = five.records({ mode: 'sparse', filter: { type: 'DraftVersionSaved' } });
  return fileOf([header, ...five.covers(0, 2), inner, five.public(3), ...five.covers(3, 5)]);
}

interface Flippable {
  readonly name: string;
  readonly file: Buffer;
  /** Of each byte, as far as there is time. */
  readonly bits: 1 | 8;
}

export const flippable: readonly Flippable[] = [
  { name: 'of two lines', file: fileOf(new SampleTrail().fill(2).records()), bits: 8 },
  {
    name: 'with an opened text',
    file: fileOf(noted.records({}, () => noted.shown(1, OPENED))),
    bits: 8,
  },
  { name: 'with covers and a checkpoint between them', file: sparseFile(), bits: 1 },
];

export interface Flip {
  readonly at: number;
  readonly bit: number;
}

/** Those of one byte after the other; where a byte has one only, it is not the same in each. */
export function* flipsOf(file: Buffer, bits: Flippable['bits']): Generator<readonly Flip[]> {
  for (let at = 0; at < file.length; at++)
    yield bits === 8 ? Array.from({ length: 8 }, (_, bit) => ({ at, bit })) : [{ at, bit: at % 8 }];
}

export function withFlipped(file: Buffer, { at, bit }: Flip): Buffer {
  const flipped = Buffer.from(file);
  flipped.writeUInt8(flipped.readUInt8(at) ^ (1 << bit), at);
  return flipped;
}

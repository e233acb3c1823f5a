/** Checkpoints, sizes and encodings altered. */
import { bad, covered, LAST, rewritten, rewrittenText, seven } from './altered-files.ts';
import { altered, type AuditCase } from './audit-case.ts';
import { noteOf, originOf, sampleKey, sha256, signatureLine, signedNote } from './sample-keys.ts';
import { type Entry, KEY, put, SampleTrail } from './sample-trail.ts';

const noted = (text: string): Entry => ({ checkpoint: signedNote(text, [KEY]) });
const root = seven.root().toString('base64');
export const noteCases: readonly AuditCase[] = [
  bad(
    '21 another root',
    'root_mismatch',
    LAST,
    altered(() => undefined, noted(`${originOf()}\n7\n${sha256('x').toString('base64')}\n`)),
  ),
  bad(
    '21 another root, its signature left',
    'root_mismatch',
    LAST,
    rewritten(root, sha256('x').toString('base64')),
  ),
  bad(
    '22 a larger size',
    'size_mismatch',
    LAST,
    altered(() => undefined, noted(`${originOf()}\n8\n${root}\n`)),
  ),
  bad(
    '22 a smaller size',
    'line_beyond_size',
    8,
    altered(() => undefined, { ...noted(`${originOf()}\n6\n${root}\n`), to_seq: 6 }),
  ),
  bad(
    "23 another organisation's origin",
    'origin_mismatch',
    1,
    altered(() => undefined, noted(`${originOf(1, 'org_other')}\n7\n${root}\n`)),
  ),
  bad(
    "23 another organisation's file",
    'signature_missing',
    LAST,
    altered(
      (records) => {
        for (const one of records.slice(1)) put(one, 'line.trail', 'org_other');
      },
      {
        trail: 'org_other',
        origin: originOf(1, 'org_other'),
        checkpoint: signedNote(`${originOf(1, 'org_other')}\n7\n${otherRoot()}\n`, [
          sampleKey(1, originOf(1, 'org_other')),
        ]),
      },
    ),
  ),
  bad(
    '24 the origin of another epoch',
    'origin_mismatch',
    1,
    altered(() => undefined, { checkpoint: seven.checkpoint(7, [KEY], 2) }),
  ),
  bad(
    '24 another epoch in the header',
    'epoch_mismatch',
    1,
    altered(() => undefined, { epoch: 2 }),
  ),
  bad(
    '24 another trail in the header',
    'trail_mismatch',
    1,
    altered(() => undefined, { trail: 'org_other' }),
  ),
  ...['01', '1e3', '9007199254740992', '-1', '+7', '7.0'].map((size) =>
    bad(
      `39 the size ${size}`,
      'number_invalid',
      1,
      altered(() => undefined, noted(`${originOf()}\n${size}\n${root}\n`)),
    ),
  ),
  bad(
    '39 the epoch 01',
    'number_invalid',
    1,
    altered(() => undefined, { ...noted(`${originOf().replace(/1$/, '01')}\n7\n${root}\n`) }),
  ),
  bad(
    '39 a size in the header',
    'number_invalid',
    1,
    altered(() => undefined, { to_seq: 1.5 }),
  ),
  bad(
    '39 a number of a line',
    'number_invalid',
    3,
    altered((records) => {
      put(records[2], 'line.seq', -2);
    }),
  ),
  bad(
    '39 a revision',
    'number_invalid',
    3,
    altered((records) => {
      put(records[2], 'line.revision', '01');
    }),
  ),
  bad('39 another spelling of a number', 'not_canonical', 3, rewrittenText('"seq":2,', '"seq":2e0,')),
  bad(
    '51 pad bits of a hash',
    'base64_invalid',
    2,
    covered((records) => {
      put(records[1], 'hash', `${'A'.repeat(42)}B=`);
    }),
  ),
  bad(
    '51 pad bits of a salt',
    'base64_invalid',
    3,
    altered((records) => {
      put(records[2], 'salt', `${'A'.repeat(21)}B==`);
    }),
  ),
  bad(
    '51 pad bits of a root',
    'base64_invalid',
    1,
    altered(() => undefined, noted(`${originOf()}\n7\n${'A'.repeat(42)}B=\n`)),
  ),
  bad(
    '51 no padding',
    'base64_invalid',
    3,
    altered((records) => {
      put(records[2], 'opened.0.salt', 'A'.repeat(22));
    }),
  ),
  bad(
    '51 a short hash',
    'base64_invalid',
    2,
    covered((records) => {
      put(records[1], 'hash', 'AAAA');
    }),
  ),
  bad(
    'a note of two lines',
    'note_invalid',
    1,
    altered(() => undefined, { checkpoint: noteOf(`${originOf()}\n7\n`, signatureLine('x', KEY)) }),
  ),
  bad(
    'a note of four lines',
    'note_invalid',
    1,
    altered(() => undefined, noted(`${originOf()}\n7\n${root}\nmore\n`)),
  ),
  bad(
    'a note without signatures',
    'note_invalid',
    1,
    altered(() => undefined, { checkpoint: noteOf(seven.text()) }),
  ),
  bad(
    'a note with 17 signatures',
    'note_invalid',
    1,
    altered(() => undefined, {
      checkpoint: seven.checkpoint(7, [KEY, ...Array.from({ length: 16 }, (_, n) => sampleKey(30 + n))]),
    }),
  ),
];
function otherRoot(): string {
  const other = new SampleTrail();
  for (const { line, body } of seven.leaves) {
    const { type, stream, revision, mailbox_id } = line as Record<string, string>;
    other.add(type ?? '', {
      data: body['data'] as never,
      stream: stream ?? '',
      revision: revision ?? '',
      trail: 'org_other',
      actor: (line['actor'] as { id: string }).id,
      isSalted: line['salt'] === undefined,
      ...(mailbox_id !== undefined && { mailbox_id }),
    });
  }
  return other.root().toString('base64');
}

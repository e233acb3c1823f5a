/** Records that are not formed as they must be, or stand elsewhere. */
import { alter, bad, base, LAST, replaced, rewritten, rewrittenText, seven } from './altered-files.ts';
import { type AuditCase, OPENED } from './audit-case.ts';
import { sha256, stampToken } from './sample-keys.ts';
import { canonical, type Entry, fileOf, put, SampleTrail, written } from './sample-trail.ts';

const stampAt = (size: number, note: string, more: Entry = {}): Entry => ({
  t: 'stamp',
  size,
  kind: 'rfc3161',
  token: stampToken(sha256(note)),
  ...more,
});
/** The members of a record from the last to the first. */
const reversed = (record: Entry): string =>
  JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(written(record)) as Entry).toReversed()));
/** A record in which one of its texts stands as an object. */
const withObject = (record: Entry, name: string): string =>
  canonical({ ...(JSON.parse(written(record)) as Entry), [name]: record[name] });
export const recordCases: readonly AuditCase[] = [
  alter('33 a line of another trail', 'trail_mismatch', 4, (all) => {
    put(all[3], 'line.trail', 'org_other');
  }),
  bad('34 a doubled member of a body', 'not_canonical', 3, rewrittenText('"gone":', '"gone":"x","gone":')),
  bad('34 a doubled member of a line', 'not_canonical', 2, rewrittenText('"v":1', '"v":1,"v":1')),
  bad(
    '34 a doubled member of a record',
    'not_canonical',
    2,
    rewritten('"t":"line"', '"t":"line","t":"line"'),
  ),
  bad(
    '34 members of a body in another order',
    'not_canonical',
    3,
    rewrittenText('{"data":{"gone"', '{"data":{"zone":1,"gone"'),
  ),
  bad(
    '34 members of a record in another order',
    'not_canonical',
    4,
    fileOf(seven.records().map((record, n) => (n === 3 ? reversed(seven.shown(3)) : record))),
  ),
  bad('34 white space in a body', 'not_canonical', 3, rewrittenText('"gone":', '"gone": ')),
  bad('34 white space after a line', 'not_canonical', 2, rewrittenText('"v":1}', '"v":1} ')),
  bad('34 white space in a record', 'not_canonical', 2, rewritten('"t":"line"', '"t": "line"')),
  bad(
    '34 an escape that a body does not need',
    'not_canonical',
    3,
    rewrittenText('"gone":', '"\\u0067one":'),
  ),
  bad('34 an escape that a record does not need', 'not_canonical', 3, rewritten('gone', '\\u0067one')),
  ...['line', 'body'].flatMap((name) => [
    alter(`34 a ${name} that is no JSON`, 'not_canonical', 3, (all) => {
      put(all[2], name, '{"data":');
    }),
    alter(`37 a ${name} that is no object`, 'member_unknown', 3, (all) => {
      put(all[2], name, '[]');
    }),
    alter(`37 a ${name} that is no text`, 'member_unknown', 3, (all) => {
      put(all[2], name, 1);
    }),
    bad(
      `37 a ${name} that is an object of its record`,
      'member_unknown',
      3,
      fileOf(seven.records().map((record, n) => (n === 2 ? withObject(seven.shown(2), name) : record))),
    ),
  ]),
  bad(
    '34 a body that nests too deep',
    'not_canonical',
    2,
    fileOf(
      new SampleTrail()
        .add('Deep', { data: JSON.parse(`${'['.repeat(64)}${']'.repeat(64)}`) as never })
        .records(),
    ),
  ),
  bad(
    '34 a record that nests too deep',
    'not_canonical',
    2,
    rewritten('"t":"line"', `"u":${'['.repeat(64)}${']'.repeat(64)},"t":"line"`),
  ),
  alter('35 a salt of 15 bytes', 'salt_invalid', 4, (all) => {
    put(all[3], 'salt', Buffer.alloc(15).toString('base64'));
  }),
  alter('35 no salt', 'salt_invalid', 4, (all) => {
    put(all[3], 'salt', '');
  }),
  alter('35 a salt beside "none"', 'salt_invalid', 7, (all) => {
    put(all[6], 'salt', Buffer.alloc(16).toString('base64'));
  }),
  alter('35 an opened salt of 15 bytes', 'salt_invalid', 3, (all) => {
    put(all[2], 'opened.0.salt', Buffer.alloc(15).toString('base64'));
  }),
  ...['lines', 'public_only', 'covered'].map((name) =>
    bad(`36 the count ${name}`, 'trailer_mismatch', LAST, fileOf(seven.records(), { [name]: 3 })),
  ),
  bad(
    '36 the sum of the trailer',
    'trailer_mismatch',
    LAST,
    fileOf(seven.records(), { sha256: sha256('x').toString('hex') }),
  ),
  bad(
    '36 another maker in the header',
    'trailer_mismatch',
    LAST,
    replaced(base, '"created_by":"usr_a"', '"created_by":"usr_b"'),
  ),
  ...['line', 'line.actor', 'opened.0'].map((at) =>
    alter(`37 an unknown member of ${at}`, 'member_unknown', 3, (all) => {
      put(all[2], `${at}.zip`, 1);
    }),
  ),
  alter('37 an unknown member of a record', 'member_unknown', 3, (all) => {
    put(all[2], 'zip', 1);
  }),
  alter('37 an unknown member of the header', 'member_unknown', 1, (all) => {
    put(all[0], 'zip', 1);
  }),
  alter('37 a filter by an unknown member', 'member_unknown', 1, (all) => {
    put(all[0], 'filter', { stream: 'x' });
  }),
  alter('37 an unknown record', 'member_unknown', 3, (all) => {
    put(all[2], 't', 'lines');
  }),
  alter('37 a member left out', 'member_unknown', 3, (all) => {
    put(all[2], 'line.surface', undefined);
  }),
  alter('37 a member of another type', 'member_unknown', 3, (all) => {
    put(all[2], 'line.seq', '2');
  }),
  alter('37 a line of another version', 'member_unknown', 3, (all) => {
    put(all[2], 'line.v', 2);
  }),
  alter('37 an unknown mode', 'member_unknown', 1, (all) => {
    put(all[0], 'mode', 'full');
  }),
  alter('37 an approval in an export', 'member_unknown', 1, (all) => {
    put(all[0], 'approval_id', 'chk_x');
  }),
  alter('37 opened texts without a body', 'member_unknown', 3, (all) => {
    all[2] = { ...seven.public(2), ...OPENED };
  }),
  bad('38 CRLF', 'encoding_invalid', 1, Buffer.from(base.toString().replaceAll('\n', '\r\n'))),
  bad(
    '38 CRLF in one record',
    'encoding_invalid',
    3,
    fileOf(seven.records().map((record, n) => (n === 2 ? `${written(record)}\r` : record))),
  ),
  bad(
    '38 invalid UTF-8',
    'encoding_invalid',
    4,
    Buffer.concat([
      base.subarray(0, base.indexOf('DraftVersionSaved')),
      Buffer.of(0xff),
      base.subarray(base.indexOf('DraftVersionSaved')),
    ]),
  ),
  bad('38 no line end', 'encoding_invalid', LAST, base.subarray(0, -1)),
  bad(
    '38 a byte order mark',
    'not_canonical',
    3,
    fileOf(seven.records().map((record, n) => (n === 2 ? `\ufeff${written(record)}` : record))),
  ),
  bad(
    'an empty record',
    'not_canonical',
    3,
    fileOf(
      seven
        .records()
        .toSpliced(2, 0, {})
        .map((record, n) => (n === 2 ? '' : record)),
    ),
  ),
  bad(
    'a record of more than 8 MiB',
    'encoding_invalid',
    2,
    fileOf(new SampleTrail().add('Large', { data: { text: 'x'.repeat(8 * 2 ** 20) } }).records()),
  ),
  bad('no trailer', 'record_position', LAST, base.subarray(0, base.lastIndexOf('{"covered"'))),
  bad(
    'a record after the trailer',
    'record_position',
    10,
    Buffer.concat([base, Buffer.from(`${written(seven.shown(1))}\n`)]),
  ),
  bad('two headers', 'record_position', 2, fileOf([...seven.records().slice(0, 1), ...seven.records()])),
  bad(
    'a content in an export',
    'record_position',
    LAST,
    fileOf([
      ...seven.records(),
      { t: 'content', name: 'manifest', sha256: sha256('').toString('hex'), text: '' },
    ]),
  ),
  ...[{ outcome: 'allowed' }, { resource: 'x' }].map((filter) =>
    alter(
      `41 a filter on a derived member, ${Object.keys(filter).join('')}`,
      'filter_not_public',
      1,
      () => undefined,
      { mode: 'skeleton', filter },
    ),
  ),
  alter('41 a filter beside complete', 'filter_not_public', 1, () => undefined, { filter: { type: 'x' } }),
  alter('41 no filter in skeleton', 'filter_not_public', 1, () => undefined, { mode: 'skeleton' }),
  alter('a range from 0', 'range_invalid', 1, () => undefined, { from_seq: 0 }),
  alter('a range beyond the size', 'range_invalid', 1, () => undefined, { to_seq: 8 }),
  alter('a range that ends before it begins', 'range_invalid', 1, () => undefined, {
    from_seq: 5,
    to_seq: 3,
  }),
  alter('42 erased and opened', 'erased_and_opened', 3, (all) => {
    put(all[2], 'erased', ['/data/reason']);
  }),
  alter('42 erased twice', 'erased_and_opened', 3, (all) => {
    put(all[2], 'erased', ['/data/old', '/data/old']);
  }),
  bad(
    '50 a stamp of another note',
    'stamp_mismatch',
    LAST,
    fileOf([...seven.records(), stampAt(7, 'another note')]),
  ),
  bad(
    '50 a stamp for a size without a checkpoint',
    'stamp_mismatch',
    LAST,
    fileOf([...seven.records(), stampAt(3, seven.checkpoint(3))]),
  ),
  bad(
    '50 a stamp of another kind',
    'stamp_mismatch',
    LAST,
    fileOf([...seven.records(), stampAt(7, seven.checkpoint(), { kind: 'other' })]),
  ),
  bad(
    '50 a stamp that is no token',
    'stamp_mismatch',
    LAST,
    fileOf([...seven.records(), stampAt(7, seven.checkpoint(), { token: 'MAA=' })]),
  ),
];

/** Lines and covers altered, removed, inserted and moved. */
import { alter, bad, covered, LAST, seven, shifted } from './altered-files.ts';
import type { AuditCase } from './audit-case.ts';
import { sha256 } from './sample-keys.ts';
import { fileOf, put, SampleTrail } from './sample-trail.ts';

export const lineCases: readonly AuditCase[] = [
  alter('01 a byte of a line', 'root_mismatch', LAST, (records) => {
    put(records[3], 'line.type', 'DraftVersionSavee');
  }),
  alter('02 a byte of a body', 'root_mismatch', LAST, (records) => {
    put(records[3], 'body.data.9', 3);
  }),
  alter('03 a salt', 'root_mismatch', LAST, (records) => {
    put(records[3], 'salt', Buffer.alloc(16).toString('base64'));
  }),
  bad(
    '04 a hash of a body',
    'root_mismatch',
    LAST,
    fileOf(
      seven.records({}, (seq) =>
        seq === 3 ? { ...seven.public(3), body_hash: sha256('x').toString('base64') } : seven.shown(seq),
      ),
    ),
  ),
  alter('05 an opened text', 'opened_mismatch', 3, (records) => {
    put(records[2], 'opened.0.text', 'Zoë said "no"');
  }),
  alter('05 an opened text with a lone surrogate', 'opened_mismatch', 3, (records) => {
    put(records[2], 'opened.0.text', '\ud800');
  }),
  alter('06 the salt of an opened text', 'opened_mismatch', 3, (records) => {
    put(records[2], 'opened.0.salt', Buffer.alloc(16, 1).toString('base64'));
  }),
  ...(['/data/list/0/a~1b~0c'] as const).map((at) =>
    alter('07 another sealed text', 'opened_mismatch', 3, (records) => {
      put(records[2], 'opened.0.at', at);
    }),
  ),
  ...[
    '',
    '/',
    '/data',
    '/data/none',
    '/data/list/1',
    '/data/list/00',
    '/data/list/-',
    '/data/reason/x',
    '/data/~2',
    'data/reason',
    '/data/reason/',
  ].map((at) =>
    alter(`07 no sealed text at "${at}"`, 'opened_at', 3, (records) => {
      put(records[2], 'opened.0.at', at);
    }),
  ),
  alter('07 a salt beside sealed.v1', 'opened_at', 3, (records) => {
    put(records[2], 'opened.0.at', '/data/old');
  }),
  alter('07 no salt beside sealed.v2', 'opened_at', 3, (records) => {
    put(records[2], 'opened.0.salt', undefined);
  }),
  alter('07 an erased text that is not sealed', 'opened_at', 3, (records) => {
    put(records[2], 'erased', ['/data/list']);
  }),
  alter('08 a line removed', 'seq_mismatch', 4, (records) => {
    records.splice(3, 1);
  }),
  alter('09 a line inserted', 'seq_mismatch', 5, (records) => {
    records.splice(3, 0, seven.shown(3));
    put(records[3], 'line.id', 'evt_x');
  }),
  alter('10 a line doubled', 'seq_mismatch', 5, (records) => {
    records.splice(3, 0, seven.shown(3));
  }),
  alter('11 two lines swapped', 'seq_mismatch', 4, (records) => {
    records.splice(3, 2, seven.shown(4), seven.shown(3));
  }),
  alter('12 all numbers shifted', 'seq_mismatch', 2, (records) => {
    shifted(records, 1);
  }),
  alter('13 the last line cut off', 'size_mismatch', 8, (records) => {
    records.pop();
  }),
  alter('14 the first line cut off', 'seq_mismatch', 2, (records) => {
    records.splice(1, 1);
  }),
  alter('14 the first line cut off and the rest shifted', 'size_mismatch', 8, (records) => {
    records.splice(1, 1);
    shifted(records, -1);
  }),
  bad(
    '13 a line beyond the size',
    'line_beyond_size',
    9,
    fileOf([
      ...new SampleTrail().fill(8).records({ checkpoint: new SampleTrail().fill(7).checkpoint(), to_seq: 7 }),
    ]),
  ),
];

export const coverCases: readonly AuditCase[] = [
  bad(
    '15 the hash of a cover',
    'root_mismatch',
    5,
    covered((records) => {
      put(records[1], 'hash', sha256('x').toString('base64'));
    }),
  ),
  bad(
    '16 a cover unaligned',
    'cover_unaligned',
    3,
    covered((records) => {
      put(records[2], 'from', 3);
    }),
  ),
  bad(
    '17 a cover beyond the size',
    'cover_beyond_size',
    4,
    covered((records) => {
      put(records[3], 'level', 1);
    }),
  ),
  bad(
    '17 a cover of an absurd level',
    'cover_beyond_size',
    2,
    covered((records) => {
      put(records[1], 'level', 2 ** 53 - 1);
    }),
  ),
  bad(
    '18 covers overlap',
    'cover_position',
    3,
    covered((records) => {
      put(records[2], 'from', 2);
    }),
  ),
  bad(
    '18 a gap between covers',
    'cover_position',
    3,
    covered((records) => {
      records.splice(2, 1);
    }),
  ),
  bad(
    '19 a leaf as a cover of level 1',
    'root_mismatch',
    5,
    covered((records) => {
      put(records[2], 'hash', seven.node(0, 4).toString('base64'));
    }),
  ),
  bad(
    '20 an inner node as a line',
    'seq_mismatch',
    3,
    covered((records) => {
      records[2] = { ...seven.public(6), body_hash: seven.node(1, 4).toString('base64') };
    }),
  ),
  bad(
    '20 an inner node as a cover of level 0',
    'cover_position',
    4,
    covered((records) => {
      put(records[2], 'level', 0);
    }),
  ),
  bad(
    '40 a cover in the range of complete',
    'cover_in_range',
    2,
    covered(() => undefined, {}),
  ),
  bad(
    '40 a cover in the range of skeleton',
    'cover_in_range',
    4,
    covered(() => undefined, { mode: 'skeleton', filter: { type: 'x' }, from_seq: 7 }),
  ),
];

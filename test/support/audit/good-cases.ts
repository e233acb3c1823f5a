/** Files that are proven as asked, and files that prove less. */
import { altered, type AuditCase, OPENED, sevenLines } from './audit-case.ts';
import {
  sampleKey,
  sampleWitness,
  sha256,
  signatureLine,
  signedNote,
  stampToken,
  noteOf,
  originOf,
} from './sample-keys.ts';
import { type Entry, fileOf, KEY, SampleTrail } from './sample-trail.ts';

const good = (name: string, file: Buffer, more: Partial<AuditCase> = {}): AuditCase => ({
  name: `good: ${name}`,
  file,
  exit: 0,
  code: null,
  ...more,
});
const less = (code: string, file: Buffer, more: Partial<AuditCase> = {}): AuditCase => ({
  name: `less: ${code}${more.name === undefined ? '' : `, ${more.name}`}`,
  file,
  exit: 3,
  code,
  ...more,
  ...(more.name !== undefined && { name: `less: ${code}, ${more.name}` }),
});

const plain = (size: number): AuditCase =>
  good(`${size} lines`, fileOf(new SampleTrail().fill(size).records()));
const SIZES = [0, 1, 2, 3, 7, 256, 257];

const seven = sevenLines();
const W1 = sampleWitness(21);
const W2 = sampleWitness(22);
const W3 = sampleWitness(23);
const NEW = sampleKey(2);
const AT = 1_767_300_000;

/** The checkpoint with cosignatures beside that of the gateway. */
const cosigned = (...witnesses: readonly (typeof W1)[]): string => {
  const text = seven.text();
  return noteOf(
    text,
    signatureLine(text, KEY),
    ...witnesses.map((witness, n) => signatureLine(text, witness, AT + n)),
  );
};
const sevenWith = (header: Entry = {}, ...more: readonly Entry[]): Buffer =>
  fileOf([...seven.records(header), ...more]);
const stampOf = (size: number, note: string): Entry => ({
  t: 'stamp',
  size,
  kind: 'rfc3161',
  token: stampToken(sha256(note)),
});
const sparse = { mode: 'sparse' };
const skeleton = { mode: 'skeleton', filter: { mailbox_id: 'mbx_1', type: 'DraftCreated' } };

const withErased = (...erased: readonly string[]): Buffer =>
  fileOf(seven.records({}, (seq) => seven.shown(seq, seq === 2 ? { erased } : {})));

/** An erased text of `own_1`, and the line that may prove it. */
function erasedOf(type: string, stream: string, data: Entry = {}, isHidden = false): Buffer {
  const trail = new SampleTrail()
    .add('NoteSaved', { data: { gone: 'sealed.v1.own_1.AAAA' } })
    .add(type, { stream, data: data as never });
  const last = isHidden ? trail.public(2) : trail.shown(2);
  return fileOf(trail.records({}, (seq) => (seq === 1 ? trail.shown(1, { erased: ['/data/gone'] }) : last)));
}
/** Its sixth line is older: it has no salt and names no mailbox. */
const ofFilter = (filter: Entry, header: Entry = {}): Buffer =>
  fileOf(seven.records({ mode: 'skeleton', filter, ...header }, (seq) => seven.public(seq)));

const shapes: readonly AuditCase[] = [
  good(
    'opened',
    altered(() => undefined),
  ),
  good('erased, with the lines that say so', withErased('/data/list/0/a~1b~0c', '/data/gone')),
  good(
    'hidden bodies',
    fileOf(seven.records({}, (seq) => (seq % 2 === 0 ? seven.public(seq) : seven.shown(seq)))),
  ),
  good(
    'skeleton',
    fileOf(seven.records(skeleton, (seq) => (seq === 1 ? seven.shown(seq) : seven.public(seq)))),
  ),
  good(
    'sparse',
    fileOf(
      seven.records({ ...sparse, filter: { type: 'DraftSent', outcome: 'allowed' } }, (seq) =>
        seq === 6 ? seven.shown(6) : null,
      ),
    ),
  ),
  good('only covers', fileOf(seven.records(sparse, () => null))),
  good(
    'a level-0 cover over each line',
    fileOf([...seven.records(sparse).slice(0, 1), ...Array.from({ length: 7 }, (_, n) => seven.cover(n, 0))]),
  ),
  good(
    'a range with covers around it',
    fileOf(
      seven.records({ from_seq: 3, to_seq: 5 }, (seq) => (seq >= 3 && seq <= 5 ? seven.shown(seq) : null)),
    ),
  ),
  good('an empty range', fileOf(seven.records({ from_seq: 5, to_seq: 4 }, () => null))),
  ...[
    ['InviteSettled', 'invite-own_1'],
    ['InviteEnded', 'invite-own_1'],
    ['SystemMailSkipped', 'systemMail-own_1'],
    ['OAuthClientDeleted', 'oauthClient-own_1'],
  ].map(([type = '', stream = '']) => good(`erased with ${type}`, erasedOf(type, stream, {}, true))),
  good(
    'erased with the last try of a mail',
    erasedOf('SystemMailAttempted', 'systemMail-own_1', { next_at: null }),
  ),
  good('a filter that decides for older lines', ofFilter({ mailbox_id: 'x', type: 'DraftCreated' })),
  good('a filter on a range without older lines', ofFilter({ mailbox_id: 'x' }, { to_seq: 5 })),
  good('required to be complete', sevenWith(), { args: ['--require', 'complete'] }),
  good('contents of headers in other scripts', sevenWith({ created_by: '\u2028é𝄞', request_id: '\ud800' })),
  good(
    'deep bodies',
    fileOf(
      new SampleTrail()
        .add('Deep', { data: JSON.parse('{"a":'.repeat(63) + '1' + '}'.repeat(63)) as Entry as never })
        .records(),
    ),
  ),
];

const withInner = (sizes: readonly number[], keys = [KEY], epoch = 1): Entry[] =>
  seven
    .records({
      epoch: 2,
      origin: originOf(2),
      checkpoint: seven.checkpoint(7, [sampleKey(1, originOf(2))], 2),
    })
    .flatMap((record) => {
      const size = record['t'] === 'line' ? Number((record['line'] as Entry)['seq']) : 0;
      return sizes.includes(size)
        ? [record, { t: 'checkpoint', note: seven.checkpoint(size, keys, epoch) }]
        : [record];
    });

const trusted: readonly AuditCase[] = [
  good(
    'inner checkpoints of an earlier epoch, with stamps',
    fileOf([
      ...withInner([1, 4, 6, 7]),
      stampOf(7, seven.checkpoint(7, [KEY], 1)),
      stampOf(4, seven.checkpoint(4)),
      stampOf(7, seven.checkpoint(7, [sampleKey(1, originOf(2))], 2)),
    ]),
    { args: ['--require', 'stamp'] },
  ),
  good('an inner checkpoint that nobody known signed', fileOf(withInner([3], [sampleKey(9)]))),
  good(
    'an inner checkpoint of the empty tree',
    fileOf([
      seven.records()[0] ?? {},
      { t: 'checkpoint', note: seven.checkpoint(0) },
      ...seven.records().slice(1),
    ]),
  ),
  good('several keys in a file', sevenWith(), {
    keys: [`# keys\n${NEW.vkey}\n\n${KEY.vkey}`],
  }),
  good(
    'a signature of an unknown key beside',
    sevenWith({ checkpoint: seven.checkpoint(7, [sampleKey(9), KEY]) }),
  ),
  good('known notes', sevenWith(), {
    known: [seven.checkpoint(0), seven.checkpoint(3), seven.checkpoint(7, [NEW])],
  }),
  good('witnesses', sevenWith({ checkpoint: cosigned(W1, W2) }), {
    args: ['--witness', W1.vkey, '--witness', W2.vkey, '--quorum', '2'],
  }),
  good('a required witness', sevenWith({ checkpoint: cosigned(W1) }), {
    args: ['--witness', W1.vkey, '--require', 'witness'],
  }),
  good('a policy', sevenWith({ checkpoint: cosigned(W1, W3) }), {
    keys: [],
    policy: `# of the organisation\nlog ${KEY.vkey} https://gateway.example\nwitness a ${W1.vkey}\nwitness b ${W2.vkey}\n  witness\tc ${W3.vkey}\ngroup ab any a b\ngroup all all ab c\nquorum all\n`,
  }),
  good('a key in doubt, and a witness before', sevenWith({ checkpoint: cosigned(W1) }), {
    args: ['--witness', W1.vkey, '--distrust', `${KEY.id.toString('hex')}@2026-06-01T00:00:00Z`],
  }),
];

const lessThanAsked: readonly AuditCase[] = [
  less('no_key', sevenWith(), { keys: [] }),
  less(
    'opened_unprovable',
    fileOf(
      seven.records({}, (seq) =>
        seven.shown(seq, seq === 2 ? { opened: [...OPENED.opened, { at: '/data/old', text: 'x' }] } : {}),
      ),
    ),
  ),
  less('erasure_unproven', withErased('/data/old')),
  ...(['mailbox_id', 'approval_id'] as const).map((name) =>
    less('filter_older_lines', ofFilter({ [name]: 'x', type: 'DraftSent' }), { name: `by ${name}` }),
  ),
  less('erasure_unproven', erasedOf('SystemMailAttempted', 'systemMail-own_1', { next_at: 'later' }), {
    name: 'a mail that is sent again',
  }),
  less('erasure_unproven', erasedOf('SystemMailAttempted', 'systemMail-own_1', {}), {
    name: 'a mail of which nothing is said',
  }),
  less('erasure_unproven', erasedOf('InviteEnded', 'systemMail-own_1'), { name: 'a line of another stream' }),
  less('erasure_unproven', erasedOf('MailboxErased', 'mailbox-own_1'), { name: 'the end of a mailbox' }),
  less('not_complete', sevenWith(sparse), { args: ['--require', 'complete'] }),
  less('quorum_of_witnesses', sevenWith({ checkpoint: cosigned(W1) }), {
    args: ['--witness', W1.vkey, '--witness', W2.vkey, '--quorum', '2'],
  }),
  less('quorum_of_witnesses', sevenWith(), {
    name: 'none at all',
    args: ['--witness', W1.vkey, '--require', 'witness'],
  }),
  less('quorum_of_witnesses', sevenWith({ checkpoint: cosigned(W1) }), {
    name: 'of a policy',
    policy: `witness a ${W1.vkey}\nwitness b ${W2.vkey}\ngroup g 2 a b\nquorum g\n`,
  }),
  less('stamp_missing', sevenWith(), { args: ['--require', 'stamp'] }),
  less('stamp_missing', fileOf([...withInner([4]), stampOf(4, seven.checkpoint(4))]), {
    name: 'of the header',
    args: ['--require', 'stamp'],
  }),
  less('known_note_not_covered', fileOf(seven.records(sparse, () => null)), { known: [seven.checkpoint(3)] }),
  less('known_note_not_covered', sevenWith(), {
    name: 'of another trail',
    known: [signedNote(`${originOf(1, 'org_other')}\n3\n${seven.root(3).toString('base64')}\n`, [KEY])],
  }),
  less('key_distrusted', sevenWith({ checkpoint: cosigned(W1) }), {
    args: ['--witness', W1.vkey, '--distrust', `${KEY.id.toString('hex')}@2026-01-01T00:00:00Z`],
  }),
];

export const goodCases: readonly AuditCase[] = [...SIZES.map(plain), ...shapes, ...trusted, ...lessThanAsked];

/** Built when asked for: it is large. */
export const largeCase = (): AuditCase => plain(70_000);

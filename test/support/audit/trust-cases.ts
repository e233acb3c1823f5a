/** Signatures, rotated and revoked keys, and notes that are held outside. */
import { type AuditCase, sevenLines } from './audit-case.ts';
import {
  AUDIT_NAME,
  noteOf,
  originOf,
  sampleKey,
  type SampleKey,
  sampleWitness,
  signatureLine,
  signedNote,
} from './sample-keys.ts';
import { type Entry, fileOf, KEY, SampleTrail } from './sample-trail.ts';

const NEW = sampleKey(2);
const NEWER = sampleKey(3);
const OTHER = sampleKey(9);
const W1 = sampleWitness(21);
const LAST = 9;
const seven = sevenLines();
const signed = (checkpoint: string): Buffer => fileOf(seven.records({ checkpoint }));
const sevenCase = (
  name: string,
  code: string,
  checkpoint: string,
  more: Partial<AuditCase> = {},
): AuditCase => ({
  name,
  file: signed(checkpoint),
  exit: 1,
  code,
  record: LAST,
  ...more,
});

const text = seven.text();
const flipped = (note: string): string =>
  note.replace(/(.)(.{5})\n$/, (_, bit: string, rest: string) => `${bit === 'A' ? 'B' : 'A'}${rest}\n`);
/** A signature line with the id of `key`, made by another. */
const forged = (key: SampleKey): string => signatureLine(text, { ...OTHER, name: key.name, id: key.id });
const withInner = (note: string): Buffer =>
  fileOf(seven.records().toSpliced(4, 0, { t: 'checkpoint', note }));
const inner = (name: string, code: string, record: number, file: Buffer): AuditCase => ({
  name,
  file,
  exit: 1,
  code,
  record,
});
const known = (name: string, record: number, note: string): AuditCase =>
  ({ name, file: fileOf(seven.records()), known: [note], exit: 1, code: 'known_note_mismatch', record }); // prettier-ignore
const wrongRoot = (size: number): string =>
  signedNote(`${originOf()}\n${size}\n${Buffer.alloc(32).toString('base64')}\n`, [KEY]);

const signatures: readonly AuditCase[] = [
  sevenCase('25 a bit of the signature', 'signature_invalid', flipped(seven.checkpoint())),
  sevenCase('26 the right key id, another key', 'signature_invalid', noteOf(text, forged(KEY))),
  sevenCase('27 only unknown signatures', 'signature_missing', seven.checkpoint(7, [OTHER, NEW])),
  sevenCase(
    '27 a signature of the same key for another log',
    'signature_missing',
    seven.checkpoint(7, [sampleKey(1, `${AUDIT_NAME}/org_other/1`)]),
  ),
  sevenCase(
    '28 a known key fails beside a good one',
    'signature_invalid',
    noteOf(text, signatureLine(text, KEY), forged(NEW)),
    { keys: [KEY.vkey, NEW.vkey] },
  ),
  sevenCase(
    '28 one key twice',
    'signature_invalid',
    noteOf(text, signatureLine(text, KEY), signatureLine(text, KEY)),
  ),
  sevenCase(
    '28 a given witness fails',
    'signature_invalid',
    noteOf(text, signatureLine(text, KEY), forged(W1)),
    { args: ['--witness', W1.vkey] },
  ),
  inner('29 an inner checkpoint with another root', 'inner_checkpoint_root', 5, withInner(wrongRoot(3))),
  inner(
    '30 an inner checkpoint at another place',
    'inner_checkpoint_position',
    5,
    withInner(seven.checkpoint(2)),
  ),
  inner(
    '30 two inner checkpoints at one place',
    'inner_checkpoint_position',
    6,
    fileOf(
      seven
        .records()
        .toSpliced(
          4,
          0,
          { t: 'checkpoint', note: seven.checkpoint(3) },
          { t: 'checkpoint', note: seven.checkpoint(3) },
        ),
    ),
  ),
  inner(
    '23 an inner checkpoint of another trail',
    'origin_mismatch',
    5,
    withInner(seven.checkpoint(3).replace('org_test', 'org_other')),
  ),
  inner(
    '24 an inner checkpoint of a newer epoch',
    'epoch_mismatch',
    5,
    withInner(seven.checkpoint(3, [KEY], 2)),
  ),
  inner(
    '24 an inner checkpoint of an epoch before that of another',
    'epoch_mismatch',
    7,
    fileOf(
      seven
        .records({
          epoch: 3,
          origin: originOf(3),
          checkpoint: seven.checkpoint(7, [sampleKey(1, originOf(3))], 3),
        })
        .toSpliced(4, 0, { t: 'checkpoint', note: seven.checkpoint(3, [KEY], 2) })
        .toSpliced(6, 0, { t: 'checkpoint', note: seven.checkpoint(4, [KEY], 1) }),
    ),
  ),
  inner(
    '25 the signature of an inner checkpoint',
    'signature_invalid',
    10,
    withInner(flipped(seven.checkpoint(3))),
  ),
  known('31 a known note is no prefix', 4, wrongRoot(3)),
  known(
    '31 a known note is larger',
    1,
    signedNote(`${originOf()}\n8\n${seven.root().toString('base64')}\n`, [KEY]),
  ),
  known('32 a known note of the same size', 8, wrongRoot(7)),
  known('32 a known note of the empty tree', 1, wrongRoot(0)),
];

/** The note of a rotation at a checkpoint of `size` lines. */
const rotationNote = (
  trail: SampleTrail,
  next: SampleKey,
  by: readonly SampleKey[],
  origin = originOf(),
): string =>
  signedNote(
    `mailbox-gateway/audit-key/v1\n${origin}\n${trail.leaves.length}\n${trail.root().toString('base64')}\n${next.vkey}\n`,
    by,
  );
const rotate = (trail: SampleTrail, next: SampleKey, by: readonly SampleKey[]): SampleTrail =>
  trail.add('AuditKeyRotated', {
    stream: 'auditSeal-org_test',
    data: { note: rotationNote(trail, next, by) },
  });
const revoke = (trail: SampleTrail, key: SampleKey, size: number): SampleTrail =>
  trail.add('AuditKeyRevoked', {
    stream: 'auditSeal-org_test',
    data: { vkey: key.vkey, since: '2026-01-01T00:00:00Z', size },
  });

interface Inner {
  readonly size: number;
  readonly by: readonly SampleKey[];
}
/** The whole trail, its checkpoint signed by `by`, with checkpoints in between. */
function trailFile(
  trail: SampleTrail,
  by: readonly SampleKey[],
  between: readonly Inner[] = [],
  show = (seq: number): Entry => trail.shown(seq),
): Buffer {
  const [header = {}, ...lines] = trail.records(
    { checkpoint: trail.checkpoint(trail.leaves.length, by) },
    show,
  );
  const after = (size: number): Entry[] =>
    between
      .filter((one) => one.size === size)
      .map((one) => ({ t: 'checkpoint', note: trail.checkpoint(size, one.by) }));
  return fileOf([header, ...after(0), ...lines.flatMap((line, n) => [line, ...after(n + 1)])]);
}
const good = (name: string, file: Buffer, more: Partial<AuditCase> = {}): AuditCase => ({
  name: `good: ${name}`,
  file,
  exit: 0,
  code: null,
  ...more,
});
const bad = (name: string, code: string, file: Buffer, more: Partial<AuditCase> = {}): AuditCase =>
  ({ name, file, exit: 1, code, record: file.toString().split('\n').length - 1, ...more }); // prettier-ignore

const rotatedAt3 = (by: readonly SampleKey[] = [KEY, NEW]): SampleTrail =>
  rotate(new SampleTrail().fill(2), NEW, by).fill(6);
const twice = rotate(rotatedAt3(), NEWER, [NEW, NEWER]).fill(9);
const badNote = (change: (note: string) => string): SampleTrail => {
  const trail = new SampleTrail().fill(2);
  return trail
    .add('AuditKeyRotated', { data: { note: change(rotationNote(trail, NEW, [KEY, NEW])) } })
    .fill(6);
};
const rotations: readonly AuditCase[] = [
  good('a rotation, both keys sign', trailFile(rotatedAt3(), [KEY, NEW])),
  good('a rotation, proven by an inner checkpoint', trailFile(rotatedAt3(), [NEW], [{ size: 4, by: [KEY] }])),
  good('a rotation, the new key given', trailFile(rotatedAt3(), [NEW]), { keys: [NEW.vkey] }),
  good(
    'two rotations',
    trailFile(
      twice,
      [NEWER],
      [
        { size: 4, by: [KEY] },
        { size: 8, by: [NEW, NEWER] },
      ],
    ),
  ),
  good(
    'a rotation whose line is hidden',
    trailFile(rotatedAt3(), [KEY], [], (seq) =>
      seq === 3 ? rotatedAt3().public(3) : rotatedAt3().shown(seq),
    ),
  ),
  bad('48 a rotation signed by the new key only', 'rotation_unsigned', trailFile(rotatedAt3([NEW]), [KEY])),
  bad('48 a rotation signed by the old key only', 'rotation_unsigned', trailFile(rotatedAt3([KEY]), [KEY])),
  bad('48 a rotation signed by a stranger', 'rotation_unsigned', trailFile(rotatedAt3([OTHER, NEW]), [KEY])),
  bad(
    '48 a rotation of another trail',
    'rotation_unsigned',
    trailFile(
      badNote(() => {
        const trail = new SampleTrail().fill(2);
        return rotationNote(trail, NEW, [KEY, NEW], originOf(1, 'org_other'));
      }),
      [KEY],
    ),
  ),
  bad('48 a rotation whose signature is altered', 'rotation_unsigned', trailFile(badNote(flipped), [KEY])),
  bad(
    '48 a rotation without a note',
    'rotation_unsigned',
    trailFile(new SampleTrail().add('AuditKeyRotated').fill(3), [KEY]),
  ),
  bad(
    '48 a new key before a checkpoint shows its line',
    'signature_missing',
    trailFile(rotatedAt3(), [NEW], [{ size: 2, by: [KEY] }]),
  ),
  bad(
    '48 a new key whose own signature fails',
    'signature_invalid',
    (() => {
      const trail = rotatedAt3();
      const note = trail.text();
      return fileOf(
        trail.records({
          checkpoint: noteOf(
            note,
            signatureLine(note, KEY),
            signatureLine(note, { ...OTHER, name: NEW.name, id: NEW.id }),
          ),
        }),
      );
    })(),
  ),
];

const revokedAt5 = (size: number): SampleTrail => revoke(rotatedAt3().fill(4), KEY, size).fill(8);
const revocations: readonly AuditCase[] = [
  good('a revoked key beside another', trailFile(revokedAt5(4), [KEY, NEW]), { keys: [KEY.vkey, NEW.vkey] }),
  good(
    'a revoked key on checkpoints up to its size',
    trailFile(revokedAt5(4), [NEW], [{ size: 4, by: [KEY] }]),
  ),
  bad('49 a revoked key signs alone', 'key_revoked', trailFile(revokedAt5(7), [KEY])),
  bad(
    '49 a revoked key signed an inner checkpoint alone',
    'key_revoked',
    trailFile(revokedAt5(3), [NEW], [{ size: 4, by: [KEY] }]),
  ),
  bad(
    '49 a revoked key that was not given signed an inner checkpoint alone',
    'key_revoked',
    trailFile(revokedAt5(3), [NEW], [{ size: 4, by: [KEY] }]),
    { keys: [NEW.vkey] },
  ),
  good(
    'a revoked key that was not given, on a checkpoint of its size',
    trailFile(revokedAt5(4), [NEW], [{ size: 4, by: [KEY] }]),
    { keys: [NEW.vkey] },
  ),
  good(
    'a revoked key that was not given, beside a trusted one',
    trailFile(revokedAt5(3), [NEW], [{ size: 4, by: [KEY, NEW] }]),
    { keys: [NEW.vkey] },
  ),
  good(
    'a revoked key beside the one that the same checkpoint makes trusted',
    trailFile(revokedAt5(3), [NEW], [{ size: 4, by: [KEY, NEW] }]),
  ),
  bad('49 two revoked keys', 'key_revoked', trailFile(revoke(revokedAt5(4), NEW, 5), [KEY, NEW]), {
    keys: [KEY.vkey, NEW.vkey],
  }),
  {
    name: 'less: revocation_hidden',
    file: trailFile(revokedAt5(4), [KEY, NEW], [], (seq) =>
      revokedAt5(4).leaves[seq - 1]?.line['type'] === 'AuditKeyRevoked'
        ? revokedAt5(4).public(seq)
        : revokedAt5(4).shown(seq),
    ),
    exit: 3,
    code: 'revocation_hidden',
  },
];

const DOUBT = `${KEY.id.toString('hex')}@2026-06-01T00:00:00Z`;
const doubts: readonly AuditCase[] = [
  {
    name: 'less: key_distrusted, no witness',
    file: signed(seven.checkpoint()),
    args: ['--distrust', DOUBT],
    exit: 3,
    code: 'key_distrusted',
  },
  {
    name: 'less: key_distrusted, a key that it made trusted',
    file: trailFile(rotatedAt3(), [NEW], [{ size: 4, by: [KEY] }]),
    args: ['--distrust', DOUBT],
    exit: 3,
    code: 'key_distrusted',
  },
  good('a key in doubt beside another', signed(seven.checkpoint(7, [KEY, NEW])), {
    keys: [KEY.vkey, NEW.vkey],
    args: ['--distrust', DOUBT],
  }),
];

const refused = (name: string, code: string, more: Partial<AuditCase>): AuditCase => ({
  name: `refused: ${name}`,
  file: fileOf(seven.records()),
  exit: 2,
  code,
  ...more,
});
const usage: readonly AuditCase[] = [
  refused('a key that is none', 'usage', { keys: ['gateway'] }),
  refused('a key with another id', 'usage', { keys: [KEY.vkey.replace(/\+[0-9a-f]{8}/, '+00000000')] }),
  refused('a witness as a key', 'usage', { keys: [W1.vkey] }),
  refused('a key as a witness', 'usage', { args: ['--witness', KEY.vkey] }),
  refused('a known note that is none', 'usage', { known: ['note\n'] }),
  refused('a policy without quorum', 'usage', { policy: `log ${KEY.vkey}\n` }),
  refused('an unknown requirement', 'usage', { args: ['--require', 'all'] }),
  refused('a time that is none', 'usage', { args: ['--distrust', '00000000@yesterday'] }),
  refused('a quorum that is no number', 'usage', { args: ['--quorum', 'x'] }),
  refused('an empty file', 'not_audit_file', { file: Buffer.alloc(0) }),
  refused('another format', 'not_audit_file', {
    file: fileOf(seven.records({ format: 'mailbox-gateway/audit/v2' })),
  }),
  refused('no header', 'not_audit_file', { file: fileOf(seven.records().slice(1)) }),
  refused('no JSON', 'not_audit_file', { file: Buffer.from('audit\n') }),
];

export const trustCases: readonly AuditCase[] = [
  ...signatures,
  ...rotations,
  ...revocations,
  ...doubts,
  ...usage,
];

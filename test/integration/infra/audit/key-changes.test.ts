import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { keyIdsIn, originOf, readVkey, vkeyOf } from '../../../../commands/audit/signed-note.ts';
import { auditCommand } from '../../../../infra/admin/audit-command.ts';
import { publicKeysOf } from '../../../../infra/audit/seal-keys.ts';
import { auditFile } from '../../../../read-api/audit/audit-file.ts';
import { exportPlan } from '../../../../read-api/audit/export-plan.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { personal } from '../projector/projector-rig.ts';
import { Died, dyingAt } from './dying-ports.ts';
import { ORG, SealRig } from './seal-rig.ts';

const reason = 'A stolen disk.';
const ORIGIN = originOf('gateway.example/audit', ORG, 1);
const programs = ['node', 'python3'].map(
  (program) =>
    [
      program,
      new URL(
        program === 'node'
          ? '../../../../infra/console/verify-audit.mjs'
          : '../../../support/audit/verify_audit.py',
        import.meta.url,
      ).pathname,
    ] as const,
);

/** A file of the whole trail at its newest checkpoint; `from` = the first line of the range. */
async function fileOf({ rig }: SealRig, from = 1): Promise<string> {
  const [signed] = await rig.sql.query<{ note: string; size: number }>(
    'select note, size::int from vault.audit_signed where trail = $1 order by size desc limit 1',
    [ORG],
  );
  const { note, size } = signed ?? { note: '', size: 0 };
  const range = { from, to: size };
  const sight = { personal, mayOpen: () => Promise.resolve(true) };
  const plan = await exportPlan(
    rig.sql,
    { trail: ORG, size, range, mode: 'complete', filter: null, selection: {} },
    { maySeeBody: () => true, sight, opens: false },
  );
  const header = {
    ...({ kind: 'export', mode: 'complete', trail: ORG, epoch: 1, origin: ORIGIN, size, note } as const),
    ...{ vkeys: [], fromSeq: from, toSeq: size, filter: null },
    ...{ createdAt: '2026-01-01T00:00:00.000Z', createdBy: 'usr_a', requestId: 'req_1' },
  };
  const pieces: Buffer[] = [];
  for await (const piece of auditFile(rig.sql, header, plan)) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

const verdictOf = (program: string, args: readonly string[]): Promise<string> =>
  promisify(execFile)(program, args).then(
    () => '0',
    (error: unknown) => {
      const { code, stdout } = error as { code: number; stdout: string };
      return `${String(code)} ${(JSON.parse(stdout) as { code: string }).code}`;
    },
  );

/** Exit, and the code when it is not 0, of both programs. */
async function verdicts(file: string, vkeys: readonly string[]): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-test-keys-'));
  try {
    const [path, keys] = [join(folder, 'audit.jsonl'), join(folder, 'keys.txt')];
    await writeFile(path, file);
    await writeFile(keys, vkeys.map((vkey) => `${vkey}\n`).join(''));
    return await Promise.all(
      programs.map(([program, script]) => verdictOf(program, [script, path, '--json', '--key', keys])),
    );
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe('the keys of a trail', function () {
  this.timeout(180_000);
  let world: SealRig;
  let first: string;

  beforeEach(async () => {
    world = await SealRig.open();
    await world.happens(3);
    await world.seal();
    const [publicKey = Buffer.of()] = await publicKeysOf(world.rig.sql, ORG);
    first = vkeyOf({ name: ORIGIN, publicKey });
  });
  afterEach(async () => {
    await world[Symbol.asyncDispose]();
  });

  const command = (verb: string, given: object = {}): Promise<string> =>
    auditCommand(world.sealer(), { verb, trail: ORG, ...given });
  const vkeyAfter = (said: string): string => said.split('\n').at(-1) ?? '';
  const sealedAgain = async (): Promise<void> => {
    await world.happens(2);
    await world.seal();
  };
  const signersOf = async (): Promise<readonly string[]> => keyIdsIn((await world.notes()).at(-1) ?? '');
  const idOf = (vkey: string): string => vkey.slice(ORIGIN.length + 1).slice(0, 8);
  const rotated = async (): Promise<number> =>
    (await world.told()).filter((type) => type === 'AuditKeyRotated').length;

  it(`are rotated: a file is proven with the old key alone, also when it no longer signs ${verifies('contract:12:key-rotation')}`, async () => {
    const second = vkeyAfter(await command('rotate-key'));
    expect(readVkey(second)).to.include({ name: ORIGIN });
    expect(await world.told()).to.deep.equal(['AuditCheckpointSealed', 'AuditKeyRotated']);
    await sealedAgain();
    expect(await signersOf()).to.deep.equal([idOf(second), idOf(first)]);
    expect(await verdicts(await fileOf(world), [first])).to.deep.equal(['0', '0']);
    const third = vkeyAfter(await command('rotate-key'));
    await sealedAgain();
    await world.rig.sql.query(
      `update vault.audit_key set retired_at = retired_at - interval '31 days' where retired_at is not null`,
    );
    await sealedAgain();
    expect(await signersOf()).to.deep.equal([idOf(third)]);
    expect(await verdicts(await fileOf(world), [first])).to.deep.equal(['0', '0']);
    expect(await verdicts(await fileOf(world, (await world.sizes()).at(-1)), [first])).to.deep.equal([
      '0',
      '0',
    ]);
  });

  it(`are rotated by a process that dies at any step: the same command, or the sealer, finishes it ${verifies('contract:12:key-rotation')}`, async () => {
    const keys = new Set([first]);
    for (const isDone of [false, true]) {
      for (let at = 1, isOver = false; !isOver; at += 1) {
        const before = await rotated();
        const { ports, died } = dyingAt(world.ports, at, isDone);
        await world
          .sealer(ports)
          .keys.rotate(ORG)
          .catch((error: unknown) => {
            if (!(error instanceof Died)) throw error;
          });
        isOver = !died();
        if (at % 2 === 0) await world.sealer().round();
        else if (!isOver && (await rotated()) === before) await world.sealer().keys.rotate(ORG);
        await sealedAgain();
        const stored = await publicKeysOf(world.rig.sql, ORG);
        expect(await rotated(), 'each new key is told once').to.equal(stored.length - 1);
        for (const publicKey of stored) keys.add(vkeyOf({ name: ORIGIN, publicKey }));
        // So that no note has too many signatures.
        await world.rig.sql.query(
          `update vault.audit_key set retired_at = retired_at - interval '31 days' where retired_at is not null`,
        );
        await sealedAgain();
        expect(at).to.be.lessThan(40);
      }
    }
    expect(keys.size).to.be.greaterThan(5);
    expect(await verdicts(await fileOf(world), [first])).to.deep.equal(['0', '0']);
    await world.verify();
    expect((await world.told()).at(-1)).to.equal('AuditVerified');
  });

  it(`are revoked: the key signs nothing more, and another one is given to verifiers ${verifies('contract:12:key-revocation')}`, async () => {
    const since = '2026-01-01T01:00:00+01:00';
    const next = vkeyAfter(await command('revoke-key', { key: first, since, reason: ' A stolen disk. ' }));
    const [event] = (await world.rig.events.readStream(`auditSeal-${ORG}`)).slice(-1);
    expect(event).to.deep.include({
      type: 'AuditKeyRevoked',
      data: { vkey: first, since: '2026-01-01T00:00:00.000Z', size: 3, comment: 'A stolen disk.' },
    });
    await sealedAgain();
    expect(await signersOf()).to.deep.equal([idOf(next)]);
    const file = await fileOf(world);
    expect(await verdicts(file, [next])).to.deep.equal(['0', '0']);
    expect(await verdicts(file, [first, next])).to.deep.equal(['0', '0']);
    expect(await verdicts(file, [first])).to.deep.equal(['1 signature_missing', '1 signature_missing']);
    const again = await command('revoke-key', { key: first, since, reason });
    expect(vkeyAfter(again), 'the same command').to.equal(next);
    for (const other of [
      { key: first, since, reason: 'Another.' },
      { key: first, since: '2026-01-01T00:00:01Z', reason },
    ])
      expect(String(await rejection(command('revoke-key', other)))).to.contain('already');
    expect((await world.told()).filter((type) => type === 'AuditKeyRevoked')).to.have.length(1);
  });

  it(`are revoked after a rotation: the new key goes on, and the old one speaks for it ${verifies('contract:12:key-revocation')}`, async () => {
    const second = vkeyAfter(await command('rotate-key'));
    await sealedAgain();
    const revocation = { key: first, since: '2026-01-01T00:00:00Z', reason };
    for (const time of ['the first', 'the second'])
      expect(await command('revoke-key', revocation), time).to.match(/nothing\.$/);
    await sealedAgain();
    expect(await signersOf()).to.deep.equal([idOf(second)]);
    for (const given of [[first], [second], [first, second]])
      expect(await verdicts(await fileOf(world), given)).to.deep.equal(['0', '0']);
  });

  it(`are revoked by a process that dies at any step: no checkpoint is signed by the key after that ${verifies('contract:12:key-revocation')}`, async () => {
    let active = first;
    const all = [first];
    for (const isDone of [false, true]) {
      for (let at = 1, isOver = false; !isOver; at += 1) {
        const given = { vkey: active, since: new Date(0), comment: `The key ${active} was seen.` };
        const { ports, died } = dyingAt(world.ports, at, isDone);
        await world
          .sealer(ports)
          .keys.revoke(ORG, given)
          .catch((error: unknown) => {
            if (!(error instanceof Died)) throw error;
          });
        isOver = !died();
        const revoked = active;
        // A round of sealing may come before the same command.
        if (at % 2 === 0) await world.sealer().round();
        const made = await world.sealer().keys.revoke(ORG, given);
        await sealedAgain();
        const rows = await world.rig.sql.query<{ public_key: Buffer; told: boolean }>(
          'select public_key, told from vault.audit_key where trail = $1 and revoked_at is null',
          [ORG],
        );
        expect(rows.map(({ told }) => told)).to.deep.equal([true]);
        active = vkeyOf({ name: ORIGIN, publicKey: rows[0]?.public_key ?? Buffer.of() });
        expect(active, 'the same command has the result of the first').to.equal(made);
        expect(active).not.to.equal(revoked);
        all.push(active);
        expect(await signersOf()).to.deep.equal([idOf(active)]);
        expect(at).to.be.lessThan(40);
      }
    }
    expect(all.length).to.be.greaterThan(3);
    const revoked = (await world.rig.events.readStream(`auditSeal-${ORG}`)).filter(
      ({ type }) => type === 'AuditKeyRevoked',
    );
    expect(revoked).to.have.length(all.length - 1);
    for (const { data } of revoked)
      expect(data['comment'], 'told by another process').to.equal(
        `The key ${String(data['vkey'])} was seen.`,
      );
    expect(await verdicts(await fileOf(world), all)).to.deep.equal(['0', '0']);
  });

  it('do not change where the command does not say enough, or the trail has none', async () => {
    const since = '2026-01-01T00:00:00Z';
    for (const [verb, given] of [
      ['rotate-key', { trail: 'org_unknown' }],
      ['rotate-key', { trail: undefined }],
      ['rotate-key', { since }],
      ['revoke-key', { since, reason }],
      ['revoke-key', { key: 'a key', since, reason }],
      ['revoke-key', { key: first, since }],
      ['revoke-key', { key: first, since, reason: ' ' }],
      ['revoke-key', { key: first, since, reason: 'x'.repeat(1_001) }],
      ['revoke-key', { key: first, reason }],
      ['revoke-key', { key: first, since: '2026-01-01', reason }],
      ['revoke-key', { key: first, since: '2999-01-01T00:00:00Z', reason }],
      ['revoke-key', { key: first, since, reason, trail: 'org_unknown' }],
    ] as const)
      expect(await rejection(command(verb, given)), JSON.stringify([verb, given])).to.be.an('error');
    expect(await world.told()).to.deep.equal(['AuditCheckpointSealed']);
  });
});

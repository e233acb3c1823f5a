/** Events of every version that was ever stored, as they were stored before salts: a file of them is proven by both verifiers. */
import { execFile } from 'node:child_process';
import { createSecretKey, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { originOf, vkeyOf } from '../../../commands/audit/signed-note.ts';
import { publicKeysOf } from '../../../infra/audit/seal-keys.ts';
import { Sealer } from '../../../infra/audit/sealer.ts';
import { auditFile, type FileHeader } from '../../../read-api/audit/audit-file.ts';
import { exportPlan } from '../../../read-api/audit/export-plan.ts';
import type { TextSight } from '../../../read-api/audit/line-texts.ts';
import { ManualClock } from '../../support/fakes/manual-clock.ts';
import { silentLog } from '../../support/fakes/silent-log.ts';
import { randomIds } from '../../support/samples/event-author.ts';
import { verifies } from '../../support/suite/verifies.ts';
import { memoryLeases } from '../../support/worlds/memory-gateway.ts';
import { openRig, type Rig } from '../infra/projector/projector-rig.ts';

const TRAIL = 'org_a';
const NAME = 'gateway.example/audit';
const SAMPLES = 'test/golden/events';
const PROGRAMS = [
  [process.execPath, new URL('../../../infra/console/verify-audit.mjs', import.meta.url).pathname],
  ['python3', new URL('../../support/audit/verify_audit.py', import.meta.url).pathname],
] as const;

/** A verifier judges these by their notes, and the samples have none that was signed. */
const isOfKeys = (file: string): boolean => file.startsWith('AuditKey');

const HIDDEN = 'hidden';
/** They hold in clear what a secret is checked by: nobody is shown that. */
const CLEAR_SECRETS: ReadonlySet<string> = new Set(['SessionStarted.v1.json', 'TokenIssued.v1.json']);

/** The samples have sealed texts of a made-up person, which nobody can open. */
const SIGHT: TextSight = {
  personal: {
    ownerOf: (text) => (text.startsWith('sealed.v1.usr_1.') ? 'usr_1' : null),
    prove: () => Promise.resolve(null),
  },
  mayOpen: () => Promise.resolve(true),
};

type Data = Readonly<Record<string, unknown>>;
type Shown = Readonly<Record<'t' | 'line', string> & Partial<Record<'body' | 'salt', string>>>;

describe('an audit file of events of every version', function () {
  this.timeout(60_000);
  let rig: Rig;
  let folder: string;
  const samples = new Map<string, Data>();

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-audit-versions-'));
    rig = await openRig();
    for (const file of (await readdir(SAMPLES)).filter((name) => !isOfKeys(name)))
      samples.set(file, JSON.parse(await readFile(join(SAMPLES, file), 'utf8')) as Data);
    for (const [file, data] of samples) {
      const [, type = '', v = ''] = /^(\w+)\.v(\d+)\.json$/.exec(file) ?? [];
      const actor = { type: 'system', id: 'gateway', token_id: null, session_id: null };
      const metadata = {
        ...{ v: Number(v), org_id: TRAIL, actor, surface: 'system', request_id: 'req_1' },
        ...{ $correlationId: 'req_1', $causationId: 'req_1', occurred_at: '2026-01-01T00:00:00.000Z' },
      };
      await rig.events.append(`sample-${file}`, 'no-stream', [
        { id: randomIds.newUuid(), type, data, metadata },
      ]);
    }
    await rig.settle(await rig.start());
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  /** The whole trail with all its data, and the key that signed it. */
  async function exported(): Promise<{ readonly text: string; readonly vkey: string }> {
    const { sql, events } = rig;
    const ports = { sql, events, ids: randomIds, clock: new ManualClock(), log: silentLog };
    const masterKey = createSecretKey(randomBytes(32));
    const settings = { masterKey, auditName: NAME, everyMs: 60_000, anchors: null, file: null };
    const size = samples.size;
    await new Sealer({ ...ports, leases: memoryLeases('run_1') }, settings).sealNow(TRAIL, size);
    const [signed] = await sql.query<{ note: string }>(
      'select note from vault.audit_signed where trail = $1',
      [TRAIL],
    );
    const [publicKey = randomBytes(32)] = await publicKeysOf(sql, TRAIL);
    const origin = originOf(NAME, TRAIL, 1);
    const vkey = vkeyOf({ name: origin, publicKey });
    const range = { from: 1, to: size };
    const plan = await exportPlan(
      sql,
      { trail: TRAIL, size, range, mode: 'complete', filter: null, selection: {} },
      { maySeeBody: () => true, sight: SIGHT, opens: false },
    );
    const header: FileHeader = {
      ...{ kind: 'export', mode: 'complete', trail: TRAIL, epoch: 1, origin, note: signed?.note ?? '', size },
      ...{ vkeys: [vkey], fromSeq: 1, toSeq: size, filter: null, requestId: 'req_1' },
      ...{ createdAt: '2026-01-01T00:00:00.000Z', createdBy: 'usr_a' },
    };
    const pieces: Buffer[] = [];
    for await (const piece of auditFile(sql, header, plan)) pieces.push(piece);
    return { text: Buffer.concat(pieces).toString(), vkey };
  }

  it(`shows each as it was stored, and is proven by both programs ${verifies('contract:12:export-older', 'contract:12:no-verifier')}`, async () => {
    const { text, vkey } = await exported();
    const records = text.trimEnd().split('\n');
    const lines = records.map((record) => JSON.parse(record) as Shown).filter(({ t }) => t === 'line');
    expect(lines).to.have.length(samples.size);
    const shown = new Map(
      lines.map(({ line, body, salt }) => {
        const { stream } = JSON.parse(line) as { stream: string };
        return [
          stream.slice('sample-'.length),
          body === undefined ? HIDDEN : [salt, (JSON.parse(body) as { data: Data }).data],
        ];
      }),
    );
    for (const [file, data] of samples)
      expect(shown.get(file), file).to.deep.equal(CLEAR_SECRETS.has(file) ? HIDDEN : ['', data]);
    await writeFile(join(folder, 'key.txt'), `${vkey}\n`);
    await writeFile(join(folder, 'audit.jsonl'), text);
    const args = [join(folder, 'audit.jsonl'), '--key', join(folder, 'key.txt'), '--json'];
    for (const [program, script] of PROGRAMS) {
      const { stdout } = await promisify(execFile)(program, [script, ...args]);
      expect(JSON.parse(stdout), program).to.include({ exit: 0, code: null });
    }
  });
});

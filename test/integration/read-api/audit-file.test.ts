import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { createSecretKey, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { canonicalJson } from '../../../commands/values/canonical-json.ts';
import { eventCatalogue } from '../../../commands/event-catalogue.ts';
import { envelope } from '../../../commands/kernel/decide-and-append.ts';
import { originOf, vkeyOf } from '../../../commands/audit/signed-note.ts';
import type { Leases } from '../../../commands/ports/leases.ts';
import { publicKeysOf } from '../../../infra/audit/seal-keys.ts';
import { Sealer } from '../../../infra/audit/sealer.ts';
import { verifyAudit } from '../../../infra/console/verify-audit.mjs';
import type { AuditEntry } from '../../../projections/audit-queries.ts';
import type { SeqParts } from '../../../projections/audit-export.ts';
import { auditFile, type FileHeader } from '../../../read-api/audit/audit-file.ts';
import { beginExport, type BegunExport } from '../../../read-api/audit/begin-export.ts';
import { linesOf } from '../../../read-api/audit/export-bytes.ts';
import { conditionsOf, type ExportedRange, exportPlan } from '../../../read-api/audit/export-plan.ts';
import type { TextSight } from '../../../read-api/audit/line-texts.ts';
import { ManualClock } from '../../support/fakes/manual-clock.ts';
import { silentLog } from '../../support/fakes/silent-log.ts';
import { happened, randomIds, sampleAuthor } from '../../support/samples/event-author.ts';
import { SAMPLE_EVENTS } from '../../support/samples/sample-events.ts';
import { sampleHistory } from '../../support/samples/sample-history.ts';
import { verifies } from '../../support/suite/verifies.ts';
import { eventually } from '../../support/worlds/gateway.ts';
import { openRig, personal, type Rig } from '../infra/projector/projector-rig.ts';

const TRAIL = 'org_a';
const NAME = 'gateway.example/audit';
const program = new URL('../../../infra/console/verify-audit.mjs', import.meta.url).pathname;
const python = new URL('../../support/audit/verify_audit.py', import.meta.url).pathname;

const OLD_DRAFT = { ...SAMPLE_EVENTS.DraftStarted, threading: { in_reply_to: '<a@b>', references: [] } };

interface Asked extends Partial<Pick<ExportedRange, 'range' | 'mode' | 'filter'>> {
  /** Lines of one read. */
  readonly atOnce?: number;
  readonly sightOf?: () => TextSight;
  readonly maySeeBody?: (entry: AuditEntry) => boolean;
}

describe('an audit file of a sealed trail', function () {
  this.timeout(120_000);
  let rig: Rig;
  let vkey: string;
  let note: string;
  let size: number;
  let sealer: Sealer;
  const always: Leases = {
    runId: 'run-1',
    acquire: () => Promise.resolve(true),
    release: () => Promise.resolve(),
    acquireBy: () => Promise.resolve(true),
    releaseBy: () => Promise.resolve(),
    isHeld: () => true,
    holder: () => Promise.resolve(null),
  };
  const pausedOften = async (times: number): Promise<void> => {
    for (let many = 0; many < times; many += 1)
      await happened(rig.events, 'mailbox-mbx_many', [{ type: 'MailboxPaused', data: {} }]);
  };

  const lengthOfTrail = async (): Promise<number> => {
    const [row] = await rig.sql.query<{ seq: number }>(
      'select max(seq)::int as seq from read.audit where trail = $1',
      [TRAIL],
    );
    return row?.seq ?? 0;
  };

  /** An event as it was stored before salts, in an older version. */
  const older = async (
    stream: string,
    type: string,
    data: Readonly<Record<string, unknown>>,
  ): Promise<void> => {
    const definition = eventCatalogue.get(type);
    if (!definition) throw new Error(type);
    const metadata = envelope(sampleAuthor(TRAIL), { ...definition, upcasters: [] }, new Date());
    await rig.events.append(stream, 'no-stream', [{ id: randomIds.newUuid(), type, data, metadata }]);
  };

  before(async () => {
    rig = await openRig();
    await sampleHistory(rig.events);
    // Every type of event, and enough of one for several levels of the tree.
    // Those about keys are judged by what they say, and the samples say nothing true.
    for (const [type, data] of Object.entries(SAMPLE_EVENTS).filter(([type]) => !type.startsWith('AuditKey')))
      await happened(rig.events, `sample-${type}`, [{ type, data } as never]);
    await older('token-tok_old', 'TokenIssued', {
      ...SAMPLE_EVENTS.TokenIssued,
      secret_hash: 'a hash in clear',
    });
    await older('draft-drf_old', 'DraftStarted', OLD_DRAFT);
    // Too long as a record, and too long in itself.
    await older('operation-opn_long', 'OperationSubmitted', { text: '"'.repeat(3_000_000) });
    await older('operation-opn_longer', 'OperationSubmitted', { text: '"'.repeat(4_500_000) });
    const projector = await rig.start();
    sealer = new Sealer(
      { ...rig, ids: randomIds, clock: new ManualClock(), leases: always, log: silentLog },
      {
        masterKey: createSecretKey(randomBytes(32)),
        auditName: NAME,
        everyMs: 60_000,
        anchors: null,
        file: null,
      },
    );
    for (const times of [100, 50, 1_200]) {
      await pausedOften(times);
      const { events } = rig;
      await eventually(async () => {
        expect(await projector.readModels.waitFor(await events.headPosition(), 3_000)).to.equal(true);
      });
      await sealer.sealNow(TRAIL, await lengthOfTrail());
    }
    const [signed] = await rig.sql.query<{ note: string; size: number }>(
      'select note, size::int from vault.audit_signed where trail = $1 order by size desc limit 1',
      [TRAIL],
    );
    ({ note, size } = signed ?? { note: '', size: 0 });
    const [publicKey = randomBytes(32)] = await publicKeysOf(rig.sql, TRAIL);
    vkey = vkeyOf({ name: originOf(NAME, TRAIL, 1), publicKey });
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  const file = async (asked: Asked = {}): Promise<string> => {
    const {
      range = { from: 1, to: size },
      mode = 'complete',
      filter = null,
      maySeeBody = () => true,
      atOnce,
      sightOf = () => ({ personal, mayOpen: () => Promise.resolve(true) }),
    } = asked;
    const plan = await exportPlan(
      rig.sql,
      { trail: TRAIL, size, range, mode, filter, selection: conditionsOf(filter) },
      { maySeeBody, sight: sightOf(), opens: true },
    );
    const header: FileHeader = {
      ...{ kind: 'export', mode, trail: TRAIL, epoch: 1, origin: originOf(NAME, TRAIL, 1), note, size },
      ...{ vkeys: [vkey], fromSeq: range.from, toSeq: range.to, filter: filter as FileHeader['filter'] },
      ...{ createdAt: '2026-01-01T00:00:00.000Z', createdBy: 'usr_a', requestId: 'req_1' },
    };
    const pieces: Buffer[] = [];
    const seqs = atOnce === undefined ? plan.seqs : smaller(plan.seqs, atOnce);
    for await (const piece of auditFile(rig.sql, header, { ...plan, seqs })) pieces.push(piece);
    return Buffer.concat(pieces).toString();
  };
  async function* smaller(parts: SeqParts, atOnce: number): AsyncGenerator<readonly number[]> {
    for await (const part of parts)
      for (let at = 0; at < part.length; at += atOnce) yield part.slice(at, at + atOnce);
  }
  const verdict = async (text: string): Promise<readonly [number, string | null]> => {
    const chunks = (async function* () {
      yield await Promise.resolve(Buffer.from(text));
    })();
    const { exit, code } = await verifyAudit(chunks, { keys: [vkey] });
    return [exit, code];
  };
  const recordsOf = (text: string, t: string): readonly Record<string, unknown>[] =>
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter((record) => record['t'] === t);
  const shownTypes = (text: string): readonly string[] =>
    recordsOf(text, 'line')
      .filter((record) => 'body' in record)
      .map(({ line }) => (JSON.parse(String(line)) as { type: string }).type);

  it(`is proven, whole or a range of it, with and without bodies ${verifies('contract:12:seal')}`, async () => {
    expect(size).to.be.greaterThan(1_400);
    expect(await verdict(await file())).to.deep.equal([0, null]);
    expect(await verdict(await file({ maySeeBody: ({ seq }) => seq % 2 === 0 }))).to.deep.equal([0, null]);
    for (const [from, to] of [[1, 1], [5, 300], [size, size], [17, 16]] as const)
      expect(await verdict(await file({ range: { from, to } })), `${String(from)} to ${String(to)}`).to.deep.equal([0, null]);
  }); // prettier-ignore

  it(`shows the other lines of a skeleton without their bodies ${verifies('contract:12:export-modes')}`, async () => {
    const text = await file({ mode: 'skeleton', filter: { type: 'AgentCreated' } });
    expect(await verdict(text)).to.deep.equal([0, null]);
    expect(recordsOf(text, 'line')).to.have.length(size);
    expect(shownTypes(text).filter((type) => type !== 'AgentCreated')).to.deep.equal(await alwaysThere());
    expect(shownTypes(text)).to.include('AgentCreated');
  });

  it(`covers the other lines of a sparse file ${verifies('contract:12:export-modes')}`, async () => {
    for (const filter of [{ type: 'MailboxPaused' }, { outcome: 'denied' }, { resource: 'mbx_many' }]) {
      const text = await file({ mode: 'sparse', filter });
      expect(await verdict(text), JSON.stringify(filter)).to.deep.equal([0, null]);
      expect(recordsOf(text, 'cover')).not.to.have.length(0);
      expect(recordsOf(text, 'line').length).to.be.within(1, size - 20);
    }
    const none = await file({ mode: 'sparse', filter: { outcome: 'denied' }, range: { from: 9, to: 8 } });
    expect(await verdict(none)).to.deep.equal([0, null]);
  });

  it('has the same bytes however many lines are read at once, each record canonical', async () => {
    const seen = ({ seq }: AuditEntry): boolean => seq % 5 !== 0;
    const proofs = ['erased', { text: 'a "text" \u2028\n', salt: Buffer.alloc(16, 255) }, { text: '', salt: null }] as const;
    const sightOf = (): TextSight => {
      let proven = 0;
      const prove = () => Promise.resolve(proofs[(proven += 1) % 3] ?? null);
      return { personal: { ownerOf: () => 'usr_a', prove }, mayOpen: () => Promise.resolve(true) };
    };
    for (const asked of [{ maySeeBody: seen, sightOf }, { mode: 'skeleton', filter: { type: 'AgentCreated' } }] as const) {
      const text = await file(asked);
      for (const atOnce of [7, 256]) expect((await file({ ...asked, atOnce })) === text, String(atOnce)).to.equal(true);
      for (const record of text.split('\n').slice(0, -1))
        expect(canonicalJson(JSON.parse(record)) === record, record.slice(0, 200)).to.equal(true);
    }
    const shown = recordsOf(await file({ sightOf }), 'line');
    for (const member of ['opened', 'erased', 'body_hash'])
      expect(shown.filter((record) => member in record), member).not.to.have.length(0);
  }); // prettier-ignore

  it('shows what every file needs also outside of its range', async () => {
    const text = await file({ range: { from: size, to: size } });
    expect(shownTypes(text).slice(0, -1)).to.deep.equal(await alwaysThere());
    expect((await alwaysThere()).length).to.be.greaterThan(0);
  });

  it('has the earlier checkpoints where the index equals their size', async () => {
    expect(recordsOf(await file(), 'checkpoint')).to.have.length(2);
    // Not where they would part a cover.
    expect(recordsOf(await file({ range: { from: size, to: size } }), 'checkpoint')).to.have.length(0);
  });

  it('has the checkpoint after a changed key, also between covers', async () => {
    const trail = 'org_k';
    const author = sampleAuthor(trail);
    const sealed = async (streams: readonly string[]): Promise<number> => {
      for (const stream of streams)
        await happened(rig.events, stream, [{ type: 'MailboxPaused', data: {} }], author);
      await eventually(async () => {
        const [row] = await rig.sql.query<{ type: string }>(
          'select type from read.audit where trail = $1 and resource_id = $2',
          [trail, streams.at(-1)?.slice('mailbox-'.length)],
        );
        expect(row?.type).to.equal('MailboxPaused');
      });
      const [row] = await rig.sql.query<{ seq: number }>(
        'select max(seq)::int as seq from read.audit where trail = $1',
        [trail],
      );
      await sealer.sealNow(trail, row?.seq ?? 0);
      return row?.seq ?? 0;
    };
    await sealed(['mailbox-mbx_k1', 'mailbox-mbx_k2']);
    await happened(
      rig.events,
      'auditSeal-org_k',
      [{ type: 'AuditKeyRotated', data: { note: 'a note' } }],
      author,
    );
    const after = await sealed(['mailbox-mbx_k3', 'mailbox-mbx_k4', 'mailbox-mbx_k5']);
    const last = await sealed(['mailbox-mbx_k6', 'mailbox-mbx_k7', 'mailbox-mbx_k8', 'mailbox-mbx_k9']);
    const range = { from: last, to: last };
    const sight = { personal, mayOpen: () => Promise.resolve(true) };
    const plan = await exportPlan(
      rig.sql,
      { trail, size: last, range, mode: 'complete', filter: null, selection: {} },
      { maySeeBody: () => true, sight, opens: false },
    );
    expect(plan.checkpoints).to.deep.equal([after]);
    const [signed] = await rig.sql.query<{ note: string }>(
      'select note from vault.audit_signed where trail = $1 and size = $2',
      [trail, last],
    );
    const header: FileHeader = {
      ...{ kind: 'export', mode: 'complete', trail, epoch: 1, origin: originOf(NAME, trail, 1), size: last },
      ...{ note: signed?.note ?? '', vkeys: [], fromSeq: last, toSeq: last, filter: null },
      ...{ createdAt: '2026-01-01T00:00:00.000Z', createdBy: 'usr_a', requestId: 'req_1' },
    };
    const pieces: Buffer[] = [];
    for await (const piece of auditFile(rig.sql, header, plan)) pieces.push(piece);
    const text = Buffer.concat(pieces).toString();
    expect(recordsOf(text, 'checkpoint').map(({ note: of }) => String(of).split('\n')[1])).to.deep.equal([
      String(after),
    ]);
    expect(shownTypes(text)).to.deep.equal(['AuditKeyRotated', 'MailboxPaused']);
  });

  it(`comes in parts as a CSV with many rows ${verifies('contract:12:csv')}`, async () => {
    const ports = { sql: rig.sql, seals: sealer };
    const [of] = await rig.sql.query<{ rows: number }>(
      `select count(*)::int as rows from read.audit where trail = $1 and type = 'MailboxPaused'`,
      [TRAIL],
    );
    const parts: number[] = [];
    const ends = new Set<number | undefined>();
    for (let from: number | undefined = 1; from !== undefined;) {
      const wanted = { format: 'csv', type: 'MailboxPaused', from_seq: from } as const;
      const { terms, next }: BegunExport = await beginExport(ports, TRAIL, wanted, 500);
      parts.push(await linesOf(rig.sql, { ...terms, version: '' }));
      ends.add(next?.to);
      from = next?.from;
    }
    expect(ends).to.deep.equal(new Set([size, undefined]));
    const last = parts.pop() ?? 0;
    expect(parts).to.deep.equal([500, 500]);
    expect(1_000 + last).to.equal(of?.rows);
  });

  it('leaves out a checkpoint that its lines do not agree with', async () => {
    await rig.sql.query(
      `insert into vault.audit_signed (trail, epoch, size, note, released_at)
       select trail, epoch, 7, note, now() from vault.audit_signed where trail = $1 and size < $2 limit 1`,
      [TRAIL, size],
    );
    expect(recordsOf(await file(), 'checkpoint')).to.have.length(2);
    await rig.sql.query('delete from vault.audit_signed where size = 7');
  });

  it('breaks off when the lines do not give the root of its checkpoint', async () => {
    const [row] = await rig.sql.query<{ body: string }>(
      'select body from read.audit where trail = $1 and seq = 3',
      [TRAIL],
    );
    const tables = `update read.audit set body = $2 where trail = $1 and seq = 3`;
    await rig.sql.query(tables, [TRAIL, '{"data":{},"meta":{}}']);
    let failure: unknown = null;
    await file().catch((error: unknown) => (failure = error));
    expect(String(failure)).to.match(/do not give the root/);
    await rig.sql.query(tables, [TRAIL, row?.body]);
  });

  const bodyOf = (text: string, stream: string): Record<string, unknown> => {
    const [record] = recordsOf(text, 'line').filter(({ line }) =>
      String(line).includes(`"stream":"${stream}"`),
    );
    if (record === undefined) throw new Error(stream);
    return record;
  };

  it(`shows older events as they were stored, without salt ${verifies('contract:12:export-older')}`, async () => {
    const record = bodyOf(await file(), 'draft-drf_old');
    expect(record).to.include({ salt: '' });
    expect(record['line']).to.include('"salt":"none"');
    // Not as an upcaster would make it.
    expect((JSON.parse(String(record['body'])) as { data: object }).data).to.deep.equal(OLD_DRAFT);
    const [exit, code] = await verdict(await file({ mode: 'skeleton', filter: { mailbox_id: 'mbx_many' } }));
    expect([exit, code]).to.deep.equal([3, 'filter_older_lines']);
  });

  it(`never shows what a secret is checked by ${verifies('contract:12:no-verifier')}`, async () => {
    const text = await file();
    expect(bodyOf(text, 'token-tok_old')).to.have.all.keys('t', 'line', 'body_hash');
    expect(text).not.to.include('a hash in clear');
  });

  it('shows only the public part of a line whose record would be too long', async () => {
    const text = await file();
    for (const stream of ['operation-opn_long', 'operation-opn_longer'])
      expect(bodyOf(text, stream)).to.have.all.keys('t', 'line', 'body_hash');
    expect(Math.max(...text.split('\n').map((record) => record.length))).to.be.at.most(8 * 1024 * 1024);
  });

  it('is refused when a byte of a line was changed', async () => {
    const text = await file();
    expect((await verdict(text.replace('MailboxPaused', 'MailboxPausec')))[0]).to.equal(1);
  });

  it('is proven by both programs, in each mode', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gateway-audit-'));
    try {
      await writeFile(join(folder, 'key.txt'), `${vkey}\n`);
      const args = [join(folder, 'audit.jsonl'), '--key', join(folder, 'key.txt')];
      const filter = { type: 'AgentCreated' };
      for (const asked of [{ range: { from: 3, to: 200 } }, { mode: 'skeleton', filter }, { mode: 'sparse', filter }] as const) {
        await writeFile(join(folder, 'audit.jsonl'), await file(asked));
        const { stdout } = await promisify(execFile)(process.execPath, [program, ...args]);
        expect(stdout).to.match(/not proven/i);
        await promisify(execFile)('python3', [python, ...args]);
      }
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }); // prettier-ignore

  async function alwaysThere(): Promise<readonly string[]> {
    const rows = await rig.sql.query<{ type: string }>(
      `select type from read.audit where trail = $1
         and type in ('AuditEpochStarted', 'PersonalDataErased') order by seq`,
      [TRAIL],
    );
    return rows.map(({ type }) => type);
  }
});

import { expect } from 'chai';
import { mkdtemp, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { verifyAudit } from '../../../../infra/console/verify-audit.mjs';
import { callRest, startTestGateway, type TestGateway } from '../../../support/worlds/gateway.ts';
import { type CommandResult, runCommand } from '../../../support/servers/run-command.ts';
import { verifies } from '../../../support/suite/verifies.ts';

describe('the command that exports a trail', function () {
  this.timeout(180_000);
  let folder: string;
  let gateway: TestGateway;
  let out: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-test-export-'));
    gateway = await startTestGateway({ env: { KEY_FILE: join(folder, 'key') } });
    out = join(folder, 'audit.jsonl');
  });
  after(async () => {
    await gateway.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const run = (...args: string[]): Promise<CommandResult> =>
    runCommand('infra/admin/export.ts', args, {
      DATA_DIR: join(folder, 'data'),
      KEY_FILE: join(folder, 'key'),
      DATABASE_URL: gateway.gateway.databaseUrl,
      EVENTSTORE_URL: gateway.gateway.eventStoreUrl,
    });
  const linesOf = async (type: string): Promise<readonly { readonly actor: { readonly id: string } }[]> => {
    const options = { token: gateway.tokens.restToken };
    const answer = await callRest(gateway.baseUrl, ['GET', `/audit?type=${type}`], options);
    return (answer.body as { items: { actor: { id: string } }[] }).items;
  };
  const verdict = async (bytes: Buffer): Promise<number> => {
    const { keys } = JSON.parse(bytes.subarray(0, bytes.indexOf('\n')).toString()) as { keys: string[] };
    const chunks = (async function* () {
      yield await Promise.resolve(bytes);
    })();
    return (await verifyAudit(chunks, { keys })).exit;
  };

  it(`writes a file that is proven, and a line that says so ${verifies('contract:12:export-command')}`, async () => {
    const { orgId } = gateway.tokens;
    const { code, stdout, stderr } = await run('--trail', orgId, '--out', out, '--disclose', 'people');
    expect([code, stderr]).to.deep.equal([0, '']);
    expect(stdout).to.match(/has \d+ lines of org_/);
    expect(await verdict(await readFile(out))).to.equal(0);
    expect((await stat(out)).mode & 0o777).to.equal(0o600);
    const exported = await linesOf('AuditExported');
    expect(exported.map(({ actor }) => actor.id)).to.deep.equal(['admin-command']);
  });

  it(`continues an interrupted file ${verifies('contract:12:export-command')}`, async () => {
    const { orgId } = gateway.tokens;
    const whole = await readFile(out);
    const args = ['--trail', orgId, '--out', out, '--disclose', 'people'];
    for (const kept of [10, 3_000, whole.length]) {
      await rename(out, `${out}.part`);
      await truncate(`${out}.part`, kept);
      const { code, stderr } = await run(...args);
      expect([code, stderr]).to.deep.equal([0, '']);
      // Before its header was complete, nothing says how it was begun: it is a new export.
      if (kept > 10) expect((await readFile(out)).equals(await readFile(`${out}.whole`))).to.equal(true);
      else await writeFile(`${out}.whole`, await readFile(out));
    }
    expect(await linesOf('AuditExported')).to.have.length(2);
  });

  it('does not continue a file with other arguments, or that it did not begin', async () => {
    const { orgId } = gateway.tokens;
    const part = `${out}.part`;
    const whole = await readFile(out);
    const cases = [
      [whole, ['--disclose', 'all', '--reason', 'Curious.'], /was begun with other arguments/],
      [whole, [], /was begun with other arguments/],
      [whole, ['--disclose', 'people', '--from', '2020-01-01T00:00:00Z'], /was begun with other arguments/],
      [whole, ['--disclose', 'people', '--from-seq', '2'], /was begun with other arguments/],
      [whole, ['--disclose', 'people', '--format', 'csv'], /no unfinished csv file/],
      ['hello\nworld', ['--disclose', 'people'], /no unfinished jsonl file/],
      ['{"checkpoint":hello\n', ['--disclose', 'people'], /no unfinished jsonl file/],
    ] as const;
    for (const [bytes, args, sentence] of cases) {
      await writeFile(part, bytes);
      const { code, stderr } = await run('--trail', orgId, '--out', out, ...args);
      expect([code, stderr.trim().split('\n').length], stderr).to.deep.equal([1, 1]);
      expect(stderr).to.match(sentence);
      expect((await readFile(part)).equals(Buffer.from(bytes))).to.equal(true);
    }
    expect(await linesOf('AuditDisclosed')).to.deep.equal([]);
    const disclosed = ['--disclose', 'all', '--reason', 'A dispute.'];
    await rm(part);
    expect((await run('--trail', orgId, '--out', out, ...disclosed)).code).to.equal(0);
    await rename(out, part);
    const args = ['--trail', orgId, '--out', out, '--disclose', 'all', '--reason'];
    expect((await run(...args, 'Curious.')).stderr).to.match(/was begun with other arguments/);
    expect((await run(...args, 'A dispute.')).stdout).to.contain('continued');
    expect(await linesOf('AuditDisclosed')).to.have.length(1);
    await writeFile(out, whole);
  });

  it('does not continue a file that is not what the trail shows', async () => {
    const bytes = await readFile(out);
    bytes[bytes.length - 200] = 0x20;
    await writeFile(`${out}.part`, bytes);
    const { code, stderr } = await run('--trail', gateway.tokens.orgId, '--out', out, '--disclose', 'people');
    expect(code).to.equal(1);
    expect(stderr).to.match(/is not what the trail shows now/);
  });

  it('writes CSV and other trails, and refuses what it does not know', async () => {
    const csv = join(folder, 'audit.csv');
    const system = await run('--trail', 'system', '--out', csv, '--format', 'csv');
    expect([system.code, system.stderr]).to.deep.equal([0, '']);
    expect(await readFile(csv, 'utf8')).to.match(/^\u{feff}"seq","id",/u);
    const refused = [
      [['--trail', 'org_Ä', '--out', csv], /Name a trail/],
      [['--trail', 'system', '--out', csv, '--outcome', 'denied', '--mode', 'skeleton'], /mode=sparse/],
      [['--trail', 'system', '--out', csv, '--disclose', 'all'], /takes a reason/],
      [['--trail', 'system'], /--out/],
      [['--weather'], /weather/],
    ] as const;
    for (const [args, sentence] of refused) {
      const { code, stderr } = await run(...args);
      expect(code, args.join(' ')).to.equal(1);
      expect(stderr).to.match(sentence);
    }
  });
});

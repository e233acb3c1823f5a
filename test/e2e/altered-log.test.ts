/** Somebody with access to the database changes a stored event: who finds it, and that nothing is signed from then on. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { loadConfig } from '../../infra/process/config.ts';
import { startGateway } from '../../infra/process/gateway.ts';
import { freePort } from '../../infra/platform/reserved-port.ts';
import { silentLog } from '../support/fakes/silent-log.ts';
import { testDatabase, type TestDatabase } from '../support/servers/postgres.ts';
import { type CommandResult, runCommand } from '../support/servers/run-command.ts';
import { verifies } from '../support/suite/verifies.ts';
import { eventually, type Json, startTestGateway, TestGateway } from '../support/worlds/gateway.ts';
import { type SignedInPerson, signInNew, signInOwner } from '../support/worlds/sign-in.ts';

const TRUE_NAME = 'Agent of truth';
const OTHER_NAME = 'Agent of lies!';

describe('a stored event that was changed after it was signed', function () {
  this.timeout(120_000);
  let folder: string;
  let metricsPort: number;
  let database: TestDatabase;
  let settings: Readonly<Record<string, string>>;
  let gateway: TestGateway;
  let owner: SignedInPerson;
  let auditor: SignedInPerson;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-test-altered-'));
    metricsPort = await freePort();
    database = await testDatabase();
    settings = {
      DATA_DIR: join(folder, 'data'),
      DATABASE_URL: database.url,
      PORT: String(await freePort()),
      METRICS_PORT: String(metricsPort),
      LIMIT_WRITES_PER_MINUTE: '100000',
    };
    gateway = await startTestGateway({ env: settings, database });
    owner = await signInOwner(gateway);
    auditor = await signInNew(gateway, 'auditor');
    expect((await owner.rest('POST', '/agents', { name: TRUE_NAME })).status).to.equal(201);
    expect((await auditor.rest('POST', '/audit/checkpoints', {})).status).to.equal(201);
  });
  after(async () => {
    await gateway.stop();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });

  const sql = (text: string, values: readonly unknown[] = []): Promise<readonly Json[]> =>
    gateway.gateway.ports.sql.query(text, values);
  /** As somebody with access to the database does it, while the gateway runs. */
  const change = async (from: string, to: string): Promise<void> => {
    const changed = await sql(
      `update log.event set data = convert_to(replace(convert_from(data, 'UTF8'), $1, $2), 'UTF8')
        where type = 'AgentCreated' and position(convert_to($1, 'UTF8') in data) > 0 returning 1`,
      [from, to],
    );
    expect(changed).to.have.length(1);
  };
  const broken = async (): Promise<readonly string[]> => {
    const { body } = await auditor.rest('GET', '/audit?type=AuditSealBroken&order=asc');
    return body.items.map(({ data }: Json) => data.reason as string);
  };
  const found = (): Promise<void> =>
    eventually(async () => {
      const { body } = await auditor.rest('GET', '/audit/verifications');
      expect(body).to.include({ state: 'broken' });
      expect(body.broken.reason).to.equal('root_differs');
      expect((await broken()).at(-1)).to.equal('root_differs');
    });
  const newest = async (): Promise<number> =>
    (await auditor.rest('GET', '/audit/checkpoints/latest')).body.size as number;
  /** The trail grows, and what is asked for is not signed. */
  const signsNothing = async (): Promise<void> => {
    const before = await newest();
    expect((await owner.rest('POST', '/agents', { name: 'Later' })).status).to.equal(201);
    const { status, body } = await auditor.rest('POST', '/audit/checkpoints', {});
    expect([status, body.error?.code], JSON.stringify(body)).to.deep.equal([503, 'seal_behind']);
    expect(await newest()).to.equal(before);
    const [row] = await sql('select max(size)::int as size from vault.audit_signed where trail = $1', [
      gateway.tokens.orgId,
    ]);
    expect(row.size, 'also not in the memory of the sealer').to.equal(before);
  };
  const run = (script: string, args: readonly string[], more = {}): Promise<CommandResult> =>
    runCommand(`infra/admin/${script}.ts`, args, { ...settings, ...more });
  const lastVerified = (ago: string): Promise<unknown> =>
    sql(`update vault.audit_verification set started_at = now() - $1::interval`, [ago]);
  /** The log is as it was, and an operator begins a new epoch. */
  const mend = async (): Promise<void> => {
    await change(OTHER_NAME, TRUE_NAME);
    const args = ['audit', 'new-epoch', '--reason', 'We looked into it.'];
    const { code, stderr } = await run('admin', args, { EVENTSTORE_URL: gateway.gateway.eventStoreUrl });
    expect([code, stderr]).to.deep.equal([0, '']);
    expect((await auditor.rest('POST', '/audit/checkpoints', {})).status).to.equal(201);
  };

  it(`is found when somebody asks, shown to callers and operators, and ends the signing ${verifies('contract:12:verified', 'contract:12:seal-broken', 'contract:17:audit-verifications')}`, async () => {
    await change(TRUE_NAME, OTHER_NAME);
    await lastVerified('2 hours');
    expect((await auditor.rest('POST', '/audit/verifications', {})).status).to.equal(202);
    await found();
    await signsNothing();
    const health = (await (await fetch(`${gateway.baseUrl}/health/ready`)).json()) as Json;
    expect([health.status, health.checks.audit.sealing]).to.deep.equal(['ready', 'broken']);
    const metrics = await (await fetch(`http://127.0.0.1:${String(metricsPort)}/metrics`)).text();
    expect(metrics).to.match(/^gateway_audit_sealing -1$/m);
    await mend();
    expect(await broken(), 'told once').to.deep.equal(['root_differs']);
  });

  it(`is found by the daily verification ${verifies('contract:12:verified', 'contract:12:seal-broken')}`, async () => {
    await change(TRUE_NAME, OTHER_NAME);
    await lastVerified('25 hours');
    await eventually(async () => {
      expect(await broken()).to.have.length(2);
    });
    await found();
    await signsNothing();
    await mend();
  });

  it(`is found by a rebuild, and told once the gateway runs ${verifies('contract:12:verified', 'contract:12:seal-broken')}`, async () => {
    await change(TRUE_NAME, OTHER_NAME);
    const { tokens } = gateway;
    // The event node keeps events that it wrote itself in memory, so a rebuild beside it would not read this one.
    await gateway.stop();
    const { code, stderr } = await run('rebuild', ['audit']);
    expect(code).to.equal(1);
    expect(stderr).to.match(new RegExp(`not what was signed: ${tokens.orgId} \\(root_differs at \\d+\\)`));
    const restarted = await startGateway({ config: loadConfig(settings), log: silentLog });
    gateway = new TestGateway(restarted, tokens, () => Promise.resolve());
    const { body } = await gateway.rest('GET', '/audit?type=AgentCreated');
    expect(JSON.stringify(body), 'the read model agrees with the changed log').to.include(OTHER_NAME);
    await found();
    await signsNothing();
  });
});

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { READ_MODELS } from '../../../../infra/projector/read-models.ts';
import { audit } from '../../../../projections/audit.ts';
import { happened, sampleAuthor } from '../../../support/samples/event-author.ts';
import { callRest, eventually, startTestGateway, type TestGateway } from '../../../support/worlds/gateway.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { type CommandResult, runCommand } from '../../../support/servers/run-command.ts';

const AUDIT = `audit_v${String(audit.version)}`;
const NAMES = READ_MODELS.map(({ name }) => name).join(', ');

describe('the commands for read models beside a running gateway', function () {
  this.timeout(120_000);
  let folder: string;
  let gateway: TestGateway;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-test-rebuild-'));
    gateway = await startTestGateway({ env: { KEY_FILE: join(folder, 'key') } });
  });
  after(async () => {
    await gateway.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const run = (script: string, ...args: string[]): Promise<CommandResult> =>
    runCommand(`infra/admin/${script}.ts`, args, {
      DATA_DIR: join(folder, 'data'),
      KEY_FILE: join(folder, 'key'),
      DATABASE_URL: gateway.gateway.databaseUrl,
      EVENTSTORE_URL: gateway.gateway.eventStoreUrl,
    });
  const trail = async (): Promise<readonly { id: string }[]> => {
    const { events, readModels } = gateway.gateway.ports;
    expect(await readModels.waitFor(await events.headPosition(), 5_000)).to.equal(true);
    const answer = await callRest(gateway.baseUrl, ['GET', '/audit?order=asc&limit=200'], {
      token: gateway.tokens.restToken,
    });
    return (answer.body as { items: { id: string }[] }).items;
  };

  it('rebuild lists the models when the given one is unknown', async () => {
    const { code, stderr } = await run('rebuild', 'weather');
    expect([code, stderr]).to.deep.equal([1, `There is no read model called weather: ${NAMES}, or all.\n`]);
  });

  it(`rebuild says which trails are not what was signed ${verifies('contract:12:verified')}`, async () => {
    const { sql, seals } = gateway.gateway.ports;
    const { orgId } = gateway.tokens;
    await seals.sealNow(orgId, 1);
    const note = (change: string) =>
      sql.query(`update vault.audit_signed set note = ${change} where trail = $1`, [orgId]);
    await note(`'x' || note`);
    const { code, stderr } = await run('rebuild', 'audit');
    expect(code).to.equal(1);
    expect(stderr).to.match(new RegExp(`not what was signed: ${orgId} \\(signature_differs at \\d+\\)`));
    await note('substr(note, 2)');
  });

  it('rebuild repairs a damaged model while the gateway runs', async () => {
    const before = await trail();
    expect(before.length).to.be.greaterThan(3);
    await gateway.gateway.ports.sql.query('delete from read.audit where seq = 2');
    const { code, stdout, stderr } = await run('rebuild', 'all');
    expect([code, stdout]).to.deep.equal([0, stdout]);
    expect(stdout).to.match(
      new RegExp(
        `^Rebuilt ${NAMES} from \\d+ events in [\\d.]+ s\\.\\nAll \\d+ trails agree with their checkpoints\\.\\n$`,
      ),
    );
    expect(stderr).to.match(/events, [\d.]+ % of the log, .*\/s/);
    expect((await trail()).slice(0, before.length)).to.deep.equal(before);
    const created = { type: 'OrganisationCreated' as const, data: { name: 'Later' } };
    const author = sampleAuthor(gateway.tokens.orgId);
    await happened(gateway.gateway.ports.events, 'organisation-org_later', [created], author);
    await eventually(async () => {
      if ((await trail()).length <= before.length) throw new Error('the trail does not go on');
    });
  });

  it('admin lists parked events and retries them in place', async () => {
    const { sql } = gateway.gateway.ports;
    const before = await trail();
    const first = await sql.query<{ position: string; event_id: string }>(
      'select position, event_id from read.audit order by position limit 1',
    );
    // As an older version left it.
    await sql.query('delete from read.audit where event_id = $1', [first[0]?.event_id]);
    await sql.query(
      `insert into work.parked_event (projection, position, event_id, type, error)
       values ('${AUDIT}', $1, $2, 'OrganisationCreated', 'Error: a field is missing')`,
      [first[0]?.position, first[0]?.event_id],
    );
    const listed = await run('admin', 'parked');
    expect(listed.stdout).to.match(
      /^audit: OrganisationCreated \S+ at \d+, 1 attempt since \S+\n {4}Error: a field/,
    );
    const retried = await run('admin', 'retry-parked', 'audit');
    expect([retried.code, retried.stdout]).to.deep.equal([0, retried.stdout]);
    expect(retried.stdout).to.match(/^Rebuilt audit from/);
    expect((await run('admin', 'parked')).stdout).to.equal('No event is parked.\n');
    expect((await run('admin', 'retry-parked')).stdout).to.equal('No event is parked.\n');
    expect((await trail()).slice(0, before.length)).to.deep.equal(before);
  });
});

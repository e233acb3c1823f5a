import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { openForAdmin } from '../../../../infra/admin/open-for-command.ts';
import { loadConfig } from '../../../../infra/process/config.ts';
import { stopOrphan } from '../../../../infra/postgres/embedded/postgres-orphan.ts';
import { eventually, startTestGateway, type TestGateway } from '../../../support/worlds/gateway.ts';
import { type CommandResult, runCommand } from '../../../support/servers/run-command.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const RULE = { id: 'no-moves', when: { actions: ['move'] }, then: { decision: 'deny' } };

describe('admin policy', function () {
  this.timeout(120_000);
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-test-policy-'));
  });
  after(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  const fileWith = async (content: unknown): Promise<string> => {
    const file = join(folder, 'policy.json');
    await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
    return file;
  };

  describe('beside a running gateway', () => {
    let gateway: TestGateway;
    before(async () => {
      gateway = await startTestGateway({ env: { KEY_FILE: join(folder, 'key') } });
    });
    after(async () => {
      await gateway.stop();
    });

    const admin = (...args: string[]): Promise<CommandResult> =>
      runCommand('infra/admin/admin.ts', args, {
        DATA_DIR: join(folder, 'data'),
        KEY_FILE: join(folder, 'key'),
        DATABASE_URL: gateway.gateway.databaseUrl,
        EVENTSTORE_URL: gateway.gateway.eventStoreUrl,
      });

    it(`shows the active policy, sets a file and adds no version when it is unchanged ${verifies('contract:8:versions')}`, async () => {
      const before = await admin('policy');
      expect(JSON.parse(before.stdout)).to.deep.equal({
        version: 0,
        internal_domains: [],
        custom_headers: [],
        rules: [],
        default: null,
      });
      const file = await fileWith({ rules: [RULE] });
      expect((await admin('policy', file)).stdout).to.equal('Policy version 1 is in force.\n');
      const { orgId } = gateway.tokens;
      expect(gateway.gateway.ports.directory.state.policies.get(orgId)?.version).to.equal(1);
      // What was shown is a file that says the same.
      const shown = (await admin('policy', '--org', orgId)).stdout;
      expect((await admin('policy', await fileWith(shown))).stdout).to.equal(
        'Version 1 says the same: nothing changed.\n',
      );
      const [line, ...others] = await eventually(async () => {
        const answer = await gateway.rest('GET', '/audit?type=PolicySet');
        const { items } = answer.body as { items: object[] };
        if (items.length === 0) throw new Error('the audit lags');
        return items;
      });
      expect(others).to.deep.equal([]);
      expect(line).to.deep.include({
        action: 'policy.set',
        actor: { type: 'system', id: 'admin-command', token_id: null, session_id: null },
        resource: { type: 'policy', id: orgId },
      });
    });

    it('leaves the notifications of cancelled calls to the gateway', async () => {
      const { databaseUrl, eventStoreUrl, ports } = gateway.gateway;
      const listeners = async (): Promise<number> => {
        const name = 'gateway mcp_call_cancelled';
        const all =
          'select from pg_stat_activity where application_name = $1 and datname = current_database()';
        return (await ports.sql.query(all, [name])).length;
      };
      await eventually(async () => {
        expect(await listeners()).to.equal(1);
      });
      const config = loadConfig({
        DATA_DIR: join(folder, 'data'),
        KEY_FILE: join(folder, 'key'),
        DATABASE_URL: databaseUrl,
        EVENTSTORE_URL: eventStoreUrl,
      });
      await using core = await openForAdmin(config, silentLog);
      await core.ports.clock.sleep(300);
      expect(await listeners()).to.equal(1);
    });

    it('prints one line per issue and changes nothing', async () => {
      const file = await fileWith({ rules: [{ ...RULE, when: { mailbox_ids: ['mbx_1'] } }, { id: 'X' }] });
      const refused = await admin('policy', file);
      expect(refused.code).to.equal(1);
      expect(refused.stderr.split('\n')[0]).to.equal(`${file} is not a policy; nothing changed.`);
      expect(refused.stderr).to.match(/\n {2}rules\.1\.id: An id is of/);
      expect((await admin('policy', await fileWith('{'))).stderr).to.match(
        /policy\.json is not JSON: SyntaxError/,
      );
      expect((await admin('policy', join(folder, 'none'))).stderr).to.match(/^There is no file .*none/);
      expect((await admin('policy', file, '--org', 'org_0')).stderr).to.match(
        /^Name the organisation with --org: org_/,
      );
    });
  });

  it('opens the stores of the data folder when no gateway runs', async () => {
    const env = { DATA_DIR: join(folder, 'embedded'), PORT: '0' };
    const admin = (...args: string[]) => runCommand('infra/admin/admin.ts', args, env);
    try {
      const bootstrap = await admin('bootstrap', '--org', 'Example', '--email', 'owner@example.com');
      expect(JSON.parse(bootstrap.stdout)).to.include.keys('org_id', 'user_id', 'rest_token');
      const file = await fileWith({ rules: [RULE] });
      expect((await admin('policy', file)).stdout).to.equal('Policy version 1 is in force.\n');
      expect(JSON.parse((await admin('policy')).stdout)).to.deep.include({ version: 1, rules: [RULE] });
    } finally {
      await stopOrphan(join(env.DATA_DIR, 'postgres/cluster'), silentLog);
    }
  });
});

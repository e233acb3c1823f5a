/** What the admin commands say before they do anything. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type CommandResult, runCommand } from '../../../support/servers/run-command.ts';
import { verifies } from '../../../support/suite/verifies.ts';

describe('the command-line programs', function () {
  this.timeout(120_000);
  let folder: string;
  let env: Record<string, string>;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-test-arguments-'));
    env = { DATA_DIR: join(folder, 'mistyped') };
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const admin = (...args: string[]): Promise<CommandResult> => runCommand('infra/admin/admin.ts', args, env);

  it('list their commands when asked for help or called without one', async () => {
    for (const args of [['--help'], ['-h'], ['help'], [], ['policy', '--help']]) {
      const { code, stdout, stderr } = await admin(...args);
      expect([code, stderr], args.join(' ')).to.deep.equal([0, '']);
      expect(stdout).to.match(/^Commands:\n {2}npm run admin -- bootstrap --org NAME --email ADDR/);
      expect(stdout).to.include('retry-parked');
    }
  });

  it('name the bad argument and list the valid ones', async () => {
    for (const [args, wrong] of [
      [['polcy'], 'There is no command polcy.'],
      [['resolve'], 'The command resolve takes other arguments.'],
      [
        ['person', 'erase', 'a@example.com', '--email', 'b@example.com'],
        'The command person takes other arguments.',
      ],
      [['person', 'erase', '--email', 'b@example.com'], 'The command person takes other arguments.'],
      [['policy', '--orgg', 'x'], "Unknown option '--orgg'."],
      [['bootstrap', '--org'], "Option '--org <value>' argument missing."],
    ] as const) {
      const { code, stdout, stderr } = await admin(...args);
      expect([code, stdout], wrong).to.deep.equal([1, '']);
      expect(stderr.split('\n').slice(0, 3)).to.deep.equal([wrong, '', 'Commands:']);
    }
  });

  it(`create nothing in a folder without a gateway ${verifies('contract:20:no-gateway')}`, async () => {
    const sentence = `There is no gateway in ${env['DATA_DIR'] ?? ''}: set DATA_DIR to the folder of yours.\n`;
    const rebuild = runCommand('infra/admin/rebuild.ts', ['all'], env);
    for (const run of [
      admin('policy'),
      admin('person', 'reset', 'a@example.com'),
      admin('call', 'get_identity', '--as', 'usr_1'),
      admin('parked'),
      admin('retry-parked'),
      rebuild,
    ]) {
      const { code, stdout, stderr } = await run;
      expect([code, stdout, stderr]).to.deep.equal([1, '', sentence]);
    }
    expect(existsSync(env['DATA_DIR'] ?? '')).to.equal(false);
  });
});

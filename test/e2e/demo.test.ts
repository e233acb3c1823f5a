import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { ensureDovecot } from '../support/ensure-dovecot.ts';
import { eventually } from '../support/gateway.ts';
import { GatewayProcess } from '../support/gateway-process.ts';

const run = promisify(execFile);

describe('the demo', function () {
  this.timeout(90_000);
  let dataDir: string;
  let demo: GatewayProcess;

  before(async function () {
    if ((await ensureDovecot()) === null) this.skip();
    dataDir = await mkdtemp(join(tmpdir(), 'gateway-demo-'));
    // Run by root, Dovecot and Postgres work as another account, who must be able to enter.
    await chmod(dataDir, 0o755);
    demo = GatewayProcess.spawn({ env: { DATA_DIR: dataDir, PORT: '0' }, entry: 'infra/demo/demo.ts' });
  });

  after(async () => {
    await demo.stop();
    await rm(dataDir, { recursive: true, force: true });
  });

  const printed = async (text: string): Promise<void> => {
    await eventually(() => {
      if (!demo.output.includes(text)) throw new Error(`it said:\n${demo.output}${demo.errors}`);
      return Promise.resolve();
    }, 60_000);
  };

  it('walks from the list to a reply that arrives back in the inbox', async () => {
    await printed('Ctrl-C stops everything');
    expect(demo.output).to.match(/email\.await +matched: it is back in the inbox/);
  });

  it('prints calls that do the same by hand', async () => {
    const [, script = ''] = demo.output.split('The walk by hand:');
    const lines = script.split('\n').filter((line) => line.startsWith('  '));
    expect(lines).to.have.length.above(8);
    const { stdout } = await run('bash', ['-euc', `cd "${dataDir}"\n${lines.join('\n')}`]);
    const facts = JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8')) as { mailbox_id: string };
    expect(stdout).to.include(facts.mailbox_id);
    expect(stdout).to.include('"status":"completed"').and.to.include('"status":"matched"');
  });
});

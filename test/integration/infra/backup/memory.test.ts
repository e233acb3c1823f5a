import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { runNode } from '../../../support/servers/run-command.ts';
import { openHome } from './home-under-test.ts';

const SMALL = 10_000;
const LARGE = 110_000;
/** The large log has 85 MB more of rows; what is kept of them besides buffers would show. */
const MOST_GROWTH_KIB = 48 * 1024;

/** Tells the largest memory the process ever had, in KiB. */
const PROBE = `data:text/javascript,process.on('exit',()=>console.error(process.resourceUsage().maxRSS))`;

describe('backup and restore of a long log', function () {
  this.timeout(180_000);
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-backup-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const peakKiB = async (script: string, target: string, env: Record<string, string>): Promise<number> => {
    const { code, stderr } = await runNode(['--import', PROBE, script, target], env);
    expect(code, stderr).to.equal(0);
    return Number(stderr);
  };

  const peaks = async (events: number): Promise<{ backup: number; restore: number }> => {
    const name = String(events);
    const [dataDir, target] = [join(folder, `home-${name}`), join(folder, `backup-${name}`)];
    const keyFile = join(folder, 'master.key');
    await using home = await openHome(dataDir, { keyFile, bulk: events });
    const backup = await peakKiB('infra/admin/backup.ts', target, { DATA_DIR: home.dataDir });
    const env = { DATA_DIR: join(folder, `new-${name}`), KEY_FILE: keyFile };
    return { backup, restore: await peakKiB('infra/admin/restore.ts', target, env) };
  };

  it('take no more memory than those of a short log', async () => {
    const small = await peaks(SMALL);
    const large = await peaks(LARGE);
    expect(large.backup - small.backup, 'backup').to.be.below(MOST_GROWTH_KIB);
    expect(large.restore - small.restore, 'restore').to.be.below(MOST_GROWTH_KIB);
  });
});

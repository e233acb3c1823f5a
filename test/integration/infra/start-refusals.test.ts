/** Starts that cannot be: found out before anything is made. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { runCommand } from '../../support/servers/run-command.ts';

const ENTRIES = ['infra/process/main.ts', 'infra/demo/demo.ts'];

describe('the start of a process', function () {
  this.timeout(90_000);
  let folder: string;
  let taken: Server;
  let port: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-test-start-'));
    taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const address = taken.address();
    port = String(typeof address === 'object' ? address?.port : '');
  });
  after(async () => {
    taken.close();
    await rm(folder, { recursive: true, force: true });
  });

  for (const entry of ENTRIES) {
    it(`creates nothing when a port is taken: ${entry}`, async () => {
      const dataDir = join(folder, 'none');
      for (const [env, setting] of [
        [{ PORT: port }, 'PORT'],
        [{ PORT: '0', METRICS_PORT: port }, 'METRICS_PORT or METRICS_HOST'],
      ] as const) {
        const { code, stderr } = await runCommand(entry, [], { DATA_DIR: dataDir, ...env });
        expect(stderr).to.equal(
          `Cannot listen on port ${port} of 127.0.0.1: is another program using it? Set ${setting}.\n`,
        );
        expect(code).to.equal(1);
        expect(existsSync(dataDir)).to.equal(false);
      }
    });

    it(`reports in one sentence when DATA_DIR cannot be written: ${entry}`, async () => {
      await writeFile(join(folder, 'file'), '');
      const dataDir = join(folder, 'file', 'data');
      const { code, stderr } = await runCommand(entry, [], { DATA_DIR: dataDir, PORT: '0' });
      expect(stderr).to.equal(
        `DATA_DIR is ${dataDir}, where this process cannot write (ENOTDIR): let its account write there, or set DATA_DIR to another folder.\n`,
      );
      expect(code).to.equal(1);
    });
  }
});

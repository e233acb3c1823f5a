/** `npm run bench [-- --record]`: bounded, loopback only, ratios inside one run. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measureMcpCall } from './b1-mcp-call.ts';
import { measureArchive } from './b3-archive.ts';
import { report } from './figures.ts';
import { endChild, startDemo } from './processes.ts';

const PORT = 38_080;
const dataDir = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
// Run by root, Dovecot and Postgres work as another account, who must be able to enter.
chmodSync(dataDir, 0o755);
const demo = await startDemo(dataDir, PORT);
try {
  const figures = [...(await measureMcpCall(demo.facts)), ...(await measureArchive(demo.facts))];
  report(figures, process.argv.includes('--record'));
} finally {
  await endChild(demo.child);
  rmSync(dataDir, { recursive: true, force: true });
}

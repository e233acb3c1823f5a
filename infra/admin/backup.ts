/**
 * `npm run backup -- DIR`: saves what cannot be rebuilt of the embedded home, with or without a running
 * gateway.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { openEmbeddedHome, refuseOutsideHome } from '../backup/embedded-home.ts';
import { progressLines } from '../backup/table-copy.ts';
import { writeBackup } from '../backup/write-backup.ts';
import { loadConfig } from '../process/config.ts';
import { createJsonLog } from '../observability/json-log.ts';
import { runCommand, say } from './run-command.ts';

const USAGE = `Usage:
  npm run backup -- DIR
      Saves the embedded home (DATA_DIR) into the new folder DIR; the gateway may keep running.`;

await runCommand(async ([folder, ...others], signal) => {
  if (folder === undefined || folder.startsWith('-') || others.length > 0) throw new Error(USAGE);
  const config = loadConfig(process.env);
  refuseOutsideHome(config);
  const target = resolve(folder);
  const home = await openEmbeddedHome(config.dataDir, createJsonLog('error'));
  try {
    const report = progressLines(say, () => performance.now());
    const { log } = await writeBackup({ url: home.url, target, report, signal });
    say(`Saved ${config.dataDir} in ${target}, the log up to ${log.end}.`);
    const keyFile = existsSync(config.keyFile) ? config.keyFile : 'the key file of your gateways (KEY_FILE)';
    say(`The master key is not in it: keep a copy of ${keyFile} in another place.`);
    say('Without that file the backup cannot be opened; anyone with both can open it.');
  } finally {
    await home.stop();
  }
});

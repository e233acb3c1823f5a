/** `npm run restore -- DIR`: restores a backup into an empty data folder. */
import { resolve } from 'node:path';
import { refuseOutsideHome } from '../backup/embedded-home.ts';
import { progressLines } from '../backup/table-copy.ts';
import { restoreBackup } from '../backup/restore-backup.ts';
import { loadConfig } from '../process/config.ts';
import { createJsonLog } from '../observability/json-log.ts';
import { runCommand, say } from './run-command.ts';

const USAGE = `Usage:
  npm run restore -- DIR
      Restores the backup in DIR into DATA_DIR, which must be empty but for the key file.`;

await runCommand(async ([folder, ...others], signal) => {
  if (folder === undefined || folder.startsWith('-') || others.length > 0) throw new Error(USAGE);
  const config = loadConfig(process.env);
  refuseOutsideHome(config);
  const { dataDir, keyFile } = config;
  const manifest = await restoreBackup({
    source: resolve(folder),
    dataDir,
    keyFile,
    log: createJsonLog('error'),
    report: progressLines(say, () => performance.now()),
    signal,
  });
  say(`Restored ${dataDir} as it was at ${manifest.created_at}.`);
  say('Next: npm start. The read models are built again from the log, which takes a while for a long one.');
  say(
    'Then revoke and erase again what was revoked or erased after that moment: docs/backup.md, "After a restore".',
  );
});

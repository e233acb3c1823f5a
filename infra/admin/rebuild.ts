/** `npm run rebuild -- NAME…|all`: rebuilds read models from the log, with or without running gateways. */
import { loadConfig } from '../process/config.ts';
import { createJsonLog } from '../observability/json-log.ts';
import { openForRebuild } from './open-for-command.ts';
import { modelsNamed, rebuildCommand } from './rebuild-command.ts';
import { runCommand, say } from './run-command.ts';

await runCommand(async (names, signal) => {
  const projections = modelsNamed(names);
  await using parts = await openForRebuild(loadConfig(process.env), createJsonLog('error'));
  say(await rebuildCommand(parts, projections, signal));
});

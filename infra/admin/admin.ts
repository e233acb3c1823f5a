/** `npm run admin -- …`: what a person does on the machine itself, beside a running gateway or without one. */
import { parseArgs } from 'node:util';
import { type Config, loadConfig } from '../config.ts';
import { sentenceOf } from '../config-sentences.ts';
import { createJsonLog } from '../observability/json-log.ts';
import { bootstrapCommand } from './bootstrap-command.ts';
import { callCommand } from './call-command.ts';
import { openForAdmin } from './open-for-admin.ts';
import { openForRebuild } from './open-for-rebuild.ts';
import { listParked, retryParked } from './parked-events.ts';
import { modelsNamed } from './rebuild-command.ts';
import { stopSignal } from './run-command.ts';

const USAGE = `Usage:
  npm run admin -- bootstrap --org NAME --email ADDR [--name NAME] [--password-file F]
      Sets up the first organisation, its owner, an agent and their tokens; prints one JSON.
  npm run admin -- call CAPABILITY ['{"json": "input"}'] --as usr_…|agt_…
      Runs one capability as that person or agent, with all the scopes it may have.
  npm run admin -- list
      Names the capabilities.
  npm run admin -- parked
      Lists the events that a read model could not apply.
  npm run admin -- retry-parked [MODEL]
      Tries them again in their place, which builds their read model anew.`;

/** Text for standard output; throws what went wrong. */
async function main(args: readonly string[]): Promise<string> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      org: { type: 'string' },
      email: { type: 'string' },
      name: { type: 'string' },
      'password-file': { type: 'string' },
      as: { type: 'string' },
    },
  });
  const [command, ...rest] = positionals;
  const config = loadConfig(process.env);
  const log = createJsonLog('error');
  if (command === 'bootstrap') {
    const { org, email, name, 'password-file': passwordFile } = values;
    if (org === undefined || email === undefined) throw new Error(USAGE);
    await using core = await openForAdmin(config, log);
    return await bootstrapCommand(core.ports, { org, email, name: name ?? email, passwordFile });
  }
  if (command === 'call' && rest[0] !== undefined && values.as !== undefined) {
    await using core = await openForAdmin(config, log);
    return await callCommand(core.ports, { capability: rest[0], json: rest[1] ?? '{}', as: values.as });
  }
  if (command === 'parked') return await parkedCommand(config, null);
  if (command === 'retry-parked') return await parkedCommand(config, rest);
  if (command === 'list') {
    const { capabilities } = await import('../../read-api/capabilities.ts');
    return capabilities.map(({ name, summary }) => `${name.padEnd(32)}${summary}`).join('\n');
  }
  throw new Error(USAGE);
}

/** Lists what is parked, or tries that of the models named again (none named = all). */
async function parkedCommand(config: Config, retry: readonly string[] | null): Promise<string> {
  await using parts = await openForRebuild(config, createJsonLog('error'));
  if (retry === null) return await listParked(parts.sql);
  return await retryParked(parts, modelsNamed(retry, ['all']), stopSignal());
}

try {
  process.stdout.write(`${await main(process.argv.slice(2))}\n`);
} catch (error) {
  process.stderr.write(`${sentenceOf(error)}\n`);
  process.exitCode = 1;
}

/** `npm start`: the gateway, configured by the environment alone. */
import { loadConfig } from './config.ts';
import { sentenceOf } from './config-sentences.ts';
import { endRequested } from './end-signals.ts';
import { startGateway } from './gateway.ts';
import { createJsonLog } from './observability/json-log.ts';
import { awaitFolder, removeRunFile, writeRunFile } from './run-file.ts';
import { systemClock } from './system-clock.ts';

const say = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

/** Runs until a signal asks it to end. What is wrong with the environment is one sentence each, and no stack. */
async function main(): Promise<void> {
  const ended = endRequested();
  const config = loadConfig(process.env);
  await awaitFolder(config.dataDir, systemClock);
  const gateway = await startGateway({ config, log: createJsonLog(), progress: say });
  try {
    const { baseUrl, databaseUrl, eventStoreUrl } = gateway;
    writeRunFile(config.dataDir, {
      pid: process.pid,
      base_url: baseUrl,
      database_url: databaseUrl,
      eventstore_url: eventStoreUrl,
      started_at: systemClock.now().toISOString(),
    });
    say(`Listening on ${baseUrl} (REST ${baseUrl}/api/v1, MCP ${baseUrl}/mcp)`);
    if (gateway.ports.directory.state.organisations.size === 0) {
      say('There is no organisation yet: npm run admin -- bootstrap --org NAME --email ADDR');
    }
    say(`Stopping (${await ended})`);
  } finally {
    await gateway[Symbol.asyncDispose]();
    removeRunFile(config.dataDir);
  }
}

try {
  await main();
} catch (error) {
  process.stderr.write(`${sentenceOf(error)}\n`);
  process.exitCode = 1;
}

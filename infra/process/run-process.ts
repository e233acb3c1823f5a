/**
 * The main function of `npm start` and `npm run store`: runs one process in its roles, configured by the
 * environment, until it is asked to end.
 */
import { isUnfounded, newSetUpLink } from '../../commands/organisation/found-organisation.ts';
import { type Environment, loadConfig, runsStoresOnly, sentenceOf } from './config.ts';
import { endRequested } from './end-signals.ts';
import { withStores } from './locate-stores.ts';
import { type Gateway, startGateway } from './gateway.ts';
import { createJsonLog } from '../observability/json-log.ts';
import { openStores } from './start-stores.ts';
import { awaitFolder, removeRunFile, runFactsOf, writeRunFile } from './run-file.ts';
import { systemClock } from '../platform/system-clock.ts';

const say = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

/** The process was asked to end while it waited for a store. Not a failure. */
class EndedWhileStarting extends Error {}

/** Never throws: each error becomes one sentence on standard error, and exit code 1. */
export async function runProcess(env: Environment): Promise<void> {
  try {
    await untilEnded(env);
  } catch (error) {
    if (error instanceof EndedWhileStarting) {
      say(`Stopping (${error.message})`);
      return;
    }
    process.stderr.write(`${sentenceOf(error)}\n`);
    process.exitCode = 1;
  }
}

async function untilEnded(env: Environment): Promise<void> {
  const ended = endRequested();
  const ending = new AbortController();
  void ended.then((why) => {
    ending.abort(new EndedWhileStarting(why));
  });
  const config = loadConfig(env);
  const { dataDir, roles } = config;
  const isOwner = roles.has('embedded');
  if (isOwner) await awaitFolder(dataDir, systemClock);
  await using opened = new AsyncDisposableStack();
  // Added first, so disposed last: the run file remains until everything is closed.
  const folder = opened.use(new DisposableStack());
  const log = createJsonLog(config.logLevel);
  const options = { config: await withStores(config), log, progress: say, ending: ending.signal };
  const gateway = runsStoresOnly(roles) ? null : opened.use(await startGateway(options));
  const stores = gateway ?? { baseUrl: config.baseUrl, ...(await openStores(options, opened)) };
  if (isOwner) {
    await writeRunFile(dataDir, runFactsOf(stores), systemClock);
    folder.defer(() => {
      removeRunFile(dataDir);
    });
  }
  if (gateway === null) say(`Listening on ${stores.sharedEventStoreUrl} (for any EventStoreDB client)`);
  else await greet(gateway);
  say(`Stopping (${await ended})`);
}

async function greet({ address, baseUrl, hasFaces, ports }: Gateway): Promise<void> {
  if (!hasFaces) {
    say(`Listening on ${address} (health only)`);
    return;
  }
  say(`Listening on ${address} (REST ${baseUrl}/api/v1, MCP ${baseUrl}/mcp)`);
  if (await isUnfounded(ports)) {
    say('There is no organisation yet: npm run admin -- bootstrap --org NAME --email ADDR');
    say(`Or set it up in a browser, within 24 hours: ${await newSetUpLink(ports)}`);
  }
}

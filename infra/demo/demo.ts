/** `npm run demo`: a whole gateway with a mailbox to play with; the facts are in `<DATA_DIR>/demo.json` too. */
import { loadConfig, sentenceOf } from '../process/config.ts';
import { endRequested } from '../process/end-signals.ts';
import { openDataFolder } from '../process/data-folder.ts';
import { type Gateway, requirePorts, startGateway } from '../process/gateway.ts';
import { createJsonLog } from '../observability/json-log.ts';
import { awaitFolder, removeRunFile, runFactsOf, writeRunFile } from '../process/run-file.ts';
import { systemClock } from '../platform/system-clock.ts';
import { approvalLink, askAsAgent, stillWaiting } from './demo-approval.ts';
import { type DemoFacts, readDemoFacts, writeDemoFacts } from './demo-facts.ts';
import { type DemoMail, startDemoMail } from './demo-mail.ts';
import { setUpDemo } from './demo-set-up.ts';
import { walkByHand, walkDemo } from './demo-walk.ts';
import { seedMailbox } from './seed-mailbox.ts';
import { showSync } from './sync-bar.ts';

const say = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

/** The demo's mail server and receivers of its webhooks are on loopback, which the egress guard refuses otherwise. */
const LOOPBACK = '127.0.0.1/32:*';
const DEMO_SETTINGS = { EGRESS_ALLOW_MAIL: LOOPBACK, EGRESS_ALLOW_WEBHOOKS: LOOPBACK, LOG_LEVEL: 'warn' };

async function main(): Promise<void> {
  const ended = endRequested();
  const config = loadConfig({ ...DEMO_SETTINGS, ...process.env, ROLES: '' });
  await awaitFolder(config.dataDir, systemClock);
  await requirePorts(config);
  openDataFolder(config.dataDir);
  const log = createJsonLog(config.logLevel);
  const earlier = readDemoFacts(config.dataDir);
  await using opened = new AsyncDisposableStack();
  say('Starting the demo mail server');
  const mail = await startDemoMail({ dataDir: config.dataDir, log });
  opened.defer(() => mail.stop());
  say(`Mail server: hoodiecrow from npm, mail in ${mail.folder}`);
  const seeded = await seedMailbox(mail.imap);
  if (seeded > 0) say(`Seeded the mailbox with ${String(seeded)} messages`);
  const gateway = opened.use(await startGateway({ config, log, progress: say }));
  const facts = await setUpDemo(gateway, mail, earlier);
  writeDemoFacts(config.dataDir, facts);
  await writeRunFile(config.dataDir, runFactsOf(gateway), systemClock);
  opened.defer(() => {
    removeRunFile(config.dataDir);
  });
  await waitConnected(gateway, facts.mailbox_id);
  say(describe(facts, mail));
  const waiting = earlier === null ? await walkOnce(facts) : await stillWaiting(facts);
  say(`\n${walkByHand(facts)}\n\n${CLOSING}`);
  if (waiting !== null) say(decideThere(facts, waiting));
  say(`\nStopping (${await ended})`);
}

const CONNECT_WITHIN_MS = 60_000;

/** The first query should find a connected mailbox. A slow server only costs a line. */
async function waitConnected({ ports }: Gateway, mailboxId: string): Promise<void> {
  const { stdout: terminal } = process;
  const state = await showSync({ ports, mailboxId, withinMs: CONNECT_WITHIN_MS, terminal });
  if (state !== 'connected') say('The mailbox is not connected yet; see GET /api/v1/mailboxes.');
}

function describe(facts: DemoFacts, mail: DemoMail): string {
  const api = `${facts.base_url}/api/v1`;
  const bearer = `-H 'Authorization: Bearer ${facts.rest_token}'`;
  const json = "-H 'Content-Type: application/json'";
  const mailbox = `${api}/mailboxes/${facts.mailbox_id}`;
  return `
The gateway is ready.

  REST        ${api}          OpenAPI ${api}/openapi.json
  MCP         ${facts.mcp_url}
  Console     ${facts.base_url}/console
              sign in as ${facts.owner_email} with ${facts.owner_password}
  Mailbox     ${mail.imap.user} (${facts.mailbox_id})
  REST token  ${facts.rest_token}
  MCP JWT     ${facts.mcp_token}

Three calls to copy:

  curl -sw '\\n' ${bearer} ${api}/identity

  curl -sw '\\n' ${bearer} ${json} ${mailbox}/email.query \\
    -d '{"select":{"folder":"inbox","filter":{"seen":false},"limit":5}}'

  curl -sw '\\n' ${bearer} '${api}/audit?limit=5'`;
}

const decideThere = (facts: DemoFacts, approvalId: string): string => `
The agent's mail waits for a person. Sign in as ${facts.owner_email} with ${facts.owner_password}, and decide at

  ${approvalLink(facts, approvalId)}`;

const CLOSING = 'All of this is in demo.json in the data folder. Ctrl-C stops everything; the data stays.';

/** The id of the approval that waits at the end. A walk that fails prints why, and the demo keeps running. */
async function walkOnce(facts: DemoFacts): Promise<string | null> {
  try {
    await walkDemo(facts, say);
    return await askAsAgent(facts, say);
  } catch (error) {
    say(sentenceOf(error));
    return null;
  }
}

try {
  await main();
} catch (error) {
  process.stderr.write(`${sentenceOf(error)}\n`);
  process.exitCode = 1;
}

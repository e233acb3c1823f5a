/**
 * A mail server that tells of new mail at once, in its own process.
 * Arguments: a folder for its mail, user, password. Prints its port.
 */
import { startDemoImapServer } from '../../infra/demo/demo-imap-server.ts';
import { createJsonLog } from '../../infra/observability/json-log.ts';

const [folder = '', user = '', password = ''] = process.argv.slice(2);
const server = await startDemoImapServer({ folder, port: 0, user, password, log: createJsonLog('error') });
process.stdout.write(`${String(server.port)}\n`);
process.once('SIGTERM', () => {
  process.exit();
});

/** The calls of docs/first-mailbox.md, run by a shell against a gateway with Dovecot. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { PASSWORD, requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { appendMessages, plainMessage, withClient } from '../support/servers/mail-append.ts';
import { MailRelay } from '../support/servers/mail-relay.ts';
import { startTestGateway, type TestGateway } from '../support/worlds/gateway.ts';
import { verifies } from '../support/suite/verifies.ts';

const run = promisify(execFile);

describe('docs/first-mailbox.md', function () {
  this.timeout(120_000);
  let dovecot: TestDovecot;
  let relay: MailRelay;
  let gateway: TestGateway;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    relay = await MailRelay.start(dovecot);
    await appendMessages(dovecot.imap(), 'anna', [{ raw: plainMessage({ subject: 'Archive me' }) }]);
    gateway = await startTestGateway();
  });
  after(async () => {
    await gateway.stop();
    await relay.stop();
    await dovecot.dispose();
  });

  it(`leads to the first archived mail in five calls ${verifies('contract:17:route-mailboxes', 'contract:17:route-agents')}`, async () => {
    const guide = await readFile('docs/first-mailbox.md', 'utf8');
    const script = [...guide.matchAll(/^ *```sh\n(.*?)^ *```/gms)].map(([, code = '']) => code).join('');
    expect(script.match(/\bcurl\b/g), 'calls').to.have.length(5);
    const { host, port } = dovecot.imap();
    const here = [
      ['API=http://127.0.0.1:3000/api/v1', `API=${gateway.baseUrl}/api/v1`],
      ['T=mgw_…', `T=${gateway.tokens.restToken}`],
      ['"host": "imap.example.com", "port": 993, "security": "tls"', `"host": "${host}", "port": ${String(port)}, "security": "none"`],
      ['"host": "smtp.example.com", "port": 465, "security": "tls"', `"host": "127.0.0.1", "port": ${String(relay.port)}, "security": "none"`],
      ['"username": "anna@example.com", "password": "the password of the mailbox"', `"username": "anna", "password": "${PASSWORD}"`],
    ] as const; // prettier-ignore
    for (const [text] of here) expect(script).to.contain(text);
    const calls = here.reduce((text, [said, meant]) => text.replace(said, meant), script);
    const PATH = [dirname(process.execPath), process.env['PATH']].join(':');
    const folder = await mkdtemp(join(tmpdir(), 'gateway-first-mailbox-'));
    const { stdout } = await run('bash', ['-euc', calls], { env: { PATH }, cwd: folder });
    const [grant, operation] = stdout.trim().split('\n') as [string, string];
    expect(JSON.parse(grant).principal.kind).to.equal('agent');
    expect(JSON.parse(operation), operation).to.include({ status: 'completed' });
    const archived = await withClient(dovecot.imap(), 'anna', (client) =>
      client.status('Archive', { messages: true }),
    );
    expect(archived).to.include({ messages: 1 });
    await rm(folder, { recursive: true });
  });
});

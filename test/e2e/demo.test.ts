import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { askAsAgent } from '../../infra/demo/demo-approval.ts';
import { readDemoFacts } from '../../infra/demo/demo-facts.ts';
import { httpSink } from '../support/servers/webhook-sinks.ts';
import { eventually } from '../support/worlds/gateway.ts';
import { GatewayProcess } from '../support/worlds/gateway-process.ts';

const run = promisify(execFile);

async function call<T>(base: string, path: string, body: object | null, bearer?: string): Promise<T> {
  const response = await fetch(`${base}/api/v1${path}`, {
    method: body === null ? 'GET' : 'POST',
    headers: {
      ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
      ...(body !== null && { 'content-type': 'application/json' }),
    },
    ...(body !== null && { body: JSON.stringify(body) }),
  });
  expect(response.ok, path).to.equal(true);
  return (await response.json()) as T;
}

describe('the demo', function () {
  this.timeout(180_000);
  let dataDir: string;
  let demo: GatewayProcess;

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'gateway-demo-'));
    // Run by root, Postgres works as another account, who must be able to enter.
    await chmod(dataDir, 0o755);
    demo = GatewayProcess.spawn({ env: { DATA_DIR: dataDir, PORT: '0' }, entry: 'infra/demo/demo.ts' });
  });

  after(async () => {
    await demo.stop();
    await rm(dataDir, { recursive: true, force: true });
  });

  const printed = async (text: string): Promise<void> => {
    await eventually(() => {
      if (!demo.output.includes(text)) throw new Error(`it said:\n${demo.output}${demo.errors}`);
      return Promise.resolve();
    }, 60_000);
  };

  it('walks from the list to a reply that arrives back in the inbox', async () => {
    await printed('Ctrl-C stops everything');
    expect(demo.output).to.match(/email\.await +matched: it is back in the inbox/);
  });

  it('ends with a mail of an agent that a person approves', async () => {
    await printed('/console#/approvals/');
    const [, email, password] = /Sign in as (\S+) with (\S+), and decide/.exec(demo.output) ?? [];
    const [, base = '', approvalId = ''] =
      /(http\S+)\/console#\/approvals\/(chk_\w+)/.exec(demo.output) ?? [];
    const signedIn = await call<{ session_token: string }>(base, '/auth/login', { email, password });
    const person = signedIn.session_token;
    const path = `/approvals/${approvalId}`;
    const asked = await call<{ status: string; content_hash: string }>(base, path, null, person);
    expect(asked.status).to.equal('awaiting_approval');
    const decision = { decision: 'approve', content_hash: asked.content_hash };
    const decided = await call<{ status: string }>(base, `${path}/decision`, decision, person);
    expect(decided.status).to.equal('committed');
  });

  it('prints calls that repeat the walk by hand', async () => {
    const [, script = ''] = demo.output.split('The walk by hand:');
    const lines = script.split('\n').filter((line) => /^ {2}(?!http)/.test(line));
    expect(lines).to.have.length.above(8);
    const { stdout } = await run('bash', ['-euc', `cd "${dataDir}"\n${lines.join('\n')}`]);
    const facts = JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8')) as { mailbox_id: string };
    expect(stdout).to.include(facts.mailbox_id);
    expect(stdout).to.include('"status":"completed"').and.to.include('"status":"matched"');
  });

  it('sends webhooks to a receiver on loopback, as the guide to webhooks has it', async () => {
    const guide = await readFile('docs/webhooks.md', 'utf8');
    const sink = await httpSink(() => undefined);
    const port = String(sink.port);
    await sink[Symbol.asyncDispose]();
    const blocks = (language: string): readonly string[] =>
      [...guide.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, code = '']) =>
        code.replaceAll('8787', port),
      );
    const [verify = '', receiver = ''] = blocks('js');
    await writeFile(join(dataDir, 'verify.mjs'), verify);
    await writeFile(join(dataDir, 'receiver.mjs'), receiver);
    const [facts = ''] = /^demo\(\) [\s\S]*?(?=\n\n)/m.exec(await readFile('README.md', 'utf8')) ?? [];
    const calls = blocks('sh').find((code) => code.includes('node receiver.mjs')) ?? '';
    const until = `for n in $(seq 200); do
      curl -s -H "Authorization: Bearer $T" "$API/deliveries?event_type=message.received&status=succeeded" | grep -q obx_ && break
      sleep 0.1
    done
    kill $!`;
    const PATH = [dirname(process.execPath), process.env['PATH']].join(':');
    const { stdout } = await run('bash', ['-euc', `${facts}\n${calls}\n${until}`], {
      cwd: dataDir,
      env: { PATH, DATA_DIR: dataDir },
    });
    expect(stdout).to.match(/^true \{"type":"message\.received".*"subject":"Hello"/m);
  });

  it('prints at its next start where the waiting mail is decided', async () => {
    const facts = readDemoFacts(dataDir);
    if (facts === null) throw new Error('the demo left no facts');
    const approvalId = await askAsAgent(facts, () => undefined);
    await demo.stop();
    demo = GatewayProcess.spawn({ env: { DATA_DIR: dataDir, PORT: '0' }, entry: 'infra/demo/demo.ts' });
    await printed(`/console#/approvals/${approvalId}`);
  });
});

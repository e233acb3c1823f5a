import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { expect } from 'chai';
import { freePort } from '../../infra/platform/reserved-port.ts';
import { PASSWORD, requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { type Answer, eventually } from '../support/worlds/gateway.ts';
import { GatewayProcess } from '../support/worlds/gateway-process.ts';
import { appendMessages, plainMessage } from '../support/servers/mail-append.ts';
import { callOf, helloOf } from '../support/worlds/mcp/raw-mcp.ts';
import { testDatabase, type TestDatabase } from '../support/servers/postgres.ts';
import { ReplicaSet } from '../support/worlds/replica-set.ts';
import { verifies } from '../support/suite/verifies.ts';

const REVISION = '2025-06-18';
const pairs = [
  [0, 1],
  [1, 0],
] as const;

/** What holds wherever Postgres and event store are. */
function answersAsOne(set: () => ReplicaSet, mailbox: () => string): void {
  const named = async (replica: number, name: string): Promise<number> => {
    const { body } = await set().rest(replica, ['GET', '/agents?limit=100']);
    return (body.items as { name: string }[]).filter((agent) => agent.name === name).length;
  };

  /** An answer that waited for the position in vain says so, and is asked for again. */
  const readAt = (position: string | null, replica: number, path: string): Promise<Answer> =>
    eventually(async () => {
      const headers = { 'if-position': position ?? '' };
      const answer = await set().rest(replica, ['GET', path], { headers });
      if (answer.headers.has('stale')) throw new Error('the read models lack the write');
      return answer;
    });

  it('reads a write of the other replica at the position it answered', async () => {
    for (const [here, there] of pairs) {
      const made = await set().rest(here, ['POST', '/agents', { name: 'Written' }]);
      expect(made.status).to.equal(201);
      const path = `/audit?resource=${String(made.body.id)}`;
      const read = await readAt(made.headers.get('position'), there, path);
      expect(read.body.items.map(({ type }: { type: string }) => type)).to.deep.equal(['AgentCreated']);
    }
  });

  it('continues an MCP session of the other replica and ends it for both', async () => {
    const hello = await set().mcp(0, { body: helloOf(REVISION) });
    const headers = {
      'mcp-session-id': hello.headers.get('mcp-session-id') ?? '',
      'mcp-protocol-version': REVISION,
    };
    const call = await set().mcp(1, { body: callOf('get_identity'), headers });
    expect(call.status, call.text).to.equal(200);
    expect(call.text).to.contain(set().tokens.agent_id);
    expect((await set().mcp(1, { method: 'DELETE', headers })).status).to.equal(204);
    const after = await set().mcp(0, { body: { jsonrpc: '2.0', id: 2, method: 'tools/list' }, headers });
    expect(after.status).to.equal(404);
  });

  it('answers a repeat as the other replica answered the first request', async () => {
    for (const [here, there] of pairs) {
      const key = `repeat-${String(here)}`;
      const request = ['POST', '/agents', { name: key }] as const;
      const first = await set().rest(here, request, { key });
      const again = await set().rest(there, request, { key });
      expect(again.headers.get('idempotency-replayed')).to.equal('true');
      expect([again.status, again.body]).to.deep.equal([first.status, first.body]);
      expect(await named(here, key)).to.equal(1);
    }
  });

  it('runs one of two requests with one key when both replicas receive them at once', async () => {
    for (let round = 0; round < 5; round += 1) {
      const key = `race-${String(round)}`;
      const answers = await Promise.all(
        [0, 1].map((replica) => set().rest(replica, ['POST', '/agents', { name: key }], { key })),
      );
      for (const { status, body } of answers) {
        if (status !== 201) expect(body.error).to.include({ code: 'idempotency_in_progress' });
      }
      expect(answers.map(({ status }) => status)).to.include(201);
      expect(await named(round % 2, key)).to.equal(1);
    }
  });

  it(`reports the operation of the other replica ${verifies('contract:14:no-second-effect')}`, async () => {
    const { body } = await set().rest(0, ['POST', `/mailboxes/${mailbox()}/email.query`, NEWSLETTERS]);
    const ids = (body.items as { id: string }[]).map(({ id }) => id);
    for (const [here, there] of pairs) {
      const key = `archive-${String(here)}`;
      const operation = {
        type: 'message_actions',
        select: { message_ids: [ids[here]] },
        actions: [{ type: 'archive' }],
      };
      const request = ['POST', `/mailboxes/${mailbox()}/email.act`, { operation }] as const;
      const done = await set().rest(here, request, { key });
      expect(done.body.summary).to.deep.equal({ done: 1, failed: 0, unknown: 0 });
      const told = await set().rest(there, request, { key });
      expect(told.body).to.deep.equal({ ...done.body, original_status: 'completed' });
      const path = `/audit?resource=${String(done.body.operation_id)}&order=asc`;
      const trail = await readAt(done.headers.get('position'), there, path);
      expect(trail.body.items.map(({ type }: { type: string }) => type)).to.deep.equal([
        'OperationSubmitted',
        'OperationDecided',
        'ActionsIntended',
        'ActionOutcomesRecorded',
        'OperationCompleted',
      ]);
    }
  });
}

const NEWSLETTERS = { select: { folder: 'inbox', filter: { subject_contains: 'News' } } };

async function withNews(set: ReplicaSet, dovecot: TestDovecot): Promise<string> {
  await appendMessages(
    dovecot.imap(),
    'anna',
    ['News 1', 'News 2'].map((subject, n) => ({
      raw: plainMessage({ subject, id: `<n${String(n)}@example.org>` }),
    })),
  );
  return await set.addMailbox(dovecot.imap());
}

describe('two replicas on the embedded Postgres and event node', function () {
  this.timeout(120_000);
  let dovecot: TestDovecot;
  let set: ReplicaSet;
  let mailboxId: string;
  let second: GatewayProcess;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    set = await ReplicaSet.start({}, () => [{}, {}]);
    // It gives the first owner eight seconds to end, so it starts now and is judged last.
    second = GatewayProcess.spawn({ env: set.settings({ ROLES: '' }) });
    mailboxId = await withNews(set, dovecot);
  });

  after(async () => {
    await set.remove();
    await dovecot.dispose();
  });

  answersAsOne(
    () => set,
    () => mailboxId,
  );

  it('open no HTTP port and need no key in the process with the stores', () => {
    expect(set.stores.address).to.match(/^esdb:\/\/gateway:[\w-]{43}@localhost:\d+\?tls=true&tlsCAFile=/);
    expect(set.stores.output).not.to.contain('http://');
  });

  it('refuse a replica without the key file instead of creating another key', async () => {
    const stranger = GatewayProcess.spawn({ env: set.settings({ KEY_FILE: `${set.dataDir}/other.key` }) });
    expect(await stranger.ended()).to.equal(1);
    expect(stranger.errors).to.match(/^The key file \S+other\.key is missing: .*KEY_FILE.*\n$/);
  });

  it('refuse a second owner of the folder', async () => {
    expect(await second.ended()).to.equal(1);
    expect(second.errors).to.match(/^Another process owns \S+ \(pid \d+, .*\): stop it, .*ROLES.*\n$/);
    expect((await set.rest(0, ['GET', '/identity'])).status).to.equal(200);
  });
});

describe('replicas with separate roles on an external Postgres', function () {
  this.timeout(120_000);
  let dovecot: TestDovecot;
  let database: TestDatabase;
  let set: ReplicaSet;
  let mailboxId: string;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    database = await testDatabase();
    set = await ReplicaSet.start({ DATABASE_URL: database.url }, ({ eventstore_url }) => {
      const stores = { DATABASE_URL: database.url, EVENTSTORE_URL: eventstore_url };
      return [
        { ...stores, ROLES: 'api' },
        { ...stores, ROLES: 'api' },
        { ...stores, ROLES: 'projector,mail' },
      ];
    });
    mailboxId = await withNews(set, dovecot);
  });

  after(async () => {
    await set.remove();
    await database.drop();
    await dovecot.dispose();
  });

  answersAsOne(
    () => set,
    () => mailboxId,
  );

  it('answer only health checks when they have no adapters', async () => {
    const worker = set.replicas[2];
    expect(worker?.output).to.contain('(health only)');
    const health = await fetch(`${worker?.address ?? ''}/health/ready`);
    expect(health.status).to.equal(200);
    const { status, body } = await set.rest(2, ['GET', '/identity']);
    expect(status).to.equal(404);
    expect(body.error).to.include({ code: 'not_found' });
  });

  it('leave the read models to the process with that role', async () => {
    const leads = await Promise.all(
      set.replicas.map(async ({ address }) => {
        const health = (await (await fetch(`${address}/health/ready`)).json()) as {
          checks: { projector: { leader: boolean } };
        };
        return health.checks.projector.leader;
      }),
    );
    expect(leads).to.deep.equal([false, false, true]);
  });

  it('end connections on every replica when a mailbox is paused, gets new credentials or is removed', async () => {
    const path = `/mailboxes/${mailboxId}`;
    const connected = async (): Promise<void> => {
      await eventually(async () => {
        expect((await set.rest(0, ['GET', path])).body.state).to.equal('connected');
      });
      // A body is read from the mail server.
      const read = await set.rest(1, ['GET', `${path}/messages?folder=archive&limit=1&include_body=text`]);
      expect(read.body.items[0].body.content).to.be.a('string');
      expect(await dovecot.connectionsOf('anna'), "the worker's and that of the replica").to.be.above(1);
    };
    const left = (count: number): Promise<void> =>
      eventually(async () => {
        expect(await dovecot.connectionsOf('anna')).to.equal(count);
      });
    await connected();
    await set.rest(0, ['PATCH', path, { paused: true }]);
    await left(0);
    await set.rest(0, ['PATCH', path, { paused: false }]);
    await connected();
    await set.rest(0, ['PUT', `${path}/credentials`, { password: PASSWORD }]);
    await left(1);
    await connected();
    await set.rest(0, ['DELETE', path]);
    await left(0);
  });
});

describe('a process without stores', function () {
  this.timeout(60_000);

  it('names the missing setting in one sentence and creates nothing', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gateway-lone-'));
    try {
      const lone = GatewayProcess.spawn({ env: { ROLES: 'api', DATA_DIR: folder } });
      expect(await lone.ended()).to.equal(1);
      expect(lone.errors).to.match(
        /^ROLES leaves embedded out, so DATABASE_URL and EVENTSTORE_URL must .*\n$/,
      );
      expect(await readdir(folder)).to.deep.equal([]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe('npm run store', function () {
  this.timeout(90_000);

  it('serves any client as an event store on the given port until Ctrl-C', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gateway-store-'));
    const port = await freePort();
    const env = { DATA_DIR: folder, STORE_PORT: String(port), ROLES: 'api' };
    const entry = 'infra/process/store.ts';
    const store = await GatewayProcess.start({ entry, env });
    try {
      expect(new URL(store.address).port).to.equal(String(port));
      const client = EventStoreDBClient.connectionString(store.address);
      const event = jsonEvent({ type: 'Greeted', data: { greeting: 'hello' } });
      await client.appendToStream('greeting-1', event);
      const read = client.readStream<typeof event>('greeting-1');
      for await (const { event: stored } of read) expect(stored?.data.greeting).to.equal('hello');
      await client.dispose();
      expect(await readdir(folder)).not.to.include('master.key');
      const taken = GatewayProcess.spawn({ entry, env: { ...env, DATA_DIR: join(folder, 'other') } });
      expect(await taken.ended()).to.equal(1);
      expect(taken.errors.trim().split('\n').at(-1)).to.match(
        /^Port \d+, where the embedded event node should listen, is taken by another program: .*STORE_PORT\.$/,
      );
    } finally {
      await store.stop('SIGINT');
      expect(await readdir(folder)).not.to.include('run.json');
      await rm(folder, { recursive: true });
    }
    expect(await store.ended()).to.equal(0);
  });
});

import { cp, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { WrongExpectedRevision } from '../../commands/ports/event-store.ts';
import { readManifest, type Manifest } from '../../infra/backup/backup-manifest.ts';
import { loadConfig } from '../../infra/process/config.ts';
import { type Gateway, startGateway } from '../../infra/process/gateway.ts';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import {
  type Answer,
  callRest,
  eventually,
  type Json,
  startWithMailbox,
  type TestGateway,
} from '../support/worlds/gateway.ts';
import { exportedFile } from '../support/worlds/exported-file.ts';
import { appendMessages, plainMessage } from '../support/servers/mail-append.ts';
import { httpSink, type Received, type Sink } from '../support/servers/webhook-sinks.ts';
import { callOf, openSession, rawMcp } from '../support/worlds/mcp/raw-mcp.ts';
import { rejection } from '../support/suite/rejection.ts';
import { runCommand } from '../support/servers/run-command.ts';
import { type SignedInPerson, signInOwner, signInWith } from '../support/worlds/sign-in.ts';
import { silentLog } from '../support/fakes/silent-log.ts';
import { verifies } from '../support/suite/verifies.ts';

/** No database of the test server: the gateway then starts the embedded one in its own folder. */
const EMBEDDED = { url: '', drop: () => Promise.resolve() };
const REVISION = '2025-11-25';
const SINK_EGRESS = '127.0.0.0/8:*';
const inAnHour = (): string => new Date(Date.now() + 3_600_000).toISOString();

interface Told {
  readonly audit: readonly Json[];
  readonly operations: readonly Json[];
}

/** Everything the trail tells, oldest first, and where each operation stands. */
async function tell(gateway: Gateway, token: string): Promise<Told> {
  const { events, readModels, sql } = gateway.ports;
  expect(await readModels.waitFor(await events.headPosition(), 10_000)).to.equal(true);
  const audit: Json[] = [];
  for (let cursor = ''; ;) {
    const path = `/audit?order=asc&limit=200${cursor}`;
    const { status, body } = await callRest(gateway.baseUrl, ['GET', path], { token });
    expect(status).to.equal(200);
    audit.push(...(body.items as Json[]));
    if (body.page.next_cursor === null) break;
    cursor = `&cursor=${encodeURIComponent(body.page.next_cursor as string)}`;
  }
  return { audit, operations: await sql.query('select * from read.operation order by id') };
}

describe('backup and restore of a whole gateway', function () {
  this.timeout(120_000);
  const opened = new AsyncDisposableStack();
  let folder: string;
  let dovecot: TestDovecot;
  let old: TestGateway;
  let mailboxId: string;
  let manifest: Manifest;
  /** Ids of the tokens whose making was acknowledged before the backup began. */
  let acknowledgedBefore: readonly string[];
  let duringCount: number;
  let told: Told;
  let revoked: { id: string; token: string };
  let kept: Record<string, string>;
  /** A checkpoint of the audit trail from before the backup, as somebody outside keeps it. */
  let outside: string;
  let owner: SignedInPerson;
  let lost: { token: string; session: Record<string, string> };
  let act: { key: string; input: Json; answer: Json };
  let restored: Gateway;
  let sink: Sink;
  const received: Received[] = [];
  let endpoint: { id: string; secret: string };

  const dataDir = (): string => join(folder, 'old');
  const target = (): string => join(folder, 'saved', 'today');
  const newToken = async (extra: object = {}): Promise<{ id: string; token: string }> => {
    const wanted = { name: 'made', surface: 'rest', scopes: ['messages:read'], expires_at: inAnHour() };
    const { status, body } = await old.rest('POST', '/tokens', { ...wanted, ...extra });
    expect(status).to.equal(201);
    return body as { id: string; token: string };
  };
  const now = (method: string, path: string, body?: unknown, options: object = {}): Promise<Answer> =>
    callRest(restored.baseUrl, [method, path, body], { token: old.tokens.restToken, ...options });

  /** What the home should still hold afterwards, and what it should still refuse. */
  async function live(): Promise<void> {
    const { body } = await old.rest('GET', `/mailboxes/${mailboxId}/messages`);
    const input = {
      operation: {
        type: 'message_actions',
        select: { message_ids: [body.items[0].id] },
        actions: [{ type: 'archive' }],
      },
    };
    const answer = await old.rest('POST', `/mailboxes/${mailboxId}/email.act`, input, { key: 'kept-key' });
    expect(answer.body.summary.done).to.equal(1);
    act = { key: 'kept-key', input, answer: answer.body };
    revoked = await newToken();
    expect((await old.rest('DELETE', `/tokens/${revoked.id}`)).status).to.equal(204);
    const mcp = `${old.baseUrl}/mcp`;
    kept = await openSession(mcp, REVISION, old.tokens.mcpToken);
    const leaving = await newToken({
      surface: 'mcp',
      principal_id: old.tokens.agentId,
      scopes: ['messages:read'],
    });
    lost = { token: leaving.token, session: await openSession(mcp, REVISION, leaving.token) };
    expect((await old.rest('DELETE', `/tokens/${leaving.id}`)).status).to.equal(204);
    await tellOutside();
    owner = await signInOwner(old);
    const sealed = await owner.rest('POST', '/audit/checkpoints', {});
    expect(sealed.status, JSON.stringify(sealed.body)).to.equal(201);
    outside = sealed.body.note as string;
  }

  /** One webhook is delivered, and its outcome is in the log. */
  async function tellOutside(): Promise<void> {
    const wanted = { url: sink.url, event_types: ['webhook_endpoint.secret_rotated'] };
    const { status, body } = await old.rest('POST', '/webhook-endpoints', wanted);
    expect(status, JSON.stringify(body)).to.equal(201);
    const { id } = body as { id: string };
    const rotated = await old.rest('POST', `/webhook-endpoints/${id}/rotate-secret`);
    endpoint = { id, secret: rotated.body.secret as string };
    await eventually(async () => {
      const { body: ended } = await old.rest('GET', `/deliveries?endpoint_id=${id}&status=succeeded`);
      expect(ended.items).to.have.length(1);
    });
  }

  /** Saves while four callers go on making tokens. */
  async function backUpUnderLoad(): Promise<void> {
    const acknowledged: string[] = [];
    const stopping = new AbortController();
    const writers = Array.from({ length: 4 }, async () => {
      while (!stopping.signal.aborted) acknowledged.push((await newToken()).id);
    });
    try {
      await eventually(() => {
        expect(acknowledged.length).to.be.above(20);
        return Promise.resolve();
      });
      acknowledgedBefore = [...acknowledged];
      const { code, stdout, stderr } = await runCommand('infra/admin/backup.ts', [target()], {
        DATA_DIR: dataDir(),
      });
      duringCount = acknowledged.length - acknowledgedBefore.length;
      expect(stderr).to.equal('');
      expect(code).to.equal(0);
      expect(stdout).to.include(`keep a copy of ${join(dataDir(), 'master.key')} in another place`);
      expect(stdout).to.match(/^log\.event: [\d,]+ rows, \d+\.\d MB$/m);
    } finally {
      stopping.abort();
      await Promise.all(writers);
    }
    manifest = await readManifest(target());
  }

  before(async function () {
    folder = await mkdtemp(join(tmpdir(), 'gateway-backup-'));
    opened.defer(() => rm(folder, { recursive: true, force: true }));
    dovecot = await requireTestDovecot(this);
    opened.defer(() => dovecot.dispose());
    const messages = ['One', 'Two', 'Three'].map((subject) => ({ raw: plainMessage({ subject }) }));
    await appendMessages(dovecot.imap(), 'anna', messages);
    sink = opened.use(
      await httpSink((request, response) => {
        received.push(request);
        response.writeHead(204).end();
      }),
    );
    const env = { DATA_DIR: dataDir(), EGRESS_ALLOW_WEBHOOKS: SINK_EGRESS };
    const started = await startWithMailbox(dovecot, { database: EMBEDDED, env });
    ({ gateway: old, mailboxId } = started);
    await live();
    await backUpUnderLoad();
    told = await tell(old.gateway, old.tokens.restToken);
    await old.stop();

    const home = join(folder, 'new');
    await mkdir(home);
    await cp(join(dataDir(), 'master.key'), join(home, 'master.key'));
    const { code, stderr, stdout } = await runCommand('infra/admin/restore.ts', [target()], {
      DATA_DIR: home,
    });
    expect(stderr).to.equal('');
    expect(code).to.equal(0);
    expect(stdout).to.include('Next: npm start.');
    // On the same port, because the MCP tokens name the address they are for.
    const config = loadConfig({
      DATA_DIR: home,
      PORT: new URL(old.baseUrl).port,
      EGRESS_ALLOW_MAIL: '127.0.0.0/8:*',
      EGRESS_ALLOW_WEBHOOKS: SINK_EGRESS,
      LIMIT_WRITES_PER_MINUTE: '100000',
    });
    restored = opened.use(await startGateway({ config, log: silentLog, strictOutput: true }));
  });

  after(() => opened.disposeAsync());

  it('contains every event acknowledged before its start and ends at one position of the log', async () => {
    expect(duringCount, 'written while the backup ran').to.be.above(0);
    const { events } = restored.ports;
    for (const id of acknowledgedBefore) {
      expect((await events.readStream(`token-${id}`)).map(({ type }) => type)).to.deep.equal(['TokenIssued']);
    }
    expect(told.audit.length, 'events after the snapshot').to.be.above(
      told.audit.filter(({ position }) => BigInt(position as string) < BigInt(manifest.log.end)).length,
    );
  });

  it('is readable by its owner only and contains no key', async () => {
    expect((await stat(target())).mode & 0o777).to.equal(0o700);
    const names = await readdir(target());
    expect(names)
      .to.include('manifest.json')
      .and.to.have.length(manifest.files.length + 1);
    for (const name of names) expect((await stat(join(target(), name))).mode & 0o777, name).to.equal(0o600);
    expect(await readdir(join(folder, 'saved')), 'nothing unfinished is left').to.deep.equal(['today']);
  });

  it('restores the audit trail and the operations byte for byte', async () => {
    const toldNow = await tell(restored, old.tokens.restToken);
    const within = (items: readonly Json[]): string =>
      JSON.stringify(
        items.filter(({ position }) => BigInt(position as string) < BigInt(manifest.log.end)),
        null,
        1,
      );
    expect(within(toldNow.audit)).to.equal(within(told.audit));
    expect(within(told.audit)).to.include('OperationCompleted').and.to.include('TokenRevoked');
    expect(JSON.stringify(toldNow.operations)).to.equal(JSON.stringify(told.operations));
    expect(told.operations).to.have.length(1);
  });

  it(`begins a new epoch of the audit, of which an export is proven with what is kept outside ${verifies('contract:12:export')}`, async () => {
    const back = await signInWith(restored.baseUrl, owner.email);
    const { verdict } = await exportedFile(restored, back, '', [outside]);
    expect(verdict).to.include({ exit: 0, code: null });
    expect((await now('GET', '/audit/checkpoints/latest')).body.epoch).to.be.above(1);
  });

  it('accepts the old tokens, opens personal data and connects the mailbox with stored credentials', async () => {
    const identity = await now('GET', '/identity');
    expect(identity.status).to.equal(200);
    expect(identity.body.principal.id).to.equal(old.tokens.userId);
    await eventually(async () => {
      const { body } = await now('GET', `/mailboxes/${mailboxId}`);
      expect(body).to.include({ state: 'connected', email: 'anna@example.com' });
    });
    const { body } = await now('GET', `/mailboxes/${mailboxId}/messages`);
    expect(body.items.map(({ subject }: Json) => subject as string)).to.have.members(['One', 'Two']);
  });

  it('answers a repeated request from the restored log without acting again', async () => {
    const path = `/mailboxes/${mailboxId}/email.act`;
    const again = await now('POST', path, act.input, { key: act.key });
    expect(again.body.operation_id).to.equal(act.answer.operation_id);
    expect(again.body.results).to.deep.equal(act.answer.results);
  });

  it('sends webhooks under the restored secret from the next number on, and none again', async () => {
    const { status } = await now('POST', `/webhook-endpoints/${endpoint.id}/rotate-secret`);
    expect(status).to.equal(200);
    await eventually(() => {
      expect(received.length).to.be.above(1);
      return Promise.resolve();
    });
    const payloads = received.map(({ body }) => JSON.parse(body) as { sequence: number });
    expect(payloads.map(({ sequence }) => sequence)).to.deep.equal([1, 2]);
    const [, last] = received;
    const headers = last?.headers as Record<string, string>;
    expect(new Webhook(endpoint.secret).verify(last?.body ?? '', headers)).to.deep.equal(payloads[1]);
  });

  it('continues MCP sessions and refuses revoked tokens with or without a session', async () => {
    const mcp = `${restored.baseUrl}/mcp`;
    const body = callOf('get_identity');
    const alive = await rawMcp(mcp, { bearer: old.tokens.mcpToken, headers: kept, body });
    expect(alive.status).to.equal(200);
    expect(alive.text).to.include(old.tokens.agentId);
    const dead = await rawMcp(mcp, { bearer: lost.token, headers: lost.session, body });
    expect(dead.status).to.equal(401);
    const borrowed = await rawMcp(mcp, { bearer: old.tokens.mcpToken, headers: lost.session, body });
    expect(borrowed.status, 'the session of the revoked token under another').to.equal(404);
    const refused = await now('GET', '/identity', undefined, { token: revoked.token });
    expect(refused.body.error.code).to.equal('token_revoked');
  });

  it('appends after the end of the restored log under a new epoch', async () => {
    const { events, sql } = restored.ports;
    const wanted = { name: 'after', surface: 'rest', scopes: ['messages:read'], expires_at: inAnHour() };
    const made = await now('POST', '/tokens', wanted);
    expect(made.status).to.equal(201);
    const [issued] = await events.readStream(`token-${made.body.id as string}`);
    expect((issued?.position ?? 0n) >= BigInt(manifest.log.end)).to.equal(true);
    const [node] = await sql.query<{ epoch: string }>('select epoch from log.node_epoch');
    expect(Number(node?.epoch)).to.equal(Number(manifest.log.epoch) + 2);

    const stream = `token-${acknowledgedBefore[0] ?? ''}`;
    const [first] = await events.readStream(stream);
    const { type = '', data = {}, metadata = {} } = first ?? {};
    const event = { id: restored.ports.ids.newUuid(), type, data, metadata };
    expect(await rejection(events.append(stream, 'no-stream', [event]))).to.be.instanceOf(
      WrongExpectedRevision,
    );
  });
});

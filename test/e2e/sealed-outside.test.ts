/** Checkpoints that others hold: a receiver of the webhook, and a folder that is set up. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { isSignedBy, readVkey } from '../../commands/audit/signed-note.ts';
import { loadConfig } from '../../infra/process/config.ts';
import { startGateway } from '../../infra/process/gateway.ts';
import { freePort } from '../../infra/platform/reserved-port.ts';
import { silentLog } from '../support/fakes/silent-log.ts';
import { testDatabase, type TestDatabase } from '../support/servers/postgres.ts';
import { httpSink, type Received, type Sink } from '../support/servers/webhook-sinks.ts';
import { verifies } from '../support/suite/verifies.ts';
import { eventually, type Json, startTestGateway, TestGateway } from '../support/worlds/gateway.ts';
import { type SignedInPerson, signInOwner } from '../support/worlds/sign-in.ts';

describe('a checkpoint of the audit trail', function () {
  this.timeout(120_000);
  let folder: string;
  let database: TestDatabase;
  let settings: Readonly<Record<string, string>>;
  let gateway: TestGateway;
  let owner: SignedInPerson;
  let sink: Sink;
  const received: Received[] = [];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-test-outside-'));
    database = await testDatabase();
    sink = await httpSink((request, response) => {
      received.push(request);
      response.writeHead(204).end();
    });
    settings = {
      DATA_DIR: join(folder, 'data'),
      DATABASE_URL: database.url,
      PORT: String(await freePort()),
      EGRESS_ALLOW_WEBHOOKS: '127.0.0.0/8:*',
      AUDIT_SEAL_SECONDS: '10',
    };
    gateway = await startTestGateway({ env: settings, database });
    owner = await signInOwner(gateway);
  });
  after(async () => {
    await gateway.stop();
    await sink[Symbol.asyncDispose]();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });

  const signed = async (): Promise<readonly Json[]> =>
    (await owner.rest('GET', '/audit/checkpoints')).body.items as Json[];
  const vkey = async (): Promise<{ name: string; publicKey: Uint8Array }> => {
    const { body } = await owner.rest('GET', '/audit/keys');
    return readVkey(body.items[0].vkey as string) ?? { name: '', publicKey: new Uint8Array(32) };
  };

  it(`reaches the endpoint that asked for it, and the delivery makes no other one ${verifies('contract:17:audit-checkpoints', 'contract:11:attempts')}`, async () => {
    const wanted = { url: sink.url, event_types: ['audit.checkpoint_sealed'] };
    const made = await owner.rest('POST', '/webhook-endpoints', wanted);
    expect(made.status, JSON.stringify(made.body)).to.equal(201);
    expect((await owner.rest('POST', '/audit/checkpoints', {})).status).to.equal(201);
    // One more while the delivery is written: the notice of the sign-in may end only now.
    await eventually(async () => {
      const { body } = await owner.rest('GET', '/audit?type=SystemMailAttempted');
      expect(body.items).to.have.length(1);
      const last = await owner.rest('POST', '/audit/checkpoints', {});
      expect(last.status).to.equal(200);
    });
    const checkpoints = await signed();
    const ended = await eventually(async () => {
      const { body } = await owner.rest('GET', '/deliveries?status=succeeded');
      expect(body.items).to.have.length(checkpoints.length);
      return body.items as Json[];
    });
    for (const { body, headers } of received)
      new Webhook(made.body.secret as string).verify(body, headers as Record<string, string>);
    const notes = received.map(({ body }) => JSON.parse(body).data.note as string);
    expect(notes.toSorted()).to.deep.equal(checkpoints.map(({ note }) => note as string).toSorted());
    expect(isSignedBy(notes[0] ?? '', await vkey())).to.equal(true);
    // The lines of the deliveries are there, are computed, and wait for an hour: nothing of them is due.
    const { size } = checkpoints[0];
    const { sql } = gateway.gateway.ports;
    await eventually(async () => {
      const { body } = await owner.rest('GET', '/audit?type=WebhookDeliveryEnded');
      expect(body.items).to.have.length(ended.length);
      const [row] = await sql.query<{ computed: boolean; later: boolean }>(
        `select a.seq <= t.size as computed, t.due_at > now() + interval '50 minutes' as later
           from vault.audit_tree t, (select max(seq) as seq from read.audit where trail = $1) a where t.trail = $1`,
        [gateway.tokens.orgId],
      );
      expect(row).to.deep.equal({ computed: true, later: true });
    });
    const again = await owner.rest('POST', '/audit/checkpoints', {});
    expect([again.status, again.body.size]).to.deep.equal([200, size]);
    expect(await signed()).to.have.length(checkpoints.length);
  });

  it(`is a file in the folder outside once the gateway knows one ${verifies('contract:17:audit-anchors')}`, async () => {
    const { tokens } = gateway;
    const outside = join(folder, 'outside');
    await gateway.stop();
    const config = loadConfig({ ...settings, AUDIT_ANCHOR_DIR: outside });
    gateway = new TestGateway(await startGateway({ config, log: silentLog }), tokens, () =>
      Promise.resolve(),
    );
    const [newest] = await signed();
    const stored = await eventually(async () => {
      const { body } = await owner.rest('GET', '/audit/checkpoints/latest');
      expect(body.anchors, JSON.stringify(body)).to.have.length(1);
      return body.anchors[0];
    });
    expect(stored).to.include({ kind: 'file', state: 'confirmed' });
    expect(await readFile(join(outside, stored.name as string), 'utf8')).to.equal(newest.note);
    await eventually(async () => {
      const { body } = await owner.rest('GET', '/audit?type=AuditCheckpointAnchored');
      expect(body.items.map(({ data }: Json) => data.name)).to.deep.equal([stored.name]);
    });
  });
});

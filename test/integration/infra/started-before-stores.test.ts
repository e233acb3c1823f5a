/** A gateway that is started before its database and event store answer. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { freePort } from '../../../infra/platform/reserved-port.ts';
import { loadConfig } from '../../../infra/process/config.ts';
import { openStores } from '../../../infra/process/start-stores.ts';
import { reachDatabase, whenReached } from '../../../infra/process/reach-stores.ts';
import { embeddedStore, type EmbeddedStore } from '../../contract/event-store/store-under-test.ts';
import { eventually } from '../../support/suite/eventually.ts';
import { GatewayProcess } from '../../support/worlds/gateway-process.ts';
import { testDatabase, type TestDatabase } from '../../support/servers/postgres.ts';
import { rejection } from '../../support/suite/rejection.ts';
import { silentLog } from '../../support/fakes/silent-log.ts';
import { verifies } from '../../support/suite/verifies.ts';

describe('a gateway started before its stores', function () {
  this.timeout(120_000);
  let folder: string;
  let database: TestDatabase;
  let store: EmbeddedStore;
  let port: number;
  let gateway: GatewayProcess | undefined;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-test-start-'));
    database = await testDatabase();
    store = await embeddedStore();
    await store.stopNode();
  });
  beforeEach(async () => {
    port = await freePort();
  });
  afterEach(() => gateway?.stop());
  after(async () => {
    await store.remove();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });

  const spawn = (env: Readonly<Record<string, string>>): GatewayProcess => {
    const settings = { DATA_DIR: folder, DATABASE_URL: database.url, EVENTSTORE_URL: store.url };
    gateway = GatewayProcess.spawn({ env: { ...settings, PORT: String(port), ...env } });
    return gateway;
  };
  const statusOf = async (path: string): Promise<number> => {
    const answer = await fetch(`http://127.0.0.1:${String(port)}${path}`);
    await answer.arrayBuffer();
    return answer.status;
  };
  const waits = (which: string): RegExp =>
    new RegExp(`"startup: waiting for a store","store":"${which}"`, 'g');

  it(`is live and not ready, logs it once, and serves when the event store is there ${verifies('contract:20:start-waits')}`, async () => {
    const started = spawn({});
    await eventually(() => waits('event store').test(started.errors), 30_000);
    expect(await statusOf('/health/live')).to.equal(200);
    expect(await statusOf('/health/ready')).to.equal(503);
    expect(await statusOf('/api/v1/identity')).to.equal(503);
    expect(await statusOf('/mcp')).to.equal(503);
    await store.startNode();
    await started.ready();
    expect(await statusOf('/api/v1/identity')).to.equal(401);
    expect(started.errors.match(waits('event store'))).to.have.length(1);
    expect(started.errors).not.to.include('event store: retrying');
    await started.stop();
    expect(await started.ended()).to.equal(0);
  });

  it(`ends without a failure when it is stopped while it waits ${verifies('contract:20:start-waits')}`, async () => {
    const url = new URL(database.url);
    url.port = String(await freePort());
    const started = spawn({ DATABASE_URL: url.href });
    await eventually(() => waits('database').test(started.errors), 30_000);
    expect(await statusOf('/health/live')).to.equal(200);
    await started.stop();
    expect(await started.ended()).to.equal(0);
    expect(started.output).to.include('Stopping (SIGTERM)');
  });

  it('begins no further step once it is asked to end', async () => {
    await using opened = new AsyncDisposableStack();
    const config = loadConfig({ DATA_DIR: folder, ROLES: 'embedded' });
    const steps: string[] = [];
    const progress = (step: string): void => {
      steps.push(step);
    };
    const ending = AbortSignal.abort(new Error('asked to end'));
    const started = openStores({ config, log: silentLog, progress, ending }, opened);
    expect((await rejection(started)).message).to.equal('asked to end');
    expect(steps).to.deep.equal([]);
  });

  it('ends at once when waiting cannot help', async () => {
    const options = { log: silentLog, ending: new AbortController().signal };
    const absent = new URL(database.url);
    absent.pathname = '/absent';
    const { message } = await rejection(whenReached('database', () => reachDatabase(absent.href), options));
    expect(message).to.match(/^The database refuses the gateway \(.*absent.*\): check DATABASE_URL\.$/);
  });
});

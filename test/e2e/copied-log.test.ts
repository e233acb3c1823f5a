/** The log is copied to another event store through the client, as nobody can copy its files: every position is another. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import pg from 'pg';
import type { StoredEvent } from '../../commands/values/event.ts';
import { type ConnectedEventStore, openEventStore } from '../../infra/event-store/event-store-client.ts';
import { startEventNode } from '../../infra/event-store/node/start-event-node.ts';
import { openDirectConnection } from '../../infra/postgres/direct-connection.ts';
import { loadConfig } from '../../infra/process/config.ts';
import { startGateway } from '../../infra/process/gateway.ts';
import { freePort } from '../../infra/platform/reserved-port.ts';
import { silentLog } from '../support/fakes/silent-log.ts';
import { wholeLog } from '../support/samples/whole-log.ts';
import { testDatabase, type TestDatabase } from '../support/servers/postgres.ts';
import { runCommand } from '../support/servers/run-command.ts';
import { verifies } from '../support/suite/verifies.ts';
import { exportedFile } from '../support/worlds/exported-file.ts';
import { callRest, eventually, startTestGateway } from '../support/worlds/gateway.ts';
import { type SignedInPerson, signInOwner } from '../support/worlds/sign-in.ts';

interface Store {
  readonly url: string;
  readonly events: ConnectedEventStore;
}

describe('a log that was copied to another event store', function () {
  this.timeout(120_000);
  const opened = new AsyncDisposableStack();
  let settings: Readonly<Record<string, string>>;
  let owner: SignedInPerson;
  /** A checkpoint that somebody kept before the copy. */
  let note: string;
  let original: readonly StoredEvent[];
  let copy: Store;

  const database = async (): Promise<TestDatabase> => {
    const made = await testDatabase();
    opened.defer(() => made.drop());
    return made;
  };
  const nodeOn = async ({ url }: TestDatabase, within: AsyncDisposableStack): Promise<Store> => {
    const pool = new pg.Pool({ connectionString: url, max: 4 });
    within.defer(() => pool.end());
    const node = await startEventNode({
      ...{ pool, host: '127.0.0.1', port: 0, access: null, batchAppend: true, log: silentLog },
      directConnection: () => openDirectConnection(url, 'event node under test'),
    });
    within.defer(() => node.stop());
    const events = openEventStore({ url: node.url, log: silentLog });
    within.defer(() => events.close());
    return { url: node.url, events };
  };

  before(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gateway-test-copied-'));
    opened.defer(() => rm(folder, { recursive: true, force: true }));
    const [first, second] = [await database(), await database()];
    const port = String(await freePort());
    settings = { DATA_DIR: join(folder, 'data'), DATABASE_URL: first.url, PORT: port };
    const old = await startTestGateway({ env: settings, database: first });
    owner = await signInOwner(old);
    for (const name of ['One', 'Two']) await owner.rest('POST', '/agents', { name });
    note = (await owner.rest('POST', '/audit/checkpoints', {})).body.note as string;
    await owner.rest('POST', '/agents', { name: 'Sealed later' });
    await old.stop();
    await using reading = new AsyncDisposableStack();
    const from = await nodeOn(first, reading);
    original = await wholeLog(from.events);
    // A log before it, so that nothing is where it was.
    copy = await nodeOn(second, opened);
    const filler = {
      id: crypto.randomUUID(),
      type: 'Filler',
      data: { text: 'x'.repeat(5_000) },
      metadata: {},
    };
    await copy.events.append('filler-1', 'no-stream', [filler]);
    for (const { streamName, revision, id, type, data, metadata } of original)
      await copy.events.append(streamName, revision === 0n ? 'no-stream' : revision - 1n, [
        { id, type, data, metadata },
      ]);
  });
  after(() => opened.disposeAsync());

  it(`is proven from the copy by the note that was known before, in the same epoch ${verifies('contract:12:export', 'contract:12:seal')}`, async () => {
    const env = { ...settings, EVENTSTORE_URL: copy.url };
    const rebuilt = await runCommand('infra/admin/rebuild.ts', ['all'], env);
    expect(rebuilt.stdout).to.match(/trails agree with their checkpoints/);
    const gateway = await startGateway({ config: loadConfig(env), log: silentLog, strictOutput: true });
    opened.defer(() => gateway[Symbol.asyncDispose]());
    const { text, verdict } = await eventually(() => exportedFile(gateway, owner, '', [note]));
    expect(verdict).to.include({ exit: 0, code: null });
    const [origin = ''] = note.split('\n');
    expect(JSON.parse(text.split('\n', 1)[0] ?? '')).to.include({ origin });
    const moved = await wholeLog(copy.events);
    const places = new Map(original.map(({ id, position }) => [id, position]));
    expect(
      moved.some(({ id, position }) => places.get(id) === position),
      'a place is the same',
    ).to.equal(false);
    const { body } = await callRest(gateway.baseUrl, ['GET', '/audit?type=AuditSealBroken'], {
      token: owner.bearer,
    });
    expect(body.items).to.deep.equal([]);
  });
});

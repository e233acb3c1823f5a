/**
 * The stores the contract is held against: the embedded node with and without BatchAppend, or any real server through
 * `EVENTSTORE_TEST_URL`, whose data is only added to.
 */
import { randomUUID } from 'node:crypto';
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import type { AppendToStreamOptions, JSONEventData } from '@eventstore/db-client';
import pg from 'pg';
import { openDirectConnection } from '../../../infra/postgres/direct-connection.ts';
import { startEventNode } from '../../../infra/event-store/node/start-event-node.ts';
import type { EventNode } from '../../../infra/event-store/node/start-event-node.ts';
import { testDatabase } from '../../support/servers/postgres.ts';
import { silentLog } from '../../support/fakes/silent-log.ts';

export interface StoreUnderTest {
  readonly url: string;
  readonly client: EventStoreDBClient;
  /** Appends the way the mode says. */
  readonly appendOptions: AppendToStreamOptions;
  readonly unary: boolean;
  /** Stops the node and starts it on the same port and log; null for a real server. */
  readonly restart: (() => Promise<void>) | null;
}

/** The embedded node, for tests that stop and start it. */
export interface EmbeddedStore {
  readonly url: string;
  stopNode(): Promise<void>;
  /** On the same port and database. */
  startNode(): Promise<void>;
  /** A direct look at the log's database. */
  readonly databaseUrl: string;
  /** Ends everything. */
  remove(): Promise<void>;
}

export interface EmbeddedUnderTest extends EmbeddedStore {
  readonly client: EventStoreDBClient;
}

/** The first store of a run starts a Postgres server too. */
const START_TIMEOUT_MS = 60_000;

const REAL_URL = process.env['EVENTSTORE_TEST_URL'];

/** Credentials of a call keep it out of the batch; an unencrypted channel leaves them out. */
function sameCredentials(url: string): AppendToStreamOptions {
  const { username, password } = new URL(url);
  const credentials = { username: decodeURIComponent(username), password: decodeURIComponent(password) };
  return { credentials };
}

export async function embeddedStore(options: { batchAppend?: boolean } = {}): Promise<EmbeddedStore> {
  const database = await testDatabase();
  const pool = new pg.Pool({ connectionString: database.url, max: 4 });
  pool.on('error', () => undefined); // cut on purpose by tests
  const start = (port: number): Promise<EventNode> =>
    startEventNode({
      pool,
      directConnection: () => openDirectConnection(database.url, 'event node under test'),
      host: '127.0.0.1',
      access: null,
      port,
      batchAppend: options.batchAppend ?? true,
      log: silentLog,
    });
  let node: EventNode | null = await start(0);
  const { url, port } = node;
  const stopNode = async (): Promise<void> => {
    await node?.stop();
    node = null;
  };
  return {
    url,
    databaseUrl: database.url,
    stopNode,
    startNode: async () => {
      node = await start(port);
    },
    remove: async () => {
      await stopNode();
      await pool.end();
      await database.drop();
    },
  };
}

const restarted = (embedded: EmbeddedStore) => async (): Promise<void> => {
  await embedded.stopNode();
  await embedded.startNode();
};

/** Declares the tests once per way of appending. */
export function describeStores(title: string, tests: (store: () => StoreUnderTest) => void): void {
  for (const unary of [false, true]) {
    describe(`${title} (${unary ? 'unary' : 'batch'})`, () => {
      let embedded: EmbeddedStore | null = null;
      let store: StoreUnderTest | null = null;
      before(async function () {
        this.timeout(START_TIMEOUT_MS);
        embedded = REAL_URL === undefined ? await embeddedStore({ batchAppend: !unary }) : null;
        const url = embedded?.url ?? REAL_URL ?? '';
        store = {
          url,
          client: EventStoreDBClient.connectionString(url),
          appendOptions: embedded === null && unary ? sameCredentials(url) : {},
          unary,
          restart: embedded && restarted(embedded),
        };
      });
      after(async () => {
        await store?.client.dispose();
        await embedded?.remove();
      });
      tests(() => {
        if (!store) throw new Error('the store is not up');
        return store;
      });
    });
  }
}

/** Declares tests that only the embedded node can be held against, also when `EVENTSTORE_TEST_URL` names another store. */
export function describeEmbedded(title: string, tests: (store: () => EmbeddedUnderTest) => void): void {
  describe(`${title} (embedded node)`, () => {
    let store: EmbeddedUnderTest | null = null;
    before(async function () {
      this.timeout(START_TIMEOUT_MS);
      const embedded = await embeddedStore();
      store = { ...embedded, client: EventStoreDBClient.connectionString(embedded.url) };
    });
    after(async () => {
      await store?.client.dispose();
      await store?.remove();
    });
    tests(() => {
      if (!store) throw new Error('the store is not up');
      return store;
    });
  });
}

/** A stream name nobody used before. */
export const freshStream = (aggregate = 'contract'): string => `${aggregate}-${randomUUID()}`;

export const happened = (
  data: Record<string, string | number> = {},
  type = 'ContractHappened',
): JSONEventData => jsonEvent({ type, data, metadata: { v: 1 } });

/** Several events, numbered in their data. */
export const numbered = (count: number): JSONEventData[] =>
  Array.from({ length: count }, (_unused, n) => happened({ n }));

/** The error a promise rejects with; fails when it does not, or with another kind of error. */
export async function rejection<E extends Error = Error>(
  promise: Promise<unknown>,
  kind?: abstract new (...args: never[]) => E,
): Promise<E> {
  const outcome = await promise.then(
    () => new Error('expected a rejection'),
    (error: unknown) => ({ error }),
  );
  if (outcome instanceof Error) throw outcome;
  if (!(outcome.error instanceof (kind ?? Error))) throw new Error('another error', { cause: outcome.error });
  return outcome.error as E;
}

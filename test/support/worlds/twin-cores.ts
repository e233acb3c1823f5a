/** Two gateways on one Postgres and event store, no adapters or workers; own directory, leases and pool. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ports } from '../../../commands/ports/ports.ts';
import { loadConfig } from '../../../infra/process/config.ts';
import { openCore } from '../../../infra/process/composition.ts';
import { testDatabase } from '../servers/postgres.ts';
import { ShiftedClock } from '../fakes/shifted-clock.ts';
import { silentLog } from '../fakes/silent-log.ts';

const BASE_URL = 'http://gateway.example';
const UNLIMITED = { LIMIT_AGENT_SENDS_PER_HOUR: '1000000' };

export class TwinCores implements AsyncDisposable {
  /** The same for both gateways. */
  readonly clock = new ShiftedClock();
  readonly #opened = new AsyncDisposableStack();
  #ports: readonly Ports[] = [];

  static async open(): Promise<TwinCores> {
    const twins = new TwinCores();
    try {
      await twins.#open();
    } catch (error) {
      await twins[Symbol.asyncDispose]();
      throw error;
    }
    return twins;
  }

  get first(): Ports {
    return this.#at(0);
  }

  get second(): Ports {
    return this.#at(1);
  }

  async #open(): Promise<void> {
    const database = await testDatabase();
    this.#opened.defer(() => database.drop());
    const dataDir = await mkdtemp(join(tmpdir(), 'gateway-twins-'));
    this.#opened.defer(() => rm(dataDir, { recursive: true, force: true }));
    const settings = { ...UNLIMITED, DATA_DIR: dataDir, DATABASE_URL: database.url, PORT: '0', BASE_URL };
    const { ports, storage } = await this.#openCore({ ...settings, ROLES: 'embedded', STORE_PORT: '0' });
    const second = await this.#openCore({
      ...settings,
      ROLES: 'api',
      EVENTSTORE_URL: storage.eventStoreUrl,
    });
    this.#ports = [ports, second.ports];
  }

  async #openCore(env: Readonly<Record<string, string>>) {
    const { clock } = this;
    const config = loadConfig(env);
    const options = { config, log: silentLog, baseUrl: BASE_URL, clock, strictOutput: true };
    const { ports, storage } = this.#opened.use(await openCore(options));
    await ports.feed.start();
    // No read model is built here.
    const readModels = { waitFor: () => Promise.resolve(true) };
    const contacts = { writtenTo: () => Promise.resolve(new Set<string>()) };
    return { storage, ports: { ...ports, readModels, contacts } };
  }

  #at(index: number): Ports {
    const ports = this.#ports[index];
    if (!ports) throw new Error(`there is no gateway ${String(index)}`);
    return ports;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#opened.disposeAsync();
  }
}

/** Everything below the faces: databases, keys, event store, mail. The gateway and the admin command both stand on it. */
import { mkdirSync } from 'node:fs';
import { systemClock } from './system-clock.ts';
import type { Clock, Log, Ports, ReadModels } from '../commands/kernel/ports.ts';
import { recordMailFailure, recordMailHealth } from '../commands/mailboxes/connect-mailbox.ts';
import { PROTOCOL_REVISION_NAMES } from '../mcp/protocol-revisions.ts';
import { openAccessStream } from './access-stream.ts';
import type { Config } from './config.ts';
import { openDirectory } from './directory-copy.ts';
import { openEventStore } from './event-store/event-store-client.ts';
import { startEventNode } from './event-store/node/start-event-node.ts';
import { createEgressGuard } from './mail/egress-guard.ts';
import { ImapGateway } from './mail/imap-gateway.ts';
import { openDirectConnection, refuseTransactionPooler } from './postgres/direct-connection.ts';
import { startEmbeddedPostgres } from './postgres/embedded-postgres.ts';
import { startLeases } from './postgres/leases.ts';
import { PostgresMcpSessions } from './postgres/mcp-sessions.ts';
import { migrate } from './postgres/migrate.ts';
import { openPool, postgresSql } from './postgres/pool.ts';
import { createIds } from './security/ids.ts';
import { loadMasterKey } from './security/key-file.ts';
import { createLocators } from './security/locators.ts';
import { createPersonalData } from './security/personal-data.ts';
import { createSecrets } from './security/secrets.ts';
import { createTokens } from './security/tokens.ts';
import { openVault } from './security/vault.ts';
import { mailSettingsOf } from './mail-settings.ts';
import { version } from './version.ts';

export interface CoreOptions {
  readonly config: Config;
  readonly baseUrl: string;
  readonly log: Log;
  readonly clock?: Clock;
  /** An event store that runs already (beside a running gateway), instead of a node of our own. */
  readonly eventStoreUrl?: string;
  readonly databaseUrl?: string;
  /** Told before each long step. */
  readonly progress?: (step: string) => void;
  /** Answers that break their schema are errors. */
  readonly strictOutput?: boolean;
}

export interface Core extends AsyncDisposable {
  /** Complete but for the read models, which only a serving process keeps. */
  readonly ports: Omit<Ports, 'readModels'>;
  readonly databaseUrl: string;
  readonly directUrl: string;
  readonly eventStoreUrl: string;
}

/** Opens all of it in order; what was opened is closed again when a later step fails. */
export async function openCore(options: CoreOptions): Promise<Core> {
  const { config, log, clock = systemClock, progress = () => undefined } = options;
  await using opened = new AsyncDisposableStack();
  mkdirSync(config.dataDir, { recursive: true });
  const masterKey = await loadMasterKey(config.keyFile);
  const { databaseUrl, directUrl } = await database(options, opened);
  progress('Bringing the database schema up to date');
  await refuseTransactionPooler(directUrl);
  await migrate({ url: directUrl });
  const pool = openPool({ url: databaseUrl, log });
  opened.defer(() => pool.end());
  const sql = postgresSql(pool);
  const vault = await openVault(sql, masterKey);
  const directConnection = () => openDirectConnection(directUrl, 'gateway event node');
  const eventStoreUrl = options.eventStoreUrl ?? config.eventStoreUrl ?? (await ownNode());
  const events = openEventStore({ url: eventStoreUrl, log });
  opened.defer(() => events.close());
  const ids = createIds(vault.idKey, clock);
  const personal = createPersonalData({ sql, clock, masterKey });
  const secrets = createSecrets(sql, masterKey);
  const leases = startLeases(sql, log);
  opened.defer(() => leases.close());
  const sessions = new PostgresMcpSessions(sql, clock, log);
  opened.defer(() => {
    sessions.close();
  });
  progress('Loading the directory');
  const directory = await openDirectory({ sql, events, personal, clock, log });
  opened.defer(() => directory.close());
  const accessLog = openAccessStream({ events, ids, clock, log, runId: leases.runId });
  opened.defer(() => accessLog.close());
  const guard = createEgressGuard(config.egressAllowMail);
  const mail = new ImapGateway({
    loadSettings: (mailboxId) => mailSettingsOf(directory, secrets, mailboxId),
    guard,
    providerConnections: config.limits.providerConnections,
    log,
    onMailboxTrouble: (mailboxId, error) => {
      noteState(mailboxId, () => recordMailFailure(everything(), mailboxId, error));
    },
    onMailboxHealthy: (mailboxId) => {
      noteState(mailboxId, () => recordMailHealth(everything(), mailboxId));
    },
  });
  opened.defer(() => mail.close());

  const ports: Core['ports'] = {
    clock, ids, events, sql, personal, secrets, leases, mail, directory, sessions, accessLog, log,
    tokens: createTokens({ baseUrl: options.baseUrl, signingKeys: vault.signingKeys, clock }),
    locators: createLocators(vault.locatorEncryptionKey, vault.locatorMacKey),
    server: {
      baseUrl: options.baseUrl,
      version,
      limits: config.limits,
      mcpTextBlock: config.mcpTextBlock,
      mcpRevisions: PROTOCOL_REVISION_NAMES,
      strictOutput: options.strictOutput ?? false,
    },
  }; // prettier-ignore
  const stack = opened.move();
  return { ports, databaseUrl, directUrl, eventStoreUrl, [Symbol.asyncDispose]: () => stack.disposeAsync() };

  async function ownNode(): Promise<string> {
    progress('Starting the embedded event node');
    const node = await startEventNode({
      pool,
      directConnection,
      log,
      host: '127.0.0.1',
      port: 0,
      batchAppend: true,
    });
    opened.defer(() => node.stop());
    return node.url;
  }

  function everything(): Ports {
    return { ...ports, readModels: noReadModels };
  }

  /** A state that cannot be written now is written at the next sign of it. */
  function noteState(mailboxId: string, note: () => Promise<void>): void {
    note().catch((error: unknown) => {
      log.warn('a mailbox state could not be recorded', { mailbox_id: mailboxId, error: String(error) });
    });
  }
}

/** For work that reads no read model. */
const noReadModels: ReadModels = { waitFor: () => Promise.resolve(false) };

async function database(
  { config, databaseUrl, log, progress }: CoreOptions,
  opened: AsyncDisposableStack,
): Promise<{ databaseUrl: string; directUrl: string }> {
  if (databaseUrl !== undefined) return { databaseUrl, directUrl: databaseUrl };
  if (config.database) return { databaseUrl: config.database.url, directUrl: config.database.directUrl };
  progress?.('Starting the embedded Postgres');
  const postgres = await startEmbeddedPostgres({ dataDir: config.dataDir, log });
  opened.defer(() => postgres.stop());
  return { databaseUrl: postgres.url, directUrl: postgres.url };
}

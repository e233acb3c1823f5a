/** The composition root: constructs every port of a process, for the gateway and for admin commands. */
import { identifyLog } from '../../commands/kernel/log-identity.ts';
import type { Clock, Ports, ReadModels } from '../../commands/ports/ports.ts';
import { recordMailFailure, recordMailHealth } from '../../commands/mailboxes/connect-mailbox.ts';
import { createTrails } from '../projector/trails.ts';
import { listWrittenTo } from '../../projections/contacts.ts';
import { webhookRecords } from '../../projections/webhook-queries.ts';
import { followMoves } from '../../projections/message-moves.ts';
import { createAuthorizationRequests } from '../authorization-server/authorization-requests.ts';
import { StateRows } from '../authorization-server/state-rows.ts';
import { openAccessStream } from '../audit/access-stream.ts';
import { FileAnchors } from '../audit/file-anchors.ts';
import { SealFile } from '../audit/seal-file.ts';
import { Sealer } from '../audit/sealer.ts';
import { PostgresContentStore } from '../content-store/postgres-content-store.ts';
import { type DirectoryCopy, openDirectory } from '../directory/memory-directory.ts';
import { messageComposer } from '../mail/compose-message.ts';
import { createEgressGuard, WEBHOOK_EGRESS } from '../egress/egress-guard.ts';
import { dnsDiscovery } from '../mail/dns-discovery.ts';
import { labelledFolders } from '../mail/labelled-folders.ts';
import { ImapGateway } from '../mail/imap-gateway.ts';
import { createMirrorVersions } from '../mail-sync/postgres-mirror-versions.ts';
import { notifyMailbox } from '../mail-sync/mailbox-notify.ts';
import { createChangeAttribution } from '../mail-sync/postgres-change-attribution.ts';
import { markupThreads } from '../markup/worker-markup.ts';
import type { MailIndex } from '../mail-index/folder-mirror.ts';
import { allSelectable } from '../../commands/kernel/folders.ts';
import { PostgresMailIndex } from '../mail-index/postgres-mirror.ts';
import { keepConnectionsTrue, mailSettingsOf } from './mail-settings.ts';
import { createMailLogins } from '../oauth/oauth-mail-logins.ts';
import { createProviderAuthorizations } from '../oauth/provider-authorizations.ts';
import { createProviderClients } from '../oauth/provider-client.ts';
import { measureAppends } from '../observability/metrics.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { StoresOptions } from './start-stores.ts';
import { leaseTimes, startLeases } from '../postgres/leases.ts';
import { PostgresMcpTasks } from '../postgres/mcp-tasks.ts';
import { PostgresMcpSessions } from '../postgres/mcp-sessions.ts';
import { claimReadModels } from '../projector/source-log.ts';
import { createIds } from '../security/random-ids.ts';
import { createLocators } from '../security/locators.ts';
import { createPersonalData } from '../security/personal-data.ts';
import { createKnownDevices } from '../security/known-devices.ts';
import { createOneTimeLinks } from '../security/one-time-links.ts';
import { createSecrets } from '../security/secrets.ts';
import { createSignInAttempts } from '../security/postgres-sign-in-attempts.ts';
import { createTokens } from '../security/jwt-tokens.ts';
import { createSessionUse } from '../security/postgres-token-use.ts';
import { openSystemMailer } from '../system-mail/system-mailer.ts';
import { SmtpGateway } from '../smtp/smtp-gateway.ts';
import { systemClock } from '../platform/system-clock.ts';
import { version } from '../platform/version.ts';
import { type DeliveryStream, openDeliveryLog } from '../webhooks/delivery-log.ts';
import { PooledWebhookSender } from '../webhooks/post-webhook.ts';
import { createWebhookSecrets } from '../security/webhook-secrets.ts';
import { FeedFollower } from '../waiting/feed-follower.ts';
import { openStorage, type Storage } from './storage.ts';

export interface CoreOptions extends StoresOptions {
  readonly baseUrl: string;
  readonly clock?: Clock;
  readonly metrics?: Metrics;
  /** Responses that break their schema are errors. */
  readonly strictOutput?: boolean;
}

/** For the TCP connection only; each step on it has a minute. */
const SMTP_CONNECT_TIMEOUT_MS = 10_000;

/** The ports of a process without read models, which only a serving process maintains. */
export type CorePorts = Omit<Ports, 'readModels'> & {
  readonly directory: DirectoryCopy;
  readonly feed: FeedFollower;
  readonly mailIndex: MailIndex;
  readonly mail: ImapGateway;
  readonly deliveryLog: DeliveryStream;
  readonly seals: Sealer;
};

export interface Core extends AsyncDisposable {
  readonly ports: CorePorts;
  readonly storage: Storage;
}

/** Opens everything in order; when a later step fails, what was opened is closed. */
export async function openCore(options: CoreOptions): Promise<Core> {
  const { clock = systemClock } = options;
  await using opened = new AsyncDisposableStack();
  const storage = await openStorage(options, opened);
  options.progress?.('Loading the directory');
  const ports = await openPorts({ ...options, clock }, storage, opened);
  const stack = opened.move();
  return { ports, storage, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

type Options = CoreOptions & { readonly clock: Clock };

async function openPorts(
  options: Options,
  storage: Storage,
  opened: AsyncDisposableStack,
): Promise<CorePorts> {
  const { config, baseUrl, clock } = options;
  const ground = await openGround(options, storage, opened);
  const webhookSender = new PooledWebhookSender({
    guard: createEgressGuard(config.egressAllowWebhooks, undefined, WEBHOOK_EGRESS),
    clock,
    deadlineMs: config.webhookTimes.deadlineMs,
    userAgent: `mailbox-gateway/${version}`,
  });
  opened.defer(() => webhookSender.close());
  const withoutMail: Omit<CorePorts, 'mail'> = {
    ...ground,
    webhookSender,
    ...openSendingAndDrafts(options, storage, ground),
    mailDiscovery: dnsDiscovery,
    tokens: createTokens({ baseUrl, signingKeys: storage.vault.signingKeys, clock }),
    attempts: createSignInAttempts({ sql: storage.sql, clock, perMinute: config.limits.signInsPerMinute }),
    links: createOneTimeLinks({ sql: storage.sql, clock }),
    devices: createKnownDevices({ sql: storage.sql, clock }),
    sessionUse: createSessionUse(storage.sql, clock),
    moves: { follow: (messageId) => followMoves(storage.sql, messageId) },
    contacts: { writtenTo: (mailboxId, addresses) => listWrittenTo(storage.sql, mailboxId, addresses) },
    trails: createTrails(ground),
    webhookRecords: webhookRecords(storage.sql),
    seals: new Sealer(ground, {
      masterKey: storage.masterKey,
      auditName: config.audit.name ?? `${new URL(baseUrl).host}/audit`,
      everyMs: config.audit.sealEveryMs,
      anchors: config.audit.anchorDir === null ? null : new FileAnchors(config.audit.anchorDir),
      file: new SealFile(config.dataDir, ground.log),
    }),
    systemMailer: openSystemMailer({ ...config.systemMail, baseUrl, log: ground.log }),
    server: {
      baseUrl,
      version,
      logId: ground.logId,
      limits: config.limits,
      sendTimes: config.sendTimes,
      webhookTimes: config.webhookTimes,
      mcpTextBlock: config.mcpTextBlock,
      signUp: config.signUp,
      mailboxNumberBlock: config.mailboxNumberBlock,
      mcpRevisions: config.mcpRevisions,
      strictOutput: options.strictOutput ?? false,
    },
  };
  const mail = openMail(options, withoutMail, opened);
  keepConnectionsTrue(mail, ground);
  return { ...withoutMail, mail };
}

/** The parts that the others depend on. What keeps something running ends with the core. */
async function openGround(options: Options, storage: Storage, opened: AsyncDisposableStack) {
  const { config, log, clock, metrics } = options;
  const { sql, epochSql, vault, masterKey } = storage;
  const events = metrics ? measureAppends(storage.events, metrics) : storage.events;
  const ids = createIds(vault.idKey, clock);
  const logId = await identifyLog({ events, ids, clock });
  await claimReadModels(sql, logId);
  const personal = createPersonalData({ sql, clock, masterKey });
  const leases = startLeases(sql, log, leaseTimes(config.leaseMs));
  opened.defer(() => leases.close());
  const sessions = new PostgresMcpSessions(sql, clock, log);
  opened.defer(() => {
    sessions.close();
  });
  const tasks = new PostgresMcpTasks(sql, leases, log);
  opened.defer(() => {
    tasks.close();
  });
  const directory = await openDirectory({ sql, epochSql, events, personal, clock, log });
  opened.defer(() => directory.close());
  const stream = { events, ids, personal, clock, log, runId: leases.runId, ...(metrics && { metrics }) };
  const accessLog = openAccessStream(stream);
  opened.defer(() => accessLog.close());
  const deliveryLog = openDeliveryLog({ events, ids, clock, runId: leases.runId });
  opened.defer(() => deliveryLog.close());
  const locators = createLocators(vault.locatorEncryptionKey, vault.locatorMacKey);
  const mailIndex = new PostgresMailIndex(sql, locators);
  const feed = new FeedFollower({ events, clock, locators, log });
  opened.defer(() => feed.close());
  const secrets = createSecrets(sql, masterKey);
  const webhookSecrets = createWebhookSecrets(sql, masterKey);
  const oauthState = new StateRows({ sql, masterKey, clock });
  const authorizationRequests = createAuthorizationRequests({ rows: oauthState, ids, directory });
  const kept = { leases, sessions, tasks, directory, accessLog, deliveryLog, feed };
  return {
    ...kept,
    clock,
    ids,
    events,
    logId,
    sql,
    personal,
    log,
    locators,
    mailIndex,
    secrets,
    webhookSecrets,
    authorizationRequests,
  };
}

type Ground = Awaited<ReturnType<typeof openGround>>;

function openSendingAndDrafts({ config, baseUrl }: Options, { masterKey }: Storage, ground: Ground) {
  const { sql, clock, log, secrets, directory, mailIndex } = ground;
  const providers = createProviderClients(config.oauth, { baseUrl, clock });
  const logins = createMailLogins({
    secrets,
    clock,
    refresh: (provider, refreshToken) => providers.of(provider).refresh(refreshToken),
  });
  return {
    logins,
    providerAuthorizations: createProviderAuthorizations({ sql, masterKey, clock, clients: providers, log }),
    mirrorVersions: createMirrorVersions(sql, mailIndex),
    changeAttribution: createChangeAttribution({
      sql,
      mailboxNumber: (mailboxId) => directory.state.mailboxes.get(mailboxId)?.number ?? null,
    }),
    submission: new SmtpGateway({
      loadSettings: (mailboxId, refused) => mailSettingsOf(directory, logins, mailboxId, refused),
      login: {
        guard: createEgressGuard(config.egressAllowMail),
        extraCertificates: [],
        connectTimeoutMs: SMTP_CONNECT_TIMEOUT_MS,
      },
      atOnce: config.limits.providerConnections,
    }),
    content: new PostgresContentStore({ sql, masterKey, clock, log, directory }),
    composer: messageComposer,
    markup: markupThreads,
  };
}

/** For work that reads no read model. */
const noReadModels: ReadModels = { waitFor: () => Promise.resolve(false) };

/** The mail side; failures and recoveries are recorded as states of the mailboxes. */
function openMail(
  { config, log, metrics }: CoreOptions,
  others: Omit<CorePorts, 'mail'>,
  opened: AsyncDisposableStack,
): ImapGateway {
  // A state that cannot be written now is written at the next occasion.
  const note = (mailboxId: string, written: Promise<void>): void => {
    written.catch((error: unknown) => {
      log.warn('mailbox: state not recorded', { mailbox_id: mailboxId, error: String(error) });
    });
  };
  const mail = new ImapGateway({
    loadSettings: (mailboxId, refused) => mailSettingsOf(others.directory, others.logins, mailboxId, refused),
    guard: createEgressGuard(config.egressAllowMail),
    providerConnections: config.limits.providerConnections,
    log,
    foldersOf: (mailboxId) => {
      const { folders = [], detectedRoles = {} } = others.directory.state.mailboxes.get(mailboxId) ?? {};
      return labelledFolders({ folders, detectedRoles });
    },
    onCommand: (outcome, seconds) => metrics?.mailCommandDone({ outcome, seconds }),
    queries: {
      index: others.mailIndex,
      mailboxOf: (mailboxId) => {
        const mailbox = others.directory.state.mailboxes.get(mailboxId);
        // A paused mailbox is not answered from its mirror either; the live path returns the reason.
        if (mailbox === undefined || mailbox.state === 'paused') return null;
        return {
          mailboxNumber: mailbox.number,
          folderNumbers: allSelectable(mailbox).map(({ number }) => number),
        };
      },
      headPosition: () => others.events.headPosition(),
      onOutdated: (mailboxId, folders) => {
        note(mailboxId, notifyMailbox(others.sql, mailboxId, folders));
      },
    },
    onMailboxTrouble: (mailboxId, error) => {
      note(mailboxId, recordMailFailure(ports, mailboxId, error));
    },
    onMailboxHealthy: (mailboxId) => {
      note(mailboxId, recordMailHealth(ports, mailboxId));
    },
    onFolderGone: (mailboxId, path) => {
      const { folders = [] } = others.directory.state.mailboxes.get(mailboxId) ?? {};
      const numbers = folders.flatMap((folder) => (folder.path === path ? [folder.number] : []));
      note(mailboxId, notifyMailbox(others.sql, mailboxId, numbers));
    },
  });
  const ports: Ports = { ...others, mail, readModels: noReadModels };
  opened.defer(() => {
    mail.close();
  });
  return mail;
}

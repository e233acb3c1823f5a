/** The environment, read once at the start. All errors in it are reported together, one sentence each. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describeSettings, Settings } from './config-schema.ts';
import { misspeltSettings } from './setting-names.ts';
import type { z } from 'zod';
import type { Limits, SendTimes, SignUp, WebhookTimes } from '../../commands/ports/ports.ts';
import type { Role, SettingDescription } from './config-schema.ts';
import type { OAuthSettings } from '../oauth/providers.ts';
import type { SystemMailSettings } from '../system-mail/system-mailer.ts';
import type { Level } from '../observability/json-log.ts';
import { supportedRevisions } from '../../mcp/protocol-revisions.ts';

export interface AuditSettings {
  /** The name under which trails are signed; null = the host of the base URL. */
  readonly name: string | null;
  /** The longest that a line waits for its checkpoint. */
  readonly sealEveryMs: number;
  /** Null = checkpoints are stored in no folder outside. */
  readonly anchorDir: string | null;
}

export interface Config {
  readonly roles: ReadonlySet<Role>;
  readonly host: string;
  readonly port: number;
  /** Null = `http://<host>:<the port listened on>`. */
  readonly baseUrl: string | null;
  /** Null = no metrics listener. */
  readonly metricsPort: number | null;
  readonly metricsHost: string;
  /** Absolute. */
  readonly dataDir: string;
  readonly keyFile: string;
  /** Null = the installation makes keys of its own. */
  readonly sharedKeysFile: string | null;
  /** Null = the embedded server, of this process or one beside it. `directUrl` is for locks and LISTEN. */
  readonly database: { readonly url: string; readonly directUrl: string } | null;
  /** Null = the embedded node, of this process or one beside it. */
  readonly eventStoreUrl: string | null;
  /** The port of the embedded node; 0 = a free one, kept in `dataDir`. */
  readonly storePort: number;
  readonly allowedOrigins: readonly string[];
  /** As written: `CIDR` or an address. */
  readonly trustedProxies: readonly string[];
  readonly maxConnections: number;
  readonly logLevel: Level;
  /** As written: `CIDR`, `CIDR:port` or `CIDR:*`. */
  readonly egressAllowMail: readonly string[];
  readonly egressAllowWebhooks: readonly string[];
  readonly egressAllowOauth: readonly string[];
  readonly systemMail: SystemMailSettings;
  readonly oauth: OAuthSettings;
  /** Applications may register themselves. */
  readonly oauthSelfRegistration: boolean;
  readonly mcpTextBlock: boolean;
  /** Supported MCP revisions, newest first. */
  readonly mcpRevisions: readonly string[];
  readonly signUp: SignUp;
  readonly mailboxNumberBlock: number;
  readonly limits: Limits;
  /** How long the lease of a dead process lasts (`contract.md` 10). */
  readonly leaseMs: number;
  readonly sendTimes: SendTimes;
  readonly webhookTimes: WebhookTimes;
  /** Attempts at once. */
  readonly webhookConcurrency: number;
  readonly audit: AuditSettings;
}

/** The default port of every EventStoreDB client. */
const EVENTSTORE_PORT = 2113;

export type Environment = Readonly<Record<string, string | undefined>>;

/** The errors in the environment, one sentence per line. */
export class ConfigError extends Error {
  readonly sentences: readonly string[];
  constructor(sentences: readonly string[]) {
    super(sentences.join('\n'));
    this.name = 'ConfigError';
    this.sentences = sentences;
  }
}

/** The configuration of this environment. An empty variable counts as not set. Throws `ConfigError`. */
export function loadConfig(env: Environment): Config {
  const described = describeSettings();
  const known = described.flatMap(({ name, secret }) => (secret === true ? [name, `${name}_FILE`] : [name]));
  const set = Object.keys(env).filter((name) => env[name] !== undefined && env[name] !== '');
  const sentences = [...misspeltSettings(set, known)];
  const values: Record<string, string> = {};
  for (const setting of described) {
    const value = readSetting(setting, env, sentences);
    if (value !== undefined) values[setting.name] = value;
  }
  const parsed = Settings.safeParse(values);
  if (!parsed.success) {
    const secrets = new Set<string>(described.filter(({ secret }) => secret).map(({ name }) => name));
    sentences.push(...parsed.error.issues.map((issue) => issueSentence(issue, values, secrets)));
  }
  if (values['DATABASE_DIRECT_URL'] !== undefined && values['DATABASE_URL'] === undefined) {
    sentences.push(
      'DATABASE_DIRECT_URL is set without DATABASE_URL: set both, or neither for the embedded Postgres.',
    );
  }
  if (
    parsed.success &&
    runsStoresOnly(parsed.data.ROLES) &&
    parsed.data.DATABASE_URL &&
    parsed.data.EVENTSTORE_URL
  ) {
    sentences.push(
      'ROLES=embedded leaves nothing to run when both DATABASE_URL and EVENTSTORE_URL are set: leave one of them out.',
    );
  }
  if (!parsed.success || sentences.length > 0) throw new ConfigError(sentences);
  return toConfig(parsed.data);
}

/** True for a process that only runs stores for others: no adapter, no keys. */
export const runsStoresOnly = (roles: ReadonlySet<Role>): boolean =>
  roles.size === 1 && roles.has('embedded');

/** The text of a setting; a secret may come from its file. Errors are added to `sentences`. */
function readSetting(
  { name, secret }: SettingDescription,
  env: Environment,
  sentences: string[],
): string | undefined {
  const direct = env[name] === '' ? undefined : env[name];
  const file = secret === true ? env[`${name}_FILE`] : undefined;
  if (file === undefined || file === '') return direct;
  if (direct !== undefined) {
    sentences.push(`${name} and ${name}_FILE are both set: keep one of them.`);
    return direct;
  }
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    sentences.push(`${name}_FILE names ${file}, which cannot be read (${code}).`);
    return undefined;
  }
}

function issueSentence(
  issue: z.core.$ZodIssue,
  values: Readonly<Record<string, string>>,
  secrets: ReadonlySet<string>,
): string {
  const name = String(issue.path[0]);
  return secrets.has(name)
    ? `${name} ${issue.message}.`
    : `${name} ${issue.message}, not "${values[name] ?? ''}".`;
}

const oauthOf = (settings: z.output<typeof Settings>): OAuthSettings => ({
  google: {
    clientId: settings.OAUTH_GOOGLE_CLIENT_ID ?? null,
    clientSecret: settings.OAUTH_GOOGLE_CLIENT_SECRET ?? null,
    issuer: settings.OAUTH_GOOGLE_ISSUER ?? null,
  },
  microsoft: {
    clientId: settings.OAUTH_MICROSOFT_CLIENT_ID ?? null,
    clientSecret: settings.OAUTH_MICROSOFT_CLIENT_SECRET ?? null,
    issuer: settings.OAUTH_MICROSOFT_ISSUER ?? null,
  },
});

const systemMailOf = (settings: z.output<typeof Settings>): Config['systemMail'] => ({
  smtpUrl: settings.SYSTEM_SMTP_URL ?? null,
  from: settings.SYSTEM_MAIL_FROM ?? null,
});

const auditOf = (settings: z.output<typeof Settings>): AuditSettings => ({
  name: settings.AUDIT_NAME ?? null,
  sealEveryMs: 1_000 * settings.AUDIT_SEAL_SECONDS,
  anchorDir: settings.AUDIT_ANCHOR_DIR ?? null,
});

function toConfig(settings: z.output<typeof Settings>): Config {
  const dataDir = resolve(settings.DATA_DIR);
  const { DATABASE_URL: url, DATABASE_DIRECT_URL: directUrl } = settings;
  return {
    roles: settings.ROLES,
    host: settings.HOST,
    port: settings.PORT,
    baseUrl: settings.BASE_URL ?? null,
    metricsPort: settings.METRICS_PORT ?? null,
    metricsHost: settings.METRICS_HOST,
    dataDir,
    keyFile: settings.KEY_FILE === undefined ? join(dataDir, 'master.key') : resolve(settings.KEY_FILE),
    sharedKeysFile: settings.SHARED_KEYS_FILE === undefined ? null : resolve(settings.SHARED_KEYS_FILE),
    database: url === undefined ? null : { url, directUrl: directUrl ?? url },
    eventStoreUrl: settings.EVENTSTORE_URL ?? null,
    storePort: settings.STORE_PORT ?? (runsStoresOnly(settings.ROLES) ? EVENTSTORE_PORT : 0),
    allowedOrigins: settings.ALLOWED_ORIGINS,
    trustedProxies: settings.TRUSTED_PROXIES,
    maxConnections: settings.MAX_CONNECTIONS,
    logLevel: settings.LOG_LEVEL,
    egressAllowMail: settings.EGRESS_ALLOW_MAIL,
    egressAllowWebhooks: settings.EGRESS_ALLOW_WEBHOOKS,
    egressAllowOauth: settings.EGRESS_ALLOW_OAUTH,
    systemMail: systemMailOf(settings),
    oauth: oauthOf(settings),
    oauthSelfRegistration: settings.OAUTH_DCR === 'on',
    signUp: settings.SIGNUP,
    mcpTextBlock: settings.MCP_TEXT_BLOCK === 'on',
    mcpRevisions: supportedRevisions({ sessionless: settings.MCP_2026 === 'on' }),
    mailboxNumberBlock: settings.MAILBOX_NUMBER_BLOCK,
    leaseMs: settings.LEASE_SECONDS * 1_000,
    limits: {
      readsPerMinute: settings.LIMIT_READS_PER_MINUTE,
      writesPerMinute: settings.LIMIT_WRITES_PER_MINUTE,
      concurrentRequests: settings.LIMIT_CONCURRENT_REQUESTS,
      concurrentWaits: settings.LIMIT_CONCURRENT_WAITS,
      providerConnections: settings.LIMIT_PROVIDER_CONNECTIONS,
      jsonBodyBytes: settings.LIMIT_JSON_BODY_BYTES,
      mcpResultBytes: settings.LIMIT_MCP_RESULT_BYTES,
      sendsPerHour: settings.LIMIT_AGENT_SENDS_PER_HOUR,
      signInsPerMinute: settings.LIMIT_SIGN_INS_PER_MINUTE,
    },
    sendTimes: {
      retryAfterMs: settings.SEND_RETRY_AFTER_SECONDS.map((seconds) => seconds * 1_000),
      giveUpAfterMs: settings.SEND_GIVE_UP_AFTER_SECONDS * 1_000,
      judgeAfterMs: settings.SEND_JUDGE_AFTER_SECONDS * 1_000,
      ownCopyWithinMs: settings.SEND_OWN_COPY_WITHIN_SECONDS * 1_000,
    },
    webhookTimes: {
      deadlineMs: settings.WEBHOOK_DEADLINE_SECONDS * 1_000,
      retryAfterMs: settings.WEBHOOK_RETRY_AFTER_SECONDS.map((seconds) => seconds * 1_000),
      disableAfterMs: settings.WEBHOOK_DISABLE_AFTER_HOURS * 3_600_000,
      keptForMs: settings.WEBHOOK_KEEP_DAYS * 86_400_000,
    },
    webhookConcurrency: settings.WEBHOOK_CONCURRENCY,
    audit: auditOf(settings),
  };
}

/** One sentence per error. */
export function sentenceOf(error: unknown): string {
  if (error instanceof ConfigError) return error.sentences.join('\n');
  return error instanceof Error ? error.message : String(error);
}

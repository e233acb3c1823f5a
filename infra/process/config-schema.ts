/** Every setting of the gateway, as environment variables. Anything else is not a setting. */
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { SIGN_UPS } from '../../commands/ports/ports.ts';
import { LAST_BLOCK } from '../../commands/mailboxes/mailbox-number.ts';
import { parseNetwork } from '../http/trusted-proxies.ts';
import { LEVELS } from '../observability/json-log.ts';
import { isSmtpUrl } from '../system-mail/system-mailer.ts';
import { providerSettings } from './provider-settings.ts';
import { address, limit, list, port, type SettingFacts, settings, wholeNumber } from './setting-forms.ts';

/**
 * The roles of one process: the adapters, the leader of the read models, the background work on mailboxes,
 * the delivery of webhooks, the stores.
 */
export const ROLES = ['api', 'projector', 'mail', 'webhooks', 'embedded'] as const;
export type Role = (typeof ROLES)[number];

const isSeconds = (text: string): boolean => /^[1-9]\d{0,6}$/.test(text);

const isListenAddress = (text: string): boolean => text === 'localhost' || ipaddr.isValid(text);

const isRole = (text: string): boolean => ROLES.some((role) => role === text);

const isOrigin = (text: string): boolean => URL.canParse(text) && new URL(text).origin === text;

const google = providerSettings('Google', 'https://accounts.google.com');
const microsoft = providerSettings('Microsoft', 'https://login.microsoftonline.com/common/v2.0');

/** The one schema of the environment. */
export const Settings = z.strictObject({
  ROLES: list(`must be one or more of ${ROLES.join(', ')}, separated by commas`, isRole)
    .transform((items) => new Set(items as Role[]))
    .default(new Set(ROLES))
    .register(settings, {
      description:
        'Roles of this process, separated by commas: api, projector, mail, webhooks, embedded (the stores).',
      fallback: 'all',
    }),
  HOST: z.string().default('127.0.0.1').register(settings, {
    description: 'Address to listen on.',
    fallback: '127.0.0.1',
  }),
  PORT: port(0).default(3000).register(settings, {
    description: 'Port of REST and MCP; 0 chooses a free one.',
    fallback: '3000',
  }),
  BASE_URL: z
    .string()
    .refine(isBaseUrl, 'must be an http or https address without query and without a slash at its end')
    .optional()
    .register(settings, {
      description:
        'Address at which callers reach the gateway. Every token contains it, so all replicas share it.',
      fallback: 'http://HOST:PORT',
    }),
  TRUSTED_PROXIES: list(
    'must be networks such as 10.0.0.0/8 or addresses, separated by commas',
    (item) => parseNetwork(item) !== null,
  )
    .default([])
    .register(settings, {
      description:
        "Networks (CIDR) of the proxies in front of the gateway, separated by commas. The right-most other address in Forwarded or X-Forwarded-For is the client's.",
      fallback: "none: the address of the connection is the client's",
    }),
  MAX_CONNECTIONS: limit(
    'Maximum number of open connections; further ones are closed. Unauthenticated callers may send bodies of at most 16 KiB.',
    4_096,
  ),
  LOG_LEVEL: z
    .enum(LEVELS, `must be one of ${LEVELS.join(', ')}`)
    .default('info')
    .register(settings, {
      description:
        'Lowest level that is logged: info includes a line for each request, warn what needs attention, error what failed.',
      fallback: 'info',
    }),
  METRICS_HOST: z
    .string()
    .refine(isListenAddress, 'must be an address of this machine such as 127.0.0.1, 0.0.0.0 or ::')
    .default('127.0.0.1')
    .register(settings, {
      description:
        'Address to listen on for METRICS_PORT. Metrics need no authentication: use a private network only.',
      fallback: '127.0.0.1',
    }),
  METRICS_PORT: port(1).optional().register(settings, {
    description: 'Port of the Prometheus metrics.',
    fallback: 'no metrics listener',
  }),
  DATA_DIR: z.string().default('.data').register(settings, {
    description:
      'Folder for everything the gateway stores on disk; one process with the role embedded for each folder.',
    fallback: '.data',
  }),
  KEY_FILE: z.string().optional().register(settings, {
    description:
      'File of the master key, the same for every process. The first start creates it. Back it up apart from the database.',
    fallback: 'DATA_DIR/master.key',
  }),
  SHARED_KEYS_FILE: z.string().optional().register(settings, {
    description:
      'JSON file with the keys of ids, for installations that share them. Set it before the first start.',
    fallback: 'keys of its own',
  }),
  DATABASE_URL: address(['postgres', 'postgresql']).optional().register(settings, {
    description: 'Postgres server, or a pooler in front of it.',
    fallback: 'the embedded Postgres of DATA_DIR',
    secret: true,
  }),
  DATABASE_DIRECT_URL: address(['postgres', 'postgresql']).optional().register(settings, {
    description: 'The same server without the pooler, for locks and LISTEN.',
    fallback: 'DATABASE_URL',
    secret: true,
  }),
  EVENTSTORE_URL: address(['esdb', 'esdb+discover']).optional().register(settings, {
    description: 'EventStoreDB or KurrentDB, single node or cluster.',
    fallback: 'the embedded event node of DATA_DIR',
    secret: true,
  }),
  STORE_PORT: port(0).optional().register(settings, {
    description:
      'Loopback port on which the embedded event node accepts other processes, over TLS with the password in DATA_DIR/event-node. 0 chooses a free one and keeps it.',
    fallback: '2113 with ROLES=embedded and in npm run store, else 0',
  }),
  ALLOWED_ORIGINS: list('must be origins such as https://app.example.com, separated by commas', isOrigin)
    .default([])
    .register(settings, {
      description:
        'Origins that browsers may call from, besides the origin of BASE_URL, separated by commas.',
      fallback: 'none',
    }),
  EGRESS_ALLOW_MAIL: list(
    'must be networks such as 10.0.0.0/8 or 127.0.0.1/32:1143, separated by commas',
    isNetwork,
  )
    .default([])
    .register(settings, {
      description:
        'Private networks in which mail servers are allowed: CIDR[:port or :*], separated by commas.',
      fallback: 'none: public addresses only',
    }),
  EGRESS_ALLOW_WEBHOOKS: list(
    'must be networks such as 10.0.0.0/8 or 127.0.0.1/32:8080, separated by commas',
    isNetwork,
  )
    .default([])
    .register(settings, {
      description:
        'Private networks to which webhooks may be sent: CIDR[:port or :*], separated by commas. An entry with a port opens that port beside 443, without TLS too.',
      fallback: 'none: public addresses on port 443 only',
    }),
  EGRESS_ALLOW_OAUTH: list(
    'must be networks such as 10.0.0.0/8 or 127.0.0.1/32:8443, separated by commas',
    isNetwork,
  )
    .default([])
    .register(settings, {
      description:
        'Private networks in which applications may publish their metadata (client ID metadata documents): CIDR[:port or :*], separated by commas.',
      fallback: 'none: public addresses on port 443 only',
    }),
  SYSTEM_SMTP_URL: z
    .string()
    .refine(isSmtpUrl, 'must be smtp://user:password@host:port or smtps://…, with ?tls=off or no query')
    .optional()
    .register(settings, {
      description:
        'Mail server for mails of the gateway itself: invites, links and notices. STARTTLS is required with smtp://, except on this machine or with ?tls=off.',
      fallback: 'no mails: their links go to the log',
      secret: true,
    }),
  SYSTEM_MAIL_FROM: z
    .string()
    .regex(/^[^\s@<>",;:]{1,64}@[a-z0-9.-]{1,255}$/i, 'must be an e-mail address without a name')
    .optional()
    .register(settings, {
      description: 'Address from which these mails are sent.',
      fallback: 'no-reply@ the host of BASE_URL',
    }),
  OAUTH_GOOGLE_CLIENT_ID: google.clientId,
  OAUTH_GOOGLE_CLIENT_SECRET: google.clientSecret,
  OAUTH_GOOGLE_ISSUER: google.issuer,
  OAUTH_MICROSOFT_CLIENT_ID: microsoft.clientId,
  OAUTH_MICROSOFT_CLIENT_SECRET: microsoft.clientSecret,
  OAUTH_MICROSOFT_ISSUER: microsoft.issuer,
  OAUTH_DCR: z.enum(['on', 'off'], 'must be on or off').default('off').register(settings, {
    description:
      'Whether MCP applications may register themselves (RFC 7591), besides those that publish their metadata or that an organisation registered.',
    fallback: 'off',
  }),
  SIGNUP: z
    .enum(SIGN_UPS, `must be one of ${SIGN_UPS.join(', ')}`)
    .default('invite')
    .register(settings, {
      description:
        'Sign-up: closed (no new accounts), invite (only with an invite) or open (anyone, with an organisation of their own).',
      fallback: 'invite',
    }),
  MCP_TEXT_BLOCK: z.enum(['on', 'off'], 'must be on or off').default('on').register(settings, {
    description: 'Whether MCP results repeat their structured content as a text block.',
    fallback: 'on',
  }),
  MCP_2026: z.enum(['on', 'off'], 'must be on or off').default('off').register(settings, {
    description: 'Whether MCP also has the revision 2026-07-28, which has no sessions.',
    fallback: 'off',
  }),
  MAILBOX_NUMBER_BLOCK: wholeNumber(0, LAST_BLOCK).default(0).register(settings, {
    description:
      'Block of 1,048,576 mailbox numbers to use. Installations that share keys need different blocks.',
    fallback: '0',
  }),
  LIMIT_READS_PER_MINUTE: limit('Reads of one token per minute.', 600),
  LIMIT_WRITES_PER_MINUTE: limit('Writes of one token per minute.', 120),
  LIMIT_CONCURRENT_REQUESTS: limit('Concurrent requests of one token.', 20),
  LIMIT_CONCURRENT_WAITS: limit('Concurrent waits of one token, counted separately.', 50),
  LIMIT_PROVIDER_CONNECTIONS: limit('Connections to the mail server of one mailbox.', 4),
  LEASE_SECONDS: limit('How long the mailboxes and operations of a dead process stay reserved for it.', 30),
  LIMIT_JSON_BODY_BYTES: limit('Size of a JSON body in bytes.', 1_048_576),
  LIMIT_MCP_RESULT_BYTES: limit('Size of an MCP result in bytes.', 98_304),
  LIMIT_AGENT_SENDS_PER_HOUR: limit('Mails an agent may send per hour.', 30),
  LIMIT_SIGN_INS_PER_MINUTE: limit('Password attempts on one account, or from one address, per minute.', 10),
  SEND_RETRY_AFTER_SECONDS: list('must be whole numbers of seconds, separated by commas', isSeconds)
    .transform((items) => items.map(Number))
    .default([60, 300, 900, 1_800])
    .register(settings, {
      description:
        'Pauses between attempts to send a mail that the mail server deferred; the last one repeats.',
      fallback: '60,300,900,1800',
    }),
  SEND_GIVE_UP_AFTER_SECONDS: limit('How long such a mail is retried.', 86_400),
  SEND_JUDGE_AFTER_SECONDS: limit(
    'How long the gateway looks in Sent for a send whose process died, before a person has to resolve it.',
    900,
  ),
  SEND_OWN_COPY_WITHIN_SECONDS: limit(
    'How long the gateway waits for a mail server that files the Sent copy itself.',
    5,
  ),
  WEBHOOK_DEADLINE_SECONDS: limit(
    'How long an attempt to deliver a webhook may take, its answer included.',
    15,
  ),
  WEBHOOK_RETRY_AFTER_SECONDS: list('must be whole numbers of seconds, separated by commas', isSeconds)
    .transform((items) => items.map(Number))
    .default([5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400])
    .register(settings, {
      description:
        'Pauses after the first, second, … failed attempt to deliver a webhook; after the last one there is one more attempt.',
      fallback: '5,300,1800,7200,18000,36000,50400,72000,86400',
    }),
  WEBHOOK_DISABLE_AFTER_HOURS: limit('A webhook endpoint that only failed for this long is disabled.', 120),
  WEBHOOK_KEEP_DAYS: limit('How long a webhook can be delivered and replayed.', 30),
  WEBHOOK_CONCURRENCY: limit('Webhooks one process delivers at once.', 200),
  AUDIT_SEAL_SECONDS: wholeNumber(10, 86_400).default(60).register(settings, {
    description: 'The longest that a line of the audit trail waits for its signed checkpoint.',
    fallback: '60',
  }),
  AUDIT_ANCHOR_DIR: z.string().regex(/^\//, 'must be an absolute path').optional().register(settings, {
    description:
      'A folder outside of the gateway, where files can be created and not changed: each hour the newest checkpoint of every trail is stored there.',
    fallback: 'none',
  }),
  AUDIT_NAME: z
    .string()
    .regex(/^[^\s+/]+(?:\/[^\s+/]+)*$/, 'must be a name without spaces and +, such as mail.example.com/audit')
    .optional()
    .register(settings, {
      description: 'The name under which audit trails are signed. Fixed at the first checkpoint.',
      fallback: 'the host of BASE_URL and /audit',
    }),
});

export type SettingName = keyof typeof Settings.shape;

/** A setting as the documentation lists it. */
export interface SettingDescription extends SettingFacts {
  readonly name: SettingName;
}

/** All settings in the order of the schema. */
export function describeSettings(): readonly SettingDescription[] {
  return (Object.keys(Settings.shape) as SettingName[]).map((name) => {
    const facts = settings.get(Settings.shape[name]);
    if (facts === undefined) throw new Error(`The setting ${name} has no description.`);
    return { name, ...facts };
  });
}

function isBaseUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, search, hash } = new URL(text);
  return /^https?:$/.test(protocol) && search === '' && hash === '' && !text.endsWith('/');
}

/** Tests only the form; the egress guard parses the network. */
function isNetwork(text: string): boolean {
  return /^\[?[0-9A-Fa-f:.]+(\/\d{1,3})?\]?(:(\d{1,5}|\*))?$/.test(text);
}

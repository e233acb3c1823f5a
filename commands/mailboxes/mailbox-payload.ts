/** A mailbox as callers read and write it (`contract.md` 4). */
import { z } from 'zod';
import { lineOfText } from '../values/input-fields.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import { effectiveRoles } from '../kernel/folders.ts';
import { MAIL_PROVIDERS, type PasswordLogin } from '../ports/mail-logins.ts';
import type { SyncStatus } from '../ports/mirror-versions.ts';
import type { Ports } from '../ports/ports.ts';

export const EmailField = z
  .string()
  .max(320)
  .regex(/^[^\s@]+@[^\s@]+$/, 'An e-mail address.');

/** Hosts as callers write them; the egress guard decides which may be reached. */
export const HostSettingsField = z.strictObject({
  host: z
    .string()
    .min(1)
    .max(253)
    .regex(/^[A-Za-z0-9._:-]+$/, 'A host name or an IP address.')
    .transform((host) => host.toLowerCase()),
  port: z.int().min(1).max(65_535),
  security: z.enum(['tls', 'starttls', 'none']).describe('none is refused anywhere but on loopback.'),
});

export const PasswordAuth = z.strictObject({
  type: z.literal('password'),
  username: z.string().min(1).max(320),
  password: z.string().min(1).max(1_024),
});

const ProviderAuth = z.strictObject({
  type: z.literal('oauth2'),
  provider: z
    .enum(MAIL_PROVIDERS)
    .describe('The mailbox waits until it is authorized by POST …/provider-authorization.'),
});

/** The password in its stored form. */
export const passwordOf = ({ username, password }: z.output<typeof PasswordAuth>): PasswordLogin => ({
  kind: 'password',
  username,
  password,
});

export const Auth = z.discriminatedUnion('type', [PasswordAuth, ProviderAuth]);
export type Auth = z.output<typeof Auth>;

export const DisplayName = lineOfText(200);

export const HostSettings = z.object({
  host: z.string(),
  port: z.int(),
  security: z.enum(['tls', 'starttls', 'none']),
});

export const Mailbox = z.object({
  id: z.string(),
  email: z.string(),
  display_name: z.string().nullable(),
  provider: z.string(),
  auth_type: z.enum(['password', 'oauth2']),
  state: z.enum(['pending', 'connecting', 'syncing', 'connected', 'degraded', 'connection_failed', 'auth_failed', 'paused', 'removed']), // prettier-ignore
  state_reason: z.string().nullable(),
  imap: HostSettings,
  smtp: HostSettings.nullable(),
  folder_roles: z.record(z.string(), z.string()).describe('Role → fld_ id.'),
  capabilities: z.array(z.string()).describe("The mail server's own words."),
  trusted_authserv_ids: z.array(z.string()),
  sync: z.object({
    last_event_at: z.string().nullable().describe('When the mail server last changed something.'),
    lag_seconds: z
      .number()
      .optional()
      .describe('Since the gateway last knew all there is; absent before the first time.'),
    indexed: z.int().describe('Messages in the index.'),
    total: z.int().describe('Messages in the mailbox.'),
    freshness: z
      .enum(['live'])
      .describe('How soon news shows. live: INBOX within 2 s, other folders within 60 s.'),
  }),
  limits: z.object({ provider_connections: z.int() }),
  created_at: z.string(),
  updated_at: z.string(),
  erase_at: z.string().optional().describe('Of a removed mailbox: until then it can be restored.'),
  version: z.int().describe('The ETag; counts up with every change, of its state too.'),
});
export type Mailbox = z.output<typeof Mailbox>;

type PayloadPorts = Pick<Ports, 'locators' | 'server' | 'clock' | 'mirrorVersions'>;

/** The mailbox from the directory and its worker's status. Throws `store_unavailable`. */
export async function describeMailbox(ports: PayloadPorts, entry: MailboxEntry): Promise<Mailbox> {
  const [described] = await describeMailboxes(ports, [entry]);
  if (!described) throw new Error('one mailbox was requested');
  return described;
}

/** As `describeMailbox`, in the order given. */
export async function describeMailboxes(
  ports: PayloadPorts,
  entries: readonly MailboxEntry[],
): Promise<Mailbox[]> {
  const statuses = await ports.mirrorVersions.statusOf(entries);
  return entries.map((entry) => payloadOf(ports, entry, statuses.get(entry.id)));
}

function syncOf({ clock }: PayloadPorts, status: SyncStatus | undefined): Mailbox['sync'] {
  const { lastEventAt = null, currentAt = null, indexed = 0, total = 0 } = status ?? {};
  const lagMs = currentAt && Math.max(0, clock.now().getTime() - currentAt.getTime());
  return {
    last_event_at: lastEventAt?.toISOString() ?? null,
    ...(lagMs === null ? {} : { lag_seconds: Math.round(lagMs / 1_000) }),
    indexed,
    total,
    freshness: 'live',
  };
}

const payloadOf = (ports: PayloadPorts, entry: MailboxEntry, status: SyncStatus | undefined): Mailbox => ({
  id: entry.id,
  email: entry.email,
  display_name: entry.displayName,
  provider: entry.provider,
  auth_type: entry.authType,
  state: entry.state,
  state_reason: entry.stateReason,
  imap: { ...entry.imap },
  smtp: entry.smtp && { ...entry.smtp },
  folder_roles: Object.fromEntries(
    Object.entries(effectiveRoles(entry)).map(([role, number]) => [
      role,
      ports.locators.folder(entry.number, number),
    ]),
  ),
  capabilities: [...entry.capabilities],
  trusted_authserv_ids: [...entry.trustedAuthservIds],
  sync: syncOf(ports, status),
  limits: { provider_connections: ports.server.limits.providerConnections },
  created_at: entry.createdAt,
  updated_at: entry.updatedAt,
  ...(entry.eraseAt === null ? {} : { erase_at: entry.eraseAt }),
  version: entry.version,
});

/** All events of a mailbox. They never contain secrets; addresses and paths are sealed. */
import { z } from 'zod';
import { defineEvent } from '../values/event.ts';
import {
  folderRole,
  hostSettings,
  instant,
  mailboxScopeList,
  principalKind,
  sealedText,
} from '../values/event-fields.ts';
import { type PublishedEvent, TOLD } from '../values/webhook-event.ts';

export const MailboxNumberReserved = defineEvent({
  type: 'MailboxNumberReserved',
  summary: 'A mailbox number was taken; sealed locators name mailboxes by it.',
  data: z.object({ mailbox_id: z.string() }),
  webhook: null,
});

const authType = z.enum(['password', 'oauth2']);

const MailboxAdded = defineEvent({
  type: 'MailboxAdded',
  summary: 'A mailbox was added; it is connected in the background.',
  data: z.object({
    number: z.int().min(1),
    email: sealedText,
    display_name: sealedText.nullable(),
    provider: z.string(),
    auth_type: authType,
    imap: hostSettings,
    smtp: hostSettings.nullable(),
  }),
  webhook: null,
});

const MailboxChanged = defineEvent({
  type: 'MailboxChanged',
  summary: 'Settings of a mailbox were changed; absent fields stayed as they were.',
  data: z.object({
    display_name: sealedText.nullable().optional(),
    imap: hostSettings.optional(),
    smtp: hostSettings.nullable().optional(),
    trusted_authserv_ids: z.array(z.string()).optional(),
    /** The mailbox logs in another way; the credentials of the old way are erased. */
    auth_type: authType.optional(),
    provider: z.string().optional(),
  }),
  webhook: null,
});

const MailboxCredentialsStored = defineEvent({
  type: 'MailboxCredentialsStored',
  summary: 'Credentials of a mailbox were stored; the secret itself is stored encrypted, outside the log.',
  data: z.object({}),
  webhook: null,
});

const MailboxProviderAuthorized = defineEvent({
  type: 'MailboxProviderAuthorized',
  summary:
    'The owner of a provider account authorized the gateway; the tokens are stored encrypted outside the log.',
  data: z.object({ provider: z.string(), account: sealedText }),
  webhook: null,
});

const MailboxProviderAuthorizationWithdrawn = defineEvent({
  type: 'MailboxProviderAuthorizationWithdrawn',
  summary:
    "A mailbox's authorization was ended and its tokens erased; `revoked` says whether the provider was informed.",
  data: z.object({ provider: z.string(), revoked: z.boolean() }),
  webhook: null,
});

const MailboxConnectionStarted = defineEvent({
  type: 'MailboxConnectionStarted',
  summary: 'The gateway began to connect a mailbox.',
  data: z.object({}),
  webhook: null,
});

const MailboxSyncStarted = defineEvent({
  type: 'MailboxSyncStarted',
  summary:
    'A mailbox answers, its server offers these capabilities; the first pass over its folders continues.',
  data: z.object({ capabilities: z.array(z.string()) }),
  webhook: null,
});

const MailboxTold = z.object({ mailbox_id: TOLD.mailboxId });
const FailureTold = MailboxTold.extend({
  reason: z.string().describe('A short code, such as login_refused or dns.'),
});
const mailboxTold = ({ subject }: PublishedEvent<unknown>): z.input<typeof MailboxTold> => ({
  mailbox_id: subject,
});

const MailboxConnected = defineEvent({
  type: 'MailboxConnected',
  summary: 'A mailbox is connected; its server offers these capabilities.',
  data: z.object({ capabilities: z.array(z.string()) }),
  webhook: {
    type: 'mailbox.connected',
    data: MailboxTold.describe('A mailbox is connected.'),
    adds: mailboxTold,
  },
});

const MailboxConnectionFailed = defineEvent({
  type: 'MailboxConnectionFailed',
  summary: 'The mail server could not be reached; it is retried with growing pauses.',
  data: z.object({ reason: z.string() }),
  webhook: { type: 'mailbox.connection_failed', data: FailureTold, adds: mailboxTold },
});

const MailboxAuthFailed = defineEvent({
  type: 'MailboxAuthFailed',
  summary: 'The mail server permanently refused the credentials.',
  data: z.object({ reason: z.string() }),
  webhook: { type: 'mailbox.auth_failed', data: FailureTold, adds: mailboxTold },
});

const MailboxDegraded = defineEvent({
  type: 'MailboxDegraded',
  summary: 'A mailbox can be used, but its server throttles the gateway: changes arrive late.',
  data: z.object({ reason: z.string() }),
  webhook: null,
});

const MailboxPaused = defineEvent({
  type: 'MailboxPaused',
  summary: 'A mailbox was paused: no connection is made until it is resumed.',
  data: z.object({}),
  webhook: null,
});

const MailboxResumed = defineEvent({
  type: 'MailboxResumed',
  summary: 'A paused mailbox was resumed.',
  data: z.object({}),
  webhook: null,
});

const MailboxRemoved = defineEvent({
  type: 'MailboxRemoved',
  summary: 'A mailbox was removed; until `erase_at` it can be restored.',
  data: z.object({ erase_at: instant }),
  webhook: null,
});

const MailboxRestored = defineEvent({
  type: 'MailboxRestored',
  summary: 'The removal of a mailbox was undone.',
  data: z.object({}),
  webhook: null,
});

const MailboxErased = defineEvent({
  type: 'MailboxErased',
  summary: 'Credentials and stored content of a removed mailbox were erased.',
  data: z.object({}),
  webhook: null,
});

const FolderAdded = defineEvent({
  type: 'FolderAdded',
  summary: 'A folder was seen for the first time and got its number.',
  data: z.object({
    number: z.int().min(1),
    path: sealedText,
    /** HMAC of the path: identifies the same path without opening it. */
    path_key: z.string(),
    /** False when it only contains other folders. */
    selectable: z.boolean().default(true),
    /** Identifies a renamed folder. */
    uid_validity: z.int().nullable().default(null),
  }),
  webhook: null,
});

const FolderAvailabilityChanged = defineEvent({
  type: 'FolderAvailabilityChanged',
  summary: 'A known folder was removed from the server, came back, or can (no longer) hold messages.',
  data: z.object({ number: z.int().min(1), availability: z.enum(['selectable', 'container', 'missing']) }),
  webhook: null,
});

const FolderRenamed = defineEvent({
  type: 'FolderRenamed',
  summary: 'The path of a folder changed; its number stays.',
  data: z.object({ number: z.int().min(1), path: sealedText, path_key: z.string() }),
  webhook: null,
});

const FolderRolesDetected = defineEvent({
  type: 'FolderRolesDetected',
  summary: 'Roles of folders, from the mail server or from their names.',
  data: z.object({ roles: z.partialRecord(folderRole, z.int()) }),
  webhook: null,
});

const FolderRolesSet = defineEvent({
  type: 'FolderRolesSet',
  summary: 'A person mapped roles to folders; null means explicitly none.',
  data: z.object({ roles: z.partialRecord(folderRole, z.int().nullable()) }),
  webhook: null,
});

const grantTerms = {
  scopes: mailboxScopeList,
  folder_roles: z.array(folderRole).nullable(),
  expires_at: instant.nullable(),
  quotas: z.record(z.string(), z.number()).nullable(),
};

const GrantGiven = defineEvent({
  type: 'GrantGiven',
  summary: 'A principal was granted scopes on a mailbox.',
  data: z.object({
    grant_id: z.string(),
    principal_id: z.string(),
    principal_kind: principalKind,
    ...grantTerms,
  }),
  webhook: null,
});

const GrantChanged = defineEvent({
  type: 'GrantChanged',
  summary: 'The terms of a grant changed.',
  data: z.object({ grant_id: z.string(), ...grantTerms }),
  webhook: null,
});

const GrantRevoked = defineEvent({
  type: 'GrantRevoked',
  summary: 'A grant was revoked.',
  data: z.object({ grant_id: z.string() }),
  webhook: null,
});

export const mailboxEvents = [
  MailboxAdded,
  MailboxChanged,
  MailboxCredentialsStored,
  MailboxProviderAuthorized,
  MailboxProviderAuthorizationWithdrawn,
  MailboxConnectionStarted,
  MailboxSyncStarted,
  MailboxConnected,
  MailboxConnectionFailed,
  MailboxAuthFailed,
  MailboxDegraded,
  MailboxPaused,
  MailboxResumed,
  MailboxRemoved,
  MailboxRestored,
  MailboxErased,
  FolderAdded,
  FolderAvailabilityChanged,
  FolderRenamed,
  FolderRolesDetected,
  FolderRolesSet,
  GrantGiven,
  GrantChanged,
  GrantRevoked,
] as const;
export type MailboxEvent = (typeof mailboxEvents)[number];

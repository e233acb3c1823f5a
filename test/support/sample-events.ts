/** One sample of each event's newest version, from which the golden files of event versions are recorded. */
import type { AnyEvent } from '../../commands/event-catalogue.ts';
import type { Fact } from '../../commands/kernel/event.ts';
import type { Sealed } from '../../commands/kernel/ports.ts';

type Samples = {
  readonly [Type in AnyEvent['type']]: Extract<Fact<AnyEvent>, { readonly type: Type }>['data'];
};

const sealed = 'sealed.v1.usr_1.AAAA' as Sealed;
const at = '2026-01-01T00:00:00.000Z';
const imap = { host: 'imap.example.com', port: 993, security: 'tls' as const };
const terms = {
  scopes: ['messages:read' as const],
  folder_roles: ['inbox' as const],
  expires_at: at,
  quotas: null,
};
const result = {
  message_id: 'msg_1',
  step: 0,
  action: 'move' as const,
  outcome: 'done' as const,
  new_message_id: 'msg_2',
};

const rejected = { address: sealed, smtp_status: 550, response: sealed };
const refusal = { code: 'provider_rejected', smtp_status: 554, response: sealed };
const draftVersion = {
  version: 1,
  envelope: sealed,
  content_id: '00000000-0000-7000-8000-000000000001',
  content_hash: 'abc',
  attachments: [{ id: 'upl_1', size: 5, sha256: 'abc' }],
};
const sendError = { code: 'outcome_unknown', message: 'Nobody knows yet.', smtp_status: null };

export const SAMPLE_EVENTS: Samples = {
  OrganisationCreated: { name: 'Example Ltd' },
  MemberAdded: { user_id: 'usr_1', role: 'owner' },
  BootstrapStarted: {
    org_id: 'org_1',
    user_id: 'usr_1',
    agent_id: 'agt_1',
    owner_key: 'abc',
    run_id: 'run-1',
  },
  BootstrapFinished: {},
  AccountRegistered: { email: sealed, name: sealed },
  EmailReserved: { owner_id: 'usr_1' },
  AgentCreated: { owner_id: 'usr_1', name: 'Triage' },
  TokenIssued: {
    principal_id: 'usr_1',
    principal_kind: 'user',
    name: 'Laptop',
    surface: 'rest',
    scopes: ['messages:read', 'audit:read'],
    mailbox_ids: ['mbx_1'],
    expires_at: at,
    secret_hash: 'abc',
  },
  TokenRevoked: {},
  PolicySet: {
    version: 1,
    rules: [
      {
        id: 'own-domain',
        when: {
          actions: ['send'],
          mailbox_ids: ['mbx_1'],
          actors: ['delegated'],
          principal_ids: ['usr_1'],
          recipient_domains: ['example.com'],
          external_recipient: false,
          first_contact: true,
          recipient_count: { max: 5 },
          attachment_types: ['image/*'],
          attachment_size: { max: 1_000 },
          bulk_count: { min: 1 },
        },
        then: { decision: 'allow' },
      },
      {
        id: 'two-eyes',
        when: {},
        then: {
          decision: 'require',
          quorum: 2,
          approver_role: 'admin',
          exclude_owner: true,
          decision_ttl: 86_400,
          commit_ttl: 3_600,
          auto_commit: false,
        },
      },
    ],
    default: { decision: 'deny' },
  },
  MailboxNumberReserved: { mailbox_id: 'mbx_1' },
  MailboxAdded: {
    number: 1,
    email: sealed,
    display_name: null,
    provider: 'imap',
    auth_type: 'password',
    imap,
    smtp: { host: 'smtp.example.com', port: 587, security: 'starttls' },
  },
  MailboxChanged: { display_name: sealed, imap, trusted_authserv_ids: ['mx.example.com'] },
  MailboxCredentialsStored: {},
  MailboxProviderAuthorized: { provider: 'google', account: sealed },
  MailboxProviderAuthorizationWithdrawn: { provider: 'google', revoked: true },
  MailboxConnectionStarted: {},
  MailboxSyncStarted: { capabilities: ['IDLE', 'MOVE'] },
  MailboxConnected: { capabilities: ['IDLE', 'MOVE'] },
  MailboxConnectionFailed: { reason: 'connect' },
  MailboxAuthFailed: { reason: 'login_refused' },
  MailboxDegraded: { reason: 'login_unavailable' },
  MailboxPaused: {},
  MailboxResumed: {},
  MailboxRemoved: { erase_at: at },
  MailboxRestored: {},
  MailboxErased: {},
  FolderAdded: { number: 1, path: sealed, path_key: 'abc', selectable: true, uid_validity: 7 },
  FolderAvailabilityChanged: { number: 1, availability: 'missing' },
  FolderRenamed: { number: 1, path: sealed, path_key: 'def' },
  FolderRolesDetected: { roles: { inbox: 1, archive: 2 } },
  FolderRolesSet: { roles: { archive: null, trash: 3 } },
  GrantGiven: { grant_id: 'grt_1', principal_id: 'agt_1', principal_kind: 'agent', ...terms },
  GrantChanged: { grant_id: 'grt_1', ...terms },
  GrantRevoked: { grant_id: 'grt_1' },
  OperationSubmitted: {
    mailbox_id: 'mbx_1',
    capability: 'email_act',
    fingerprint: 'abc',
    mode: 'execute_or_request_approval',
    reason: sealed,
    run_id: 'run-1',
    targets: [{ message_id: 'msg_1', rfc_message_id: '<1@example.com>', stale: false }],
  },
  OperationDecided: { decision: 'allow', rule_id: 'default.reversible', policy_version: 0 },
  ActionsIntended: {
    steps: [
      { action: 'set_flags', flags_add: ['\\Seen'], flags_remove: [] },
      { action: 'move', folder: 2, target_uid_validity: 7, target_uid_next: 12 },
    ],
  },
  ActionOutcomesRecorded: { results: [result] },
  ActionsReconciled: {
    results: [
      {
        ...result,
        outcome: 'failed',
        error: { code: 'mailbox_unavailable', message: 'The connection broke.' },
      },
    ],
  },
  SendIntended: { mailbox_id: 'mbx_1', draft_id: 'drf_1', draft_version: 3 },
  SendOutcomeRecorded: { outcome: 'unknown', error: sendError },
  SendReconciled: { outcome: 'done', error: null },
  OperationResolved: { outcome: 'not_done', reason: sealed },
  DraftStarted: {
    mailbox_id: 'mbx_1',
    kind: 'reply',
    source_message_id: 'msg_1',
    in_reply_to: '<1@example.com>',
    references: ['<1@example.com>'],
    draft: draftVersion,
  },
  DraftEdited: { draft: { ...draftVersion, version: 2 } },
  DraftDiscarded: { reason: 'caller' },
  DraftFrozen: {
    operation_id: 'opn_1',
    version: 2,
    content_hash: 'abc',
    message_id: '<2@example.com>',
    mime_id: '00000000-0000-7000-8000-000000000002',
    mime_sha256: 'def',
    mime_size: 2_048,
    smtp_envelope: sealed,
    needs_smtputf8: false,
    recipient_count: 1,
    frozen_at: at,
  },
  SendStarted: { operation_id: 'opn_1', content_hash: 'abc', attempt: 1, run_id: 'run-1', date: at },
  SendDataBegun: { operation_id: 'opn_1', attempt: 1, rejected: [rejected] },
  SendPostponed: { operation_id: 'opn_1', attempt: 1, ...refusal, phase: 'envelope', retry_at: at },
  DraftSent: {
    operation_id: 'opn_1',
    message_id: '<1@example.com>',
    attempt: 1,
    response: sealed,
    rejected: [rejected],
    known_by: 'server',
  },
  DraftSendFailed: {
    operation_id: 'opn_1',
    attempt: 1,
    ...refusal,
    phase: 'data',
    rejected: [],
    known_by: 'server',
  },
  DraftSendUnknown: { operation_id: 'opn_1', attempt: 1 },
  SentCopyFiled: { operation_id: 'opn_1', filed_by: 'gateway', sent_message_id: 'msg_9' },
  QuotaTaken: { operation_id: 'opn_1' },
  QuotaGivenBack: { operation_id: 'opn_1' },
  OperationCompleted: { summary: { done: 1, failed: 0, unknown: 0 } },
  MailboxChangesObserved: {
    mailbox_id: 'mbx_1',
    folder: 1,
    uid_validity: 7,
    changes: [
      { kind: 'received', locator: 'msg_2', flags: ['\\Seen', '$Work'] },
      { kind: 'updated', locator: 'msg_2', flags: ['$Work'], flags_before: ['\\Seen', '$Work'] },
      { kind: 'moved', locator: 'msg_4', flags: [], operation_id: 'opn_1', previous: 'msg_3' },
    ],
  },
  FolderIndexed: { mailbox_id: 'mbx_1', folder: 1, uid_validity: 7, count: 5_000 },
  FolderReset: { mailbox_id: 'mbx_1', folder: 1, uid_validity: 8, previous_uid_validity: 7 },
  RequestClaimed: { capability: 'create_mailbox', fingerprint: 'abc', target_id: 'mbx_1', run_id: 'run-1' },
  RequestSettled: { outcome: 'error', code: 'conflict', message: 'This mailbox exists already.' },
  BodiesRead: { mailbox_id: 'mbx_1', message_ids: ['msg_1'], what: 'text' },
  RequestRefused: { capability: 'email_act', code: 'not_found', mailbox_id: null },
  RefusalsCounted: { minute: at, code: 'unauthenticated', source: '127.0.0.1', count: 3 },
};

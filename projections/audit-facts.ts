/** The audit line of each event type. A new event type does not compile until it has one. */
import type { PastFact } from '../commands/values/event.ts';
import type { AnyEvent } from '../commands/event-catalogue.ts';
import { isMailboxId } from '../commands/values/ids.ts';
import {
  type AuditOutcome,
  DECISIONS,
  outcomeOfCode,
  outcomeOfCounts,
  outcomeOfResults,
  SEND_OUTCOMES,
} from './audit-outcomes.ts';

export interface AuditResource {
  readonly type: string;
  readonly id: string;
}

type DataOf<E extends AnyEvent> = PastFact<E>['data'];
type Derived<E extends AnyEvent, Value> = Value | ((data: DataOf<E>) => Value);

interface AuditRule<E extends AnyEvent> {
  /** What was done or requested: a capability's name, or `<thing>.<verb>`. */
  readonly action: Derived<E, string>;
  readonly outcome: Derived<E, AuditOutcome>;
  /** Absent = the mailbox of the stream, if it belongs to a mailbox or an operation. */
  readonly mailboxId?: (data: DataOf<E>) => string | null;
  /** Absent = the subject of the stream. */
  readonly resource?: (data: DataOf<E>) => AuditResource | null;
  readonly policy?: (data: DataOf<E>) => object | null;
}

const done = <Action extends string>(action: Action) => ({ action, outcome: 'allowed' as const });

/** The object whose id is in a field of the data. */
const resourceIn =
  <Field extends string>(field: Field, type: string) =>
  (data: Readonly<Record<Field, string>>): AuditResource => ({ type, id: data[field] });
const grant = resourceIn('grant_id', 'grant');
const oauthGrant = resourceIn('grant_id', 'oauth_grant');
const user = resourceIn('user_id', 'user');
const delivery = resourceIn('delivery_id', 'delivery');
const mailboxOf = (id: string | null): AuditResource | null => (id === null ? null : { type: 'mailbox', id });

const ofMailbox = {
  mailboxId: ({ mailbox_id }: { readonly mailbox_id: string }) => mailbox_id,
  resource: ({ mailbox_id }: { readonly mailbox_id: string }) => mailboxOf(mailbox_id),
};

const KINDS_OF_OWNERS: Readonly<Record<string, string>> = {
  usr_: 'user',
  agt_: 'agent',
  mbx_: 'mailbox',
};

type AuditRules = { readonly [E in AnyEvent as E['type']]: AuditRule<E> };

const rules: AuditRules = {
  LogNamed: done('log.name'),
  BootstrapStarted: { action: 'bootstrap', outcome: 'pending' },
  BootstrapFinished: done('bootstrap'),
  OrganisationCreated: done('organisation.create'),
  OrganisationRenamed: done('organisation.rename'),
  OrganisationDeleted: done('organisation.delete'),
  OrganisationRestored: done('organisation.restore'),
  OrganisationErased: done('organisation.erase'),
  OrganisationOAuthClientsSet: done('organisation.set_oauth_clients'),
  MemberAdded: { ...done('member.add'), resource: user },
  MemberRoleChanged: { ...done('member.change_role'), resource: user },
  MemberRemoved: { ...done('member.remove'), resource: user },
  InviteCreated: done('invite.create'),
  InviteResent: done('invite.resend'),
  InviteAccepted: done('invite.accept'),
  InviteSettled: done('invite.settle'),
  InviteEnded: done('invite.end'),
  SystemMailRequested: { action: 'system_mail.send', outcome: 'pending' },
  SystemMailAttempted: {
    action: 'system_mail.send',
    outcome: ({ outcome }) => (outcome === 'sent' ? 'allowed' : 'failed'),
  },
  SystemMailSkipped: done('system_mail.skip'),
  AccountRegistered: { ...done('account.register') },
  EmailVerified: done('account.verify_email'),
  AccountRenamed: done('account.rename'),
  NotificationsSet: done('account.set_notifications'),
  AccountErasureStarted: { action: 'account.erase', outcome: 'pending' },
  PersonalDataErased: {
    ...done('personal_data.erase'),
    resource: ({ owner_id: id }) => ({ type: KINDS_OF_OWNERS[id.slice(0, 4)] ?? 'source', id }),
  },
  AccountErasureStopped: { action: 'account.erase', outcome: 'failed' },
  AccountErased: done('account.erase'),
  EmailReserved: done('email.reserve'),
  EmailClaimed: done('email.claim'),
  EmailReleased: done('email.release'),
  PasswordSet: done('password.set'),
  SessionStarted: done('session.start'),
  SessionSteppedUp: done('session.step_up'),
  SessionEnded: done('session.end'),
  AgentCreated: done('agent.create'),
  AgentChanged: done('agent.change'),
  AgentDeleted: done('agent.delete'),
  TokenIssued: done('token.issue'),
  TokenChanged: done('token.change'),
  TokenRevoked: done('token.revoke'),
  TokenForgotten: done('token.forget'),
  OAuthClientRegistered: done('oauth_client.register'),
  OAuthClientChanged: done('oauth_client.change'),
  OAuthClientDeleted: done('oauth_client.delete'),
  OAuthClientSelfRegistered: done('oauth_client.register'),
  OAuthGrantGiven: done('application.connect'),
  OAuthGrantEnded: done('application.disconnect'),
  RefreshTokenRotated: { ...done('application.refresh'), resource: oauthGrant },
  PolicySet: done('policy.set'),
  LegalHoldPlaced: done('legal_hold.place'),
  LegalHoldReleaseRequested: { action: 'legal_hold.release', outcome: 'pending' },
  LegalHoldReleased: done('legal_hold.release'),
  PersonalDataErasurePostponed: { action: 'personal_data.erase', outcome: 'pending' },
  MailboxNumberReserved: { ...done('mailbox_number.reserve'), ...ofMailbox },
  MailboxAdded: done('mailbox.add'),
  MailboxChanged: done('mailbox.change'),
  MailboxCredentialsStored: done('mailbox.store_credentials'),
  MailboxProviderAuthorized: done('mailbox.authorize_provider'),
  MailboxProviderAuthorizationWithdrawn: done('mailbox.withdraw_authorization'),
  MailboxConnectionStarted: { action: 'mailbox.connect', outcome: 'pending' },
  MailboxSyncStarted: done('mailbox.sync'),
  MailboxConnected: done('mailbox.connect'),
  MailboxConnectionFailed: { action: 'mailbox.connect', outcome: 'failed' },
  MailboxAuthFailed: { action: 'mailbox.connect', outcome: 'failed' },
  MailboxDegraded: { action: 'mailbox.sync', outcome: 'failed' },
  MailboxPaused: done('mailbox.pause'),
  MailboxResumed: done('mailbox.resume'),
  MailboxRemoved: done('mailbox.remove'),
  MailboxRestored: done('mailbox.restore'),
  MailboxErased: done('mailbox.erase'),
  FolderAdded: done('folder.add'),
  FolderAvailabilityChanged: done('folder.change'),
  FolderRenamed: done('folder.rename'),
  FolderRolesDetected: done('folder_roles.detect'),
  FolderRolesSet: done('folder_roles.set'),
  GrantGiven: { ...done('grant.give'), resource: grant },
  GrantChanged: { ...done('grant.change'), resource: grant },
  GrantRevoked: { ...done('grant.revoke'), resource: grant },
  OperationSubmitted: {
    action: ({ capability }) => capability,
    outcome: 'pending',
    mailboxId: ({ mailbox_id }) => mailbox_id,
  },
  OperationDecided: {
    action: 'operation.decide',
    outcome: ({ decision }) => DECISIONS[decision],
    policy: ({ decision, rule_id, policy_version }) => ({ decision, rule_id, version: policy_version }),
  },
  ActionsIntended: { action: 'operation.run', outcome: 'pending' },
  SendIntended: { action: 'operation.run', outcome: 'pending', mailboxId: ({ mailbox_id }) => mailbox_id },
  SendOutcomeRecorded: { action: 'operation.run', outcome: ({ outcome }) => SEND_OUTCOMES[outcome] },
  SendReconciled: { action: 'operation.reconcile', outcome: ({ outcome }) => SEND_OUTCOMES[outcome] },
  OperationResolved: done('operation.resolve'),
  ActionOutcomesRecorded: { action: 'operation.run', outcome: outcomeOfResults },
  ActionsReconciled: { action: 'operation.reconcile', outcome: outcomeOfResults },
  OperationCompleted: { action: 'operation.complete', outcome: ({ summary }) => outcomeOfCounts(summary) },
  ApprovalRequested: { action: 'approval.request', outcome: 'pending' },
  ApprovalVoteCast: {
    action: 'approval.vote',
    outcome: ({ decision }) => (decision === 'approve' ? 'allowed' : 'denied'),
  },
  ApprovalGranted: done('approval.grant'),
  CommitScheduled: { action: 'approval.schedule_commit', outcome: 'pending' },
  CommitStarted: {
    action: 'approval.commit',
    outcome: 'pending',
    policy: ({ policy: { rule_id, policy_version } }) => ({ rule_id, version: policy_version }),
  },
  CommitAttemptFailed: { action: 'approval.commit', outcome: 'failed' },
  ApprovalRejected: { action: 'approval.reject', outcome: 'denied' },
  ApprovalCancelled: done('approval.cancel'),
  ApprovalExpired: { action: 'approval.expire', outcome: 'denied' },
  ApprovalSuperseded: { action: 'approval.supersede', outcome: 'denied' },
  ApprovalInvalidated: { action: 'approval.invalidate', outcome: 'denied' },
  ApprovalCommitted: done('approval.commit'),
  ApprovalCommitFailed: { action: 'approval.commit', outcome: 'failed' },
  DraftStarted: { ...done('draft.start'), mailboxId: ({ mailbox_id }) => mailbox_id },
  DraftEdited: done('draft.edit'),
  DraftDiscarded: done('draft.discard'),
  DraftFrozen: { action: 'draft.send', outcome: 'pending' },
  DraftReleased: done('draft.release'),
  SendScheduled: { action: 'draft.send', outcome: 'pending' },
  SendStarted: { action: 'draft.send', outcome: 'pending' },
  SendDataBegun: { action: 'draft.send', outcome: 'pending' },
  SendPostponed: { action: 'draft.send', outcome: 'pending' },
  DraftSent: done('draft.send'),
  DraftSendFailed: { action: 'draft.send', outcome: 'failed' },
  DraftSendUnknown: { action: 'draft.send', outcome: 'pending' },
  SentCopyFiled: done('draft.file_copy'),
  DeliveryReportReceived: {
    action: 'draft.delivery_report',
    outcome: ({ recipients }) =>
      recipients.some(({ action }) => action === 'failed') ? 'failed' : 'allowed',
  },
  QuotaTaken: done('quota.take'),
  QuotaGivenBack: done('quota.give_back'),
  MailboxChangesObserved: { ...done('mailbox.observe'), ...ofMailbox },
  FolderIndexed: { ...done('folder.index'), ...ofMailbox },
  FolderReset: { ...done('folder.reset'), ...ofMailbox },
  WebhookEndpointCreated: done('webhook_endpoint.create'),
  WebhookEndpointChanged: done('webhook_endpoint.change'),
  WebhookEndpointPaused: done('webhook_endpoint.pause'),
  WebhookEndpointResumed: done('webhook_endpoint.resume'),
  WebhookEndpointDisabled: { action: 'webhook_endpoint.disable', outcome: 'failed' },
  WebhookSecretRotated: done('webhook_endpoint.rotate_secret'),
  WebhookEndpointRemoved: done('webhook_endpoint.remove'),
  WebhookDeliveryReplayed: { action: 'delivery.replay', outcome: 'pending', resource: delivery },
  WebhookReplayRequested: { action: 'webhook_endpoint.replay', outcome: 'pending' },
  WebhookDeliveriesQueued: { action: 'delivery.queue', outcome: 'pending', resource: () => null },
  WebhookDeliveryEnded: {
    action: 'delivery.attempt',
    outcome: ({ status }) => (status === 'succeeded' ? 'allowed' : 'failed'),
    resource: delivery,
  },
  AuditCheckpointSealed: done('audit.seal'),
  AuditEpochStarted: done('audit.begin_epoch'),
  AuditSealBroken: { action: 'audit.verify', outcome: 'failed' },
  AuditVerified: done('audit.verify'),
  AuditCheckpointAnchored: done('audit.anchor'),
  AuditKeyRotated: done('audit.rotate_key'),
  AuditKeyRevoked: done('audit.revoke_key'),
  AuditDisclosed: done('audit.disclose'),
  AuditExported: done('audit.export'),
  RequestClaimed: {
    action: ({ capability }) => capability,
    outcome: 'pending',
    mailboxId: ({ target_id }) => (target_id != null && isMailboxId(target_id) ? target_id : null),
  },
  RequestSettled: {
    action: 'request.settle',
    outcome: ({ outcome, code }) => (outcome === 'ok' ? 'allowed' : outcomeOfCode(code ?? 'internal_error')),
  },
  BodiesRead: {
    ...done('messages.read_bodies'),
    mailboxId: ({ mailbox_id }) => mailbox_id,
    resource: ({ mailbox_id, draft_ids: [draftId, ...others] = [] }) =>
      draftId !== undefined && others.length === 0 ? { type: 'draft', id: draftId } : mailboxOf(mailbox_id),
  },
  AttachmentUploaded: {
    ...done('draft.upload_attachment'),
    mailboxId: ({ mailbox_id }) => mailbox_id,
    resource: ({ draft_id }) => ({ type: 'draft', id: draft_id }),
  },
  RequestRefused: {
    action: ({ capability }) => capability ?? 'request',
    outcome: ({ code }) => outcomeOfCode(code),
    mailboxId: ({ mailbox_id }) => mailbox_id,
    resource: ({ mailbox_id }) => mailboxOf(mailbox_id),
    policy: ({ policy = null }) => policy,
  },
  PolicyDenied: {
    action: ({ capability }) => capability ?? 'request',
    outcome: 'denied',
    mailboxId: ({ mailbox_id }) => mailbox_id,
    resource: ({ mailbox_id }) => mailboxOf(mailbox_id),
    policy: ({ policy }) => policy,
  },
  RefusalsCounted: {
    action: 'request',
    outcome: ({ code }) => outcomeOfCode(code),
    resource: () => null,
  },
};

/** What the rule of a type derives from one event; `undefined` where the stream decides. */
interface AuditFacts {
  readonly action: string;
  readonly outcome: AuditOutcome;
  readonly mailboxId: string | null | undefined;
  readonly resource: AuditResource | null | undefined;
  readonly policy: object | null;
}

/** The auditor's view of a fact. */
export function auditFacts(fact: PastFact<AnyEvent>): AuditFacts {
  // A type's rule takes that type's data; the compiler cannot connect the two.
  const rule = rules[fact.type] as unknown as AuditRule<AnyEvent>;
  const data = fact.data;
  return {
    action: typeof rule.action === 'function' ? rule.action(data) : rule.action,
    outcome: typeof rule.outcome === 'function' ? rule.outcome(data) : rule.outcome,
    mailboxId: rule.mailboxId?.(data),
    resource: rule.resource?.(data),
    policy: rule.policy?.(data) ?? null,
  };
}

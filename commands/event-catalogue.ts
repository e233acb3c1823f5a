/** Every event the gateway can read, by type. An event that is missing here cannot be projected. */
import { accountEvents, emailEvents } from './accounts/account.ts';
import { exportEvents } from './audit/export-events.ts';
import { sealEvents } from './audit/seal-events.ts';
import { sessionEvents } from './accounts/session.ts';
import { quotaEvents } from './operations/send-quota.ts';
import { draftEvents } from './drafts/draft-events.ts';
import { DeliveryReportReceived } from './drafts/report-events.ts';
import { feedEvents } from './feed/feed-events.ts';
import {
  AttachmentUploaded,
  BodiesRead,
  PolicyDenied,
  RefusalsCounted,
  RequestRefused,
} from './kernel/access-events.ts';
import { legalHoldEvents } from './legal-holds/legal-hold.ts';
import { catalogueOf } from './values/event.ts';
import { RequestClaimed, RequestSettled } from './kernel/idempotency.ts';
import { LogNamed } from './kernel/log-identity.ts';
import { PersonalDataErased } from './kernel/personal-data.ts';
import { mailboxEvents, MailboxNumberReserved } from './mailboxes/mailbox-events.ts';
import { RefreshTokenRotated } from './oauth/token-events.ts';
import { oauthClientEvents } from './oauth/oauth-client.ts';
import { oauthGrantEvents } from './oauth/oauth-grant.ts';
import { operationEvents } from './operations/operation-events.ts';
import { agentEvents } from './organisation/agent.ts';
import { bootstrapEvents } from './organisation/bootstrap-reservation.ts';
import { inviteEvents } from './organisation/invite.ts';
import { organisationEvents } from './organisation/organisation-events.ts';
import { tokenEvents } from './organisation/token.ts';
import { systemMailEvents } from './system-mail/system-mail.ts';
import { policyEvents } from './policy/policy-events.ts';
import { deliveryEvents } from './webhooks/delivery-events.ts';
import { endpointEvents } from './webhooks/endpoint-events.ts';

export const allEvents = [
  LogNamed,
  ...bootstrapEvents,
  ...organisationEvents,
  ...inviteEvents,
  ...systemMailEvents,
  ...accountEvents,
  ...emailEvents,
  ...sessionEvents,
  ...agentEvents,
  ...tokenEvents,
  ...oauthClientEvents,
  ...oauthGrantEvents,
  ...policyEvents,
  ...legalHoldEvents,
  PersonalDataErased,
  MailboxNumberReserved,
  ...mailboxEvents,
  ...operationEvents,
  ...draftEvents,
  DeliveryReportReceived,
  ...quotaEvents,
  ...feedEvents,
  ...endpointEvents,
  ...deliveryEvents,
  ...sealEvents,
  ...exportEvents,
  RefreshTokenRotated,
  RequestClaimed,
  RequestSettled,
  BodiesRead,
  AttachmentUploaded,
  RequestRefused,
  PolicyDenied,
  RefusalsCounted,
] as const;
export type AnyEvent = (typeof allEvents)[number];

export const eventCatalogue = catalogueOf(allEvents);

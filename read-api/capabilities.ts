/** Every capability that exists. An unlisted one has no route, tool, scope check or documentation. */
import { changePassword } from '../commands/accounts/change-password.ts';
import { createSessionToken } from '../commands/accounts/session-token.ts';
import { deleteSession, revokeSessions, signOut } from '../commands/accounts/sign-out.ts';
import { stepUpSession } from '../commands/accounts/sign-in.ts';
import { switchOrganisation } from '../commands/accounts/switch-organisation.ts';
import { cancelApproval } from '../commands/approvals/cancel-approval.ts';
import { commitApproval } from '../commands/approvals/commit-approval.ts';
import { decideApproval } from '../commands/approvals/decide-approval.ts';
import { wantsToCopy, wantsToExpunge, wantsToMove } from '../commands/approvals/wants-to-act.ts';
import { sendDraftCapability, wantsToSendDraft } from '../commands/sending/send-draft.ts';
import { deleteDraftCapability, discardDraftCapability } from '../commands/drafts/discard-draft.ts';
import { editDraftCapability, patchDraftCapability } from '../commands/drafts/edit-draft.ts';
import { replyToThreadCapability, startDraftCapability } from '../commands/drafts/start-draft.ts';
import { uploadAttachment } from '../commands/drafts/upload-attachment.ts';
import { actOnEmail } from '../commands/email/act-on-email.ts';
import {
  endProviderAuthorization,
  startProviderAuthorization,
} from '../commands/mailboxes/authorize-provider.ts';
import { placeLegalHold, releaseLegalHold } from '../commands/legal-holds/manage-holds.ts';
import { createMailbox, deleteMailbox, updateMailbox } from '../commands/mailboxes/manage-mailboxes.ts';
import { discoverMailbox } from '../commands/mailboxes/discover-mailbox.ts';
import { createGrant, deleteGrant, updateGrant } from '../commands/mailboxes/manage-grants.ts';
import { putFolderRoles } from '../commands/mailboxes/set-folder-roles.ts';
import { putCredentials } from '../commands/mailboxes/store-credentials.ts';
import { testConnection } from '../commands/mailboxes/test-connection.ts';
import {
  archiveMessages,
  copyMessages,
  markAsSpam,
  moveMessages,
  setFlags,
  trashMessages,
} from '../commands/messages/act-on-messages.ts';
import { createAgent } from '../commands/organisation/add-agent.ts';
import { deleteAgent, updateAgent } from '../commands/organisation/manage-agents.ts';
import { removeMemberCapability, updateMember } from '../commands/organisation/manage-members.ts';
import {
  createAnotherOrganisation,
  deleteOrganisation,
  updateOrganisation,
} from '../commands/organisation/manage-organisation.ts';
import { decideAuthorizationRequest } from '../commands/oauth/decide-authorization-request.ts';
import { disconnectApplication } from '../commands/oauth/disconnect-application.ts';
import {
  createOAuthClient,
  deleteOAuthClient,
  updateOAuthClient,
} from '../commands/oauth/manage-oauth-clients.ts';
import { createToken, deleteToken, updateToken } from '../commands/organisation/manage-tokens.ts';
import { createInvite, deleteInvite, resendInvite } from '../commands/organisation/manage-invites.ts';
import { deleteMe, updateMe } from '../commands/organisation/own-account.ts';
import { putPolicy } from '../commands/policy/set-policy.ts';
import { toggleAdvancedTools } from '../commands/accounts/toggle-advanced-tools.ts';
import {
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  updateWebhookEndpoint,
} from '../commands/webhooks/manage-endpoints.ts';
import { replayDelivery, replayWebhookEndpoint } from '../commands/webhooks/replay-deliveries.ts';
import { rotateWebhookSecret } from '../commands/webhooks/rotate-secret.ts';
import { testWebhookEndpoint } from '../commands/webhooks/test-endpoint.ts';
import { emailRequests } from './approvals/email-requests.ts';
import { downloadApprovalAttachment } from './approvals/approval-attachment.ts';
import { approvalEvidence } from './approvals/evidence/get-evidence.ts';
import { getApproval, listApprovals, previewApproval } from './approvals/read-approvals.ts';
import { exportAudit } from './audit/export-audit.ts';
import { getCheckpoint, listAnchors, listCheckpoints, sealCheckpoint } from './audit/checkpoint-routes.ts';
import { getAuditProof, getConsistency } from './audit/proof-routes.ts';
import { getAuditEvent, listAuditEvents } from './audit/read-audit.ts';
import { getVerification, listAuditKeys, verifyAudit } from './audit/verification-routes.ts';
import { getSession, listSessions } from './auth/sessions.ts';
import { defineRegistry } from './capability-registry.ts';
import { getDraft, listDrafts, readDraft, readDraftContent } from './drafts/read-drafts.ts';
import { queryEmail } from './email/query-email.ts';
import { getIdentity } from './identity/get-identity.ts';
import { listGrants } from './mailboxes/list-grants.ts';
import { getFolderRoles, getMailbox, listMailboxes } from './mailboxes/mailboxes.ts';
import { downloadAttachment, getAttachment } from './messages/get-attachment.ts';
import { getMessage } from './messages/get-message.ts';
import { getRawMessage } from './messages/get-raw-message.ts';
import { listFolders } from './messages/list-folders.ts';
import { listMessages } from './messages/read-messages.ts';
import { getOperation, listOperations } from './operations/read-operations.ts';
import { resolveOperation } from './operations/resolve-route.ts';
import { getAgent, listAgents } from './organisation/list-agents.ts';
import { getOrganisation } from './organisation/get-organisation.ts';
import { getMember, listMembers } from './organisation/list-members.ts';
import { exportMe } from './organisation/export-me.ts';
import { getMe } from './organisation/get-me.ts';
import { getLegalHold, listLegalHolds } from './legal-holds/list-legal-holds.ts';
import { listInvites } from './organisation/list-invites.ts';
import { getConnectedApplication, listConnectedApplications } from './oauth/list-connected-applications.ts';
import { getOAuthClient, listOAuthClients } from './oauth/list-oauth-clients.ts';
import { readAuthorizationRequest } from './oauth/read-authorization-request.ts';
import { getToken, listTokens } from './organisation/list-tokens.ts';
import { getPolicy, listPolicyVersions } from './policy/get-policy.ts';
import { simulatePolicy } from './policy/simulate-policy.ts';
import { awaitEmail } from './waiting/await-email.ts';
import { monitorApproval } from './waiting/monitor-approval.ts';
import { monitorInbox } from './waiting/monitor-inbox.ts';
import { getDelivery, listDeliveries } from './webhooks/read-deliveries.ts';
import { getWebhookEndpoint, listWebhookEndpoints } from './webhooks/read-endpoints.ts';

export const capabilities = defineRegistry([
  getIdentity,
  toggleAdvancedTools,
  queryEmail,
  actOnEmail,
  awaitEmail,
  emailRequests,
  listMessages,
  getMessage,
  getRawMessage,
  downloadAttachment,
  getAttachment,
  monitorInbox,
  monitorApproval,
  listFolders,
  moveMessages,
  copyMessages,
  trashMessages,
  markAsSpam,
  archiveMessages,
  setFlags,
  wantsToMove,
  wantsToCopy,
  wantsToExpunge,
  decideApproval,
  cancelApproval,
  commitApproval,
  startDraftCapability,
  replyToThreadCapability,
  listDrafts,
  readDraft,
  readDraftContent,
  getDraft,
  editDraftCapability,
  patchDraftCapability,
  wantsToSendDraft,
  sendDraftCapability,
  discardDraftCapability,
  deleteDraftCapability,
  uploadAttachment,
  listMailboxes,
  createMailbox,
  discoverMailbox,
  getMailbox,
  updateMailbox,
  deleteMailbox,
  putCredentials,
  startProviderAuthorization,
  endProviderAuthorization,
  testConnection,
  getFolderRoles,
  putFolderRoles,
  listGrants,
  createGrant,
  updateGrant,
  deleteGrant,
  listTokens,
  createToken,
  getToken,
  updateToken,
  deleteToken,
  readAuthorizationRequest,
  decideAuthorizationRequest,
  listConnectedApplications,
  getConnectedApplication,
  disconnectApplication,
  listOAuthClients,
  createOAuthClient,
  getOAuthClient,
  updateOAuthClient,
  deleteOAuthClient,
  listAgents,
  createAgent,
  getAgent,
  updateAgent,
  deleteAgent,
  getOrganisation,
  createAnotherOrganisation,
  updateOrganisation,
  deleteOrganisation,
  listMembers,
  getMember,
  updateMember,
  removeMemberCapability,
  listInvites,
  createInvite,
  resendInvite,
  deleteInvite,
  getMe,
  updateMe,
  deleteMe,
  exportMe,
  getPolicy,
  putPolicy,
  listPolicyVersions,
  simulatePolicy,
  listLegalHolds,
  placeLegalHold,
  getLegalHold,
  releaseLegalHold,
  listApprovals,
  getApproval,
  previewApproval,
  downloadApprovalAttachment,
  approvalEvidence,
  listOperations,
  getOperation,
  resolveOperation,
  listWebhookEndpoints,
  createWebhookEndpoint,
  getWebhookEndpoint,
  updateWebhookEndpoint,
  deleteWebhookEndpoint,
  rotateWebhookSecret,
  testWebhookEndpoint,
  replayWebhookEndpoint,
  listDeliveries,
  getDelivery,
  replayDelivery,
  listAuditEvents,
  listCheckpoints,
  getConsistency,
  getCheckpoint,
  sealCheckpoint,
  exportAudit,
  listAnchors,
  listAuditKeys,
  verifyAudit,
  getVerification,
  getAuditEvent,
  getAuditProof,
  getSession,
  listSessions,
  deleteSession,
  revokeSessions,
  signOut,
  stepUpSession,
  switchOrganisation,
  createSessionToken,
  changePassword,
]);

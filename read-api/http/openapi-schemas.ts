/** JSON Schemas of the OpenAPI document; a schema shared by several operations is a component. */
import { z } from 'zod';
import { Session } from '../../commands/accounts/session.ts';
import { AttachmentInput, Headers, PatchFields } from '../../commands/drafts/draft-input.ts';
import { AddressInput } from '../../commands/drafts/mail-address.ts';
import { ActOperation } from '../../commands/email/act-operations.ts';
import { Attachment, Draft, DraftContent, SkippedRecipient } from '../../commands/operations/draft-shape.ts';
import { GrantQuotas } from '../../commands/kernel/grant-quotas.ts';
import { FilterSchema } from '../../commands/mail/mail-filter.ts';
import { PolicyCondition, PolicyEffect, PolicyRule } from '../../commands/values/policy-document.ts';
import { Cardinality } from '../../commands/mail/select.ts';
import { Grant } from '../../commands/mailboxes/manage-grants.ts';
import { FolderRoleMap } from '../../commands/mailboxes/set-folder-roles.ts';
import { Auth, HostSettingsField, Mailbox } from '../../commands/mailboxes/mailbox-payload.ts';
import { Approval, ListedApproval } from '../../commands/operations/approval-payload.ts';
import { ApprovalWarning } from '../../commands/operations/approval-warnings.ts';
import { ApprovalTold } from '../../commands/operations/approval-events.ts';
import { Confirmation } from '../../commands/operations/confirmation.ts';
import { ActionsManifest, Manifest, SendManifest } from '../../commands/operations/manifest.ts';
import { Hold, HoldTarget } from '../../commands/legal-holds/hold-payload.ts';
import { Action } from '../../commands/messages/actions.ts';
import { Summary } from '../../commands/operations/operation-events.ts';
import { OperationReply } from '../../commands/operations/operation.ts';
import { Application, ConnectedApplication, OAuthClient } from '../../commands/oauth/application-payload.ts';
import { Agent } from '../../commands/organisation/add-agent.ts';
import { Invite } from '../../commands/organisation/manage-invites.ts';
import { Token } from '../../commands/organisation/manage-tokens.ts';
import { Me } from '../../commands/organisation/own-account.ts';
import { Member, Organisation } from '../../commands/organisation/organisation-payload.ts';
import { OrgPolicy } from '../../commands/policy/set-policy.ts';
import {
  MessageTold,
  Sequence,
  Timestamp,
  webhookKinds,
  WithheldPayload,
} from '../../commands/webhook-catalogue.ts';
import { ApprovalPreview } from '../approvals/preview/approval-preview.ts';
import { AuditLine } from '../audit/audit-line.ts';
import { CheckpointItem } from '../audit/checkpoint-routes.ts';
import { NamedLine } from '../audit/read-audit.ts';
import { Body } from '../messages/message-body.ts';
import { Message } from '../messages/message-view.ts';
import { MessagePage, ThreadItem } from '../messages/read-messages.ts';
import { Folder } from '../messages/list-folders.ts';
import { Operation, OperationListed } from '../operations/operation-view.ts';
import { Page } from '../paging/page.ts';
import { Delivery } from '../../commands/webhooks/delivery-payload.ts';
import { WebhookEndpoint } from '../../commands/webhooks/endpoint-payload.ts';
import type { Json } from './openapi-components.ts';

type Direction = 'input' | 'output';
type Named = Readonly<Record<string, z.core.$ZodType>>;

/** The operations of email.act, which policy simulation accepts too. */
const actOperations = (): Named =>
  Object.fromEntries(ActOperation.options.map((option) => [nameOf(option.shape.type.value), option]));

const nameOf = (type: string): string =>
  type.replaceAll(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** The payloads of webhooks. */
const payloads = (): Named =>
  Object.fromEntries(webhookKinds.map(({ type, payload }) => [`${nameOf(type)}Payload`, payload]));

/** Schemas that requests share, closed to unknown fields. One also used in answers has another name there. */
const REQUESTS: Named = {
  Action,
  AddressInput,
  AttachmentInput,
  Cardinality,
  Filter: FilterSchema,
  GrantQuotas,
  HeadersInput: Headers,
  HostSettings: HostSettingsField,
  MailboxAuth: Auth,
  ...actOperations(),
  DraftAttachmentChanges: PatchFields.attachments.unwrap().unwrap(),
  PolicyConditionInput: PolicyCondition,
  PolicyEffectInput: PolicyEffect,
  PolicyRuleInput: PolicyRule,
};

const ANSWERS: Named = {
  ActionsManifest,
  Agent,
  Application,
  Approval,
  ApprovalConfirmation: Confirmation,
  ApprovalEnd: ListedApproval.shape.invalidated.unwrap(),
  ApprovalExecution: ListedApproval.shape.execution.unwrap(),
  ApprovalListed: ListedApproval,
  ApprovalOfOperation: OperationReply.shape.approval.unwrap(),
  ApprovalPrevious: ApprovalPreview.shape.previous.unwrap(),
  ApprovalQuorum: ListedApproval.shape.quorum,
  ApprovalRunBy: ListedApproval.shape.run_by.unwrap(),
  ApprovalVote: ListedApproval.shape.votes.element,
  ApprovalWarning,
  AuditActor: AuditLine.shape.actor,
  AuditLine,
  AuditLineNamed: NamedLine,
  Body,
  Checkpoint: CheckpointItem,
  CheckpointAnchor: CheckpointItem.shape.anchors.element,
  ConnectedApplication,
  Delivery,
  DeliveryPayload: Delivery.shape.payload,
  Draft,
  DraftAttachment: Attachment,
  DraftContent,
  DraftDeliveryReport: Draft.shape.delivery_reports.unwrap().element,
  Folder,
  FolderRoleMap,
  Grant,
  Hold,
  HoldRelease: Hold.shape.release.unwrap(),
  HoldTarget,
  Invite,
  InvitedGrant: Invite.shape.mailbox_grants.element,
  Mailbox,
  MailPage: MessagePage.shape.page,
  Manifest,
  Me,
  OrganisationOfPerson: Me.shape.organisations.element,
  Member,
  MemberConsequences: Member.shape.consequences,
  Message,
  OAuthClient,
  Operation,
  OperationCounts: Summary,
  OperationError: Operation.shape.error.unwrap(),
  OperationListed,
  OperationPreview: OperationReply.shape.preview.unwrap(),
  OperationReply,
  OperationResult: OperationReply.shape.results.element,
  Organisation,
  OrgPolicy,
  Page,
  PolicyCondition,
  PolicyEffect,
  PolicyRule,
  SendManifest,
  Session,
  SkippedRecipient,
  Thread: ThreadItem,
  Token,
  ...payloads(),
  PayloadApproval: ApprovalTold,
  PayloadMessage: MessageTold,
  PayloadSequence: Sequence,
  PayloadTimestamp: Timestamp,
  WebhookEndpoint,
  WithheldPayload,
};

/** The descriptions of the schemas, and the ids by which zod distinguishes some of them. */
class Names extends z.core.$ZodRegistry<z.core.GlobalMeta> {
  constructor(named: Named) {
    super();
    for (const [id, schema] of Object.entries(named)) this.add(schema, { id });
  }

  override get<Schema extends z.core.$ZodType>(
    schema: Schema,
  ): z.core.$replace<z.core.GlobalMeta, Schema> | undefined {
    const own = super.get(schema);
    return own === undefined ? z.globalRegistry.get(schema) : { ...z.globalRegistry.get(schema), ...own };
  }
}

const NAMES: Readonly<Record<Direction, Names>> = { input: new Names(REQUESTS), output: new Names(ANSWERS) };

const REF = '#/$defs/';

/** Turns references into the schema itself into references to the components of the document. */
const referring = (schema: unknown): Json =>
  JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === '$ref' && typeof value === 'string' ? value.replace(REF, '#/components/schemas/') : value,
  ) as Json;

function convert(schema: z.core.$ZodType, io: Direction): { readonly own: Json; readonly shared: Json } {
  const {
    $schema: _dialect,
    $defs = {},
    ...own
  } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    metadata: NAMES[io],
    // An object of an answer may gain fields; a request is closed to unknown fields.
    override: ({ jsonSchema }) => {
      if (io === 'output' && jsonSchema.additionalProperties === false)
        delete jsonSchema.additionalProperties;
    },
  });
  return { own: referring(own), shared: referring($defs) };
}

/** The schema, with references to the shared schemas it contains. */
export const schemaOf = (schema: z.core.$ZodType, io: Direction): Json => convert(schema, io).own;

const componentsOf = (named: Named, io: Direction): Json =>
  Object.assign({}, ...Object.values(named).map((schema) => convert(schema, io).shared)) as Json;

/** Every referenced schema, by its name. */
export const sharedSchemas = (): Json => ({
  ...componentsOf(REQUESTS, 'input'),
  ...componentsOf(ANSWERS, 'output'),
});

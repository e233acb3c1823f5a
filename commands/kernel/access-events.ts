/** The events of a process's own access stream: reads of bodies, uploads and refusals (`contract.md` 12). */
import { z } from 'zod';
import type { ReadRecord, Request } from './capability.ts';
import { type About, type Author, envelope } from './decide-and-append.ts';
import { credentialIds, defineEvent } from '../values/event.ts';
import type { AccessEntry, Ports } from '../ports/ports.ts';
import type { ActorKind, Caller } from './access.ts';
import type { Sealed } from '../values/sealed.ts';
import { sealedOr } from '../values/event-fields.ts';
import { TOLD } from '../values/webhook-event.ts';

export const BodiesRead = defineEvent({
  type: 'BodiesRead',
  summary:
    'Message bodies, raw messages, attachments, drafts or approvals were read; one event per request and mailbox.',
  data: z.object({
    mailbox_id: z.string(),
    message_ids: z.array(z.string()),
    what: z.enum(['text', 'raw', 'attachment', 'approval', 'draft']),
    attachment_ids: z.array(z.string()).optional(),
    approval_ids: z.array(z.string()).optional(),
    draft_ids: z.array(z.string()).optional(),
  }),
  webhook: null,
});

export const AttachmentUploaded = defineEvent({
  type: 'AttachmentUploaded',
  summary: 'A file was uploaded for a draft; its bytes are in the content store.',
  data: z.object({
    mailbox_id: z.string(),
    draft_id: z.string(),
    upload_id: z.string(),
    size: z.int(),
  }),
  webhook: null,
});

/** The rule that decided, which every decision names (`contract.md` 8). */
const DecidingRule = z.object({ decision: z.string(), rule_id: z.string(), version: z.int() });

const refused = { capability: z.string().nullable(), mailbox_id: z.string().nullable() };

export const RequestRefused = defineEvent({
  type: 'RequestRefused',
  summary: 'A request of a known caller was refused.',
  data: z.object({
    ...refused,
    code: z.string(),
    /** The rule that requires an approval, for a refusal for this reason. */
    policy: DecidingRule.optional(),
  }),
  webhook: null,
});

export const PolicyDenied = defineEvent({
  type: 'PolicyDenied',
  summary: 'A rule of the policy denied the request of a known caller.',
  data: z.object({ ...refused, code: z.literal('policy_denied'), policy: DecidingRule }),
  webhook: {
    type: 'policy.denied',
    data: z.object({
      capability: z.string().nullable().describe('What was requested.'),
      mailbox_id: TOLD.mailboxId.nullable(),
      rule_id: z.string().describe('The rule that denied it.'),
      policy_version: z.int().describe('The version of the policy; 0 = the built-in one.'),
    }),
    adds: ({ data: { policy } }) => ({ rule_id: policy.rule_id, policy_version: policy.version }),
  },
});

/** In version 1 of the event: more sources than are counted one by one. */
const MANY_SOURCES = 'others';

export const RefusalsCounted = defineEvent({
  type: 'RefusalsCounted',
  summary: 'Refusals that are not recorded one by one, counted per minute and source.',
  data: z.object({
    minute: z.iso.datetime(),
    code: z.string(),
    /** Of a known caller. */
    credential_id: z.string().nullable(),
    /** Where requests of unknown callers came from, sealed for the day; null for a known caller, and for many sources. */
    source: sealedOr(z.string()).nullable(),
    count: z.int().min(1),
  }),
  upcasters: [
    ({ source, ...data }) => {
      const isCredential = typeof source === 'string' && /^(?:tok|ses|oag)_/.test(source);
      const clear = isCredential || source === MANY_SOURCES ? null : { clear: source };
      return { ...data, credential_id: isCredential ? source : null, source: clear };
    },
  ],
  webhook: null,
});

/** Owners of sealed sources begin with this. */
export const SOURCE_OWNER = 'net_';

/** The owner of sources of the day of a time (RFC 3339): its key is erased after a month. */
export const sourceOwnerAt = (time: string): string =>
  `${SOURCE_OWNER}${time.slice(0, 10).replaceAll('-', '')}`;

export function readEntry(author: Author, now: Date, read: ReadRecord): AccessEntry {
  const [approvalId, ...others] = read.approvalIds ?? [];
  const about = {
    mailbox_id: read.mailboxId,
    // With several approvals the event is about none of them.
    ...(approvalId === undefined || others.length > 0 ? {} : { approval_id: approvalId }),
  };
  return {
    type: BodiesRead.type,
    data: {
      mailbox_id: read.mailboxId,
      message_ids: read.messageIds,
      what: read.what,
      ...(read.attachmentIds === undefined ? {} : { attachment_ids: read.attachmentIds }),
      ...(read.approvalIds === undefined ? {} : { approval_ids: read.approvalIds }),
      ...(read.draftIds === undefined ? {} : { draft_ids: read.draftIds }),
    },
    metadata: envelope(author, BodiesRead, now, about),
  };
}

export const uploadEntry = (
  author: Author,
  now: Date,
  data: z.input<typeof AttachmentUploaded.data>,
): AccessEntry => ({
  type: AttachmentUploaded.type,
  data,
  metadata: envelope(author, AttachmentUploaded, now, { mailbox_id: data.mailbox_id }),
});

interface Refusal {
  readonly capability: string | null;
  readonly code: string;
  readonly mailboxId: string | null;
  /** The objects that the request named. */
  readonly about?: About;
  /** Of the error: a decision of the policy is recorded with its rule and version. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** The event of a refusal; a denial by the policy has its own type. */
export function refusalEntry(author: Author, now: Date, refusal: Refusal): AccessEntry {
  const { capability, code, mailboxId, details = {} } = refusal;
  const policy = DecidingRule.safeParse(details['policy']).data;
  const event = code === 'policy_denied' && policy ? PolicyDenied : RequestRefused;
  const data = { capability, code, mailbox_id: mailboxId, ...(policy && { policy }) };
  return { type: event.type, data, metadata: envelope(author, event, now, refusal.about) };
}

interface KnownCredential {
  readonly id: string;
  readonly orgId: string;
  readonly principalId: string;
  readonly actor: ActorKind;
}

interface KnownRequest {
  readonly credential: KnownCredential;
  readonly client: Sealed | null;
  readonly surface: Request['surface'];
  readonly requestId: string;
}

export const credentialOf = ({ token, org, principal, actor }: Caller): KnownCredential => ({
  id: token.id,
  orgId: org.id,
  principalId: principal.id,
  actor,
});

/** The author of the events of a request with this credential. */
export const requestAuthor = ({ credential, client, surface, requestId }: KnownRequest): Author => ({
  orgId: credential.orgId,
  actor: {
    type: credential.actor,
    id: credential.principalId,
    ...credentialIds(credential.id),
    ...(client === null ? {} : { client }),
  },
  surface,
  requestId,
  correlationId: requestId,
  causationId: requestId,
});

/**
 * Records a refused request of a known caller in the audit trail (`contract.md` 12). Resolves when it is stored. A refusal
 * that cannot be stored, or whose author cannot be sealed, is only counted: the caller must be answered. Never rejects.
 */
export async function recordRefusal(
  { accessLog, clock, log }: Pick<Ports, 'accessLog' | 'clock' | 'log'>,
  author: Author | Promise<Author>,
  refusal: Refusal,
): Promise<void> {
  const { code, capability } = refusal;
  try {
    await accessLog.record(refusalEntry(await author, clock.now(), refusal));
  } catch (error) {
    accessLog.countRefusal(code, 'store-away');
    log.warn('access log: refusal not recorded', { code, capability, error: String(error) });
  }
}

/**
 * An organisation's policy in its written form (`contract.md` 8): ordered rules, and a default when none
 * matches.
 */
import { domainToASCII } from 'node:url';
import { z } from 'zod';
import { CustomHeaderName } from './header-fields.ts';

export const POLICY_ACTIONS = [
  'draft_create',
  'draft_reply',
  'draft_edit',
  'draft_discard',
  'send',
  'set_flags',
  'move',
  'copy',
  'archive',
  'spam',
  'not_spam',
  'trash',
  'expunge',
] as const;
export type PolicyAction = (typeof POLICY_ACTIONS)[number];

/** Roles that may approve, least strict first. */
export const APPROVER_ROLES = ['approver', 'admin', 'owner'] as const;

const DAY_SECONDS = 24 * 60 * 60;
const MAX_RULES = 200;
const MAX_VALUES = 100;

const undoSeconds = z
  .int()
  .min(0)
  .max(3_600)
  .optional()
  .describe('How long a commit or a send is held back and may be cancelled; absent = 0.');

const Allow = z.strictObject({ decision: z.literal('allow'), undo_seconds: undoSeconds });
const Require = z.strictObject({
  decision: z.literal('require'),
  quorum: z.int().min(1).max(10).default(1).describe('Approvals wanted.'),
  approver_role: z.enum(APPROVER_ROLES).default('approver').describe('The least role an approver has.'),
  exclude_owner: z.boolean().default(false).describe('The person behind a request may not approve it.'),
  decision_ttl: z
    .int()
    .min(60)
    .max(7 * DAY_SECONDS)
    .default(DAY_SECONDS)
    .describe('Seconds.'),
  commit_ttl: z.int().min(60).max(DAY_SECONDS).default(3_600).describe('Seconds.'),
  auto_commit: z.boolean().optional().describe('Absent = as the mode of the request has it.'),
  undo_seconds: undoSeconds,
});
const Deny = z.strictObject({ decision: z.literal('deny') });

export const PolicyEffect = z.discriminatedUnion('decision', [Allow, Require, Deny]);
export type PolicyEffect = z.output<typeof PolicyEffect>;
export type RequireEffect = z.output<typeof Require>;

const values = <Value extends z.ZodType>(value: Value) => z.array(value).min(1).max(MAX_VALUES).optional();

/** Both ends inclusive. */
const Range = z
  .strictObject({ min: z.int().min(0).optional(), max: z.int().min(0).optional() })
  .refine(({ min, max }) => min !== undefined || max !== undefined, 'Give min, max or both.')
  .refine(({ min = 0, max = min }) => min <= max, 'min is more than max.');
export type Range = z.output<typeof Range>;

const isDomain = (domain: string): boolean =>
  /^(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(domain);

/** The domain in its wire form (RFC 5890), in lower case; other text only in lower case. */
export function wireForm(domain: string): string {
  const [, star = '', rest = ''] = /^(\*\.)?(.*)$/s.exec(domain.toLowerCase()) ?? [];
  return `${star}${domainToASCII(rest) || rest}`;
}

/**
 * True when a domain in its wire form matches the pattern; `*.example.com` matches its subdomains, not the
 * domain itself.
 */
export const isOfDomain = (pattern: string, domain: string): boolean =>
  pattern.startsWith('*.') ? domain.endsWith(pattern.slice(1)) : domain === pattern;

const Domain = z
  .string()
  .max(255)
  .transform(wireForm)
  .pipe(z.string().refine(isDomain, 'Not a domain: write example.com, or *.example.com for its subdomains.'));

const ContentType = z
  .string()
  .max(200)
  .transform((type) => type.toLowerCase())
  .pipe(
    z
      .string()
      .refine(
        (type) => /^(?:\*\/\*|[a-z0-9!#$&^_.+-]+\/(?:\*|[a-z0-9!#$&^_.+-]+))$/.test(type),
        'Not a content type: write application/pdf, image/* or */*.',
      ),
  );

/** All given conditions must hold; an absent one always holds. */
export const PolicyCondition = z.strictObject({
  actions: values(z.enum(POLICY_ACTIONS)),
  mailbox_ids: values(z.string().max(64)),
  actors: values(z.enum(['person', 'delegated', 'agent'])),
  principal_ids: values(z.string().max(64)),
  recipient_domains: values(Domain).describe('Of a send: the domain of a recipient.'),
  external_recipient: z.boolean().optional().describe('Of a send: in none of internal_domains.'),
  first_contact: z
    .boolean()
    .optional()
    .describe('Of a send: the gateway has sent this recipient nothing from this mailbox yet.'),
  recipient_count: Range.optional(),
  attachment_types: values(ContentType),
  attachment_size: Range.optional().describe('Bytes of one attachment.'),
  bulk_count: Range.optional().describe('Messages of one operation.'),
});
export type PolicyCondition = z.output<typeof PolicyCondition>;

export const RuleId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'An id is of a-z, 0-9, dot, dash and underscore.');

export const PolicyRule = z.strictObject({
  id: RuleId,
  when: PolicyCondition,
  then: PolicyEffect,
});
export type PolicyRule = z.output<typeof PolicyRule>;

export const PolicyRules = z.array(PolicyRule).max(MAX_RULES);

/** Domains inside the organisation. Only the policy makes a domain internal. */
export const InternalDomains = z
  .array(Domain)
  .max(MAX_VALUES)
  .describe(
    'Recipients in these domains are internal: example.com is that domain alone, *.example.com its subdomains. None = all are external.',
  );

/** Custom fields that mail may contain. */
export const CustomHeaders = z
  .array(CustomHeaderName)
  .max(MAX_VALUES)
  .describe('X- fields that mail may carry, such as X-Ticket; none = none. Their case does not matter.');

/** The policy in force; version 0 is only the built-in policy. */
export interface Policy {
  readonly version: number;
  readonly internal_domains: readonly string[];
  /** In lower case. */
  readonly custom_headers: readonly string[];
  readonly rules: readonly PolicyRule[];
  /** Applies when no rule matches; null = the default of the built-in policy. */
  readonly default: PolicyEffect | null;
}

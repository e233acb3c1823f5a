/** The input form of a policy, and all its possible errors, each with its rule. */
import { z } from 'zod';
import type { DirectoryState } from '../ports/directory.ts';
import { GatewayError } from '../values/errors.ts';
import { sentenceOf } from '../kernel/input-issues.ts';
import {
  CustomHeaders,
  InternalDomains,
  PolicyEffect,
  type PolicyRule,
  PolicyRules,
  RuleId,
} from '../values/policy-document.ts';
import { isReserved } from './built-in-policy.ts';
import { memberOfOrg } from '../kernel/membership.ts';

interface Issue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

const Document = z
  .strictObject({
    version: z
      .int()
      .min(0)
      .optional()
      .describe('The version this one was made from; refused when it is old.'),
    internal_domains: InternalDomains.default([]),
    custom_headers: CustomHeaders.default([]),
    rules: PolicyRules,
    default: PolicyEffect.nullable()
      .default(null)
      .describe('Where no rule matches; null = the built-in policy.'),
  })
  .superRefine(({ rules, default: own }, context) => {
    const issues = [...rules.flatMap((rule, index) => ruleIssues(rule, index, rules)), ...defaultIssues(own)];
    for (const { path, message } of issues) context.addIssue({ code: 'custom', path: [...path], message });
  });

/**
 * Strict. The message of an issue inside a rule names the rule, because a position in a list is hard to find.
 */
export const PolicyDocument = z.preprocess((written, context) => {
  const issues = Document.safeParse(written, { error: sentenceOf }).error?.issues ?? [];
  // The schema itself reports the issues outside the rules.
  if (!issues.some(({ path: [root] }) => root === 'rules')) return written;
  for (const issue of issues.flatMap(eachKey)) {
    context.issues.push({ ...issue, message: inItsRule(issue, rulesOf(written)), input: undefined });
  }
  return z.NEVER;
}, Document);
export type PolicyDocument = z.output<typeof Document>;

/**
 * Splits the issue of unknown fields in a rule into one per field. Issues outside the rules stay as in any
 * request.
 */
const eachKey = (issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] =>
  issue.code === 'unrecognized_keys' && issue.path[0] === 'rules'
    ? issue.keys.map((key) => ({
        code: 'custom',
        path: [...issue.path, key],
        message: issue.message,
        params: {},
      }))
    : [issue];

const rulesOf = (written: unknown): readonly unknown[] => {
  const { rules } = z
    .object({ rules: z.array(z.unknown()) })
    .catch({ rules: [] })
    .parse(written);
  return rules;
};

const Named = z.object({ id: RuleId });

/** An invalid id is not repeated in the message: it may be any text. */
function inItsRule({ path: [root, index], message }: Issue, rules: readonly unknown[]): string {
  const named = Named.safeParse(root === 'rules' ? rules[Number(index)] : null);
  return named.success ? `Rule ${named.data.id}: ${message}` : message;
}

const OF_A_SEND = [
  'recipient_domains',
  'external_recipient',
  'first_contact',
  'recipient_count',
  'attachment_types',
  'attachment_size',
] as const;

/** The errors of a rule whose fields are each valid. */
function ruleIssues(
  { id, when, then }: PolicyRule,
  index: number,
  rules: readonly PolicyRule[],
): readonly Issue[] {
  const issues: Issue[] = [];
  if (isReserved(id))
    issues.push({ path: ['rules', index, 'id'], message: 'This id is kept for the built-in policy.' });
  if (rules.findIndex((other) => other.id === id) < index) {
    issues.push({ path: ['rules', index, 'id'], message: 'Another rule has this id.' });
  }
  const condition = OF_A_SEND.find((name) => when[name] !== undefined);
  if (condition && when.actions && !when.actions.includes('send')) {
    const message = 'Only a send has recipients and attachments: this rule would never match.';
    issues.push({ path: ['rules', index, 'when', condition], message });
  }
  if (holdsBack(then) && !isOfSendsOnly(when)) {
    issues.push({ path: ['rules', index, 'then', 'undo_seconds'], message: ONLY_SENDS_WAIT });
  }
  return issues;
}

const ONLY_SENDS_WAIT =
  'Allowed actions run at once unless they are sends: name the action send, or remove undo_seconds.';

/** True for an effect that holds back an action without an approval. */
const holdsBack = (effect: PolicyEffect): boolean =>
  effect.decision === 'allow' && (effect.undo_seconds ?? 0) > 0;

const isOfSendsOnly = (when: PolicyRule['when']): boolean =>
  OF_A_SEND.some((name) => when[name] !== undefined) ||
  when.actions?.every((action) => action === 'send') === true;

const defaultIssues = (own: PolicyEffect | null): readonly Issue[] =>
  own !== null && holdsBack(own) ? [{ path: ['default', 'undo_seconds'], message: ONLY_SENDS_WAIT }] : [];

/** Issues for unknown ids: a rule about a misspelt mailbox would silently protect none. */
function unknownIds(state: DirectoryState, orgId: string, { rules }: PolicyDocument): readonly Issue[] {
  const isMailbox = (id: string): boolean => state.mailboxes.get(id)?.orgId === orgId;
  const isPrincipal = (id: string): boolean =>
    memberOfOrg(state, orgId, id) !== null || state.agents.get(id)?.orgId === orgId;
  return rules.flatMap(({ when }, index) => [
    ...without(isMailbox, when.mailbox_ids, ['rules', index, 'when', 'mailbox_ids']),
    ...without(isPrincipal, when.principal_ids, ['rules', index, 'when', 'principal_ids']),
  ]);
}

const without = (
  isKnown: (id: string) => boolean,
  ids: readonly string[] | undefined,
  at: Issue['path'],
): readonly Issue[] =>
  (ids ?? []).flatMap((id, index) =>
    isKnown(id) ? [] : [{ path: [...at, index], message: 'There is no such id in this organisation.' }],
  );

/** `invalid_request` with `details.issues`. */
export const invalidPolicy = (issues: readonly Issue[]): GatewayError =>
  new GatewayError('invalid_request', 'The policy does not have the expected shape; see details.issues.', {
    details: {
      issues: issues.map(({ path, message }) => ({
        path: path.map(String).join('.'),
        code: 'custom',
        message,
      })),
    },
  });

/**
 * Throws `invalid_request` for a policy that names mailboxes or principals the organisation does not have.
 * `at` = the path of the policy in the input.
 */
export function assertIdsKnown(
  state: DirectoryState,
  orgId: string,
  document: PolicyDocument,
  at: readonly string[] = [],
): void {
  const unknown = unknownIds(state, orgId, document);
  if (unknown.length === 0) return;
  throw invalidPolicy(
    unknown.map((issue) => ({
      path: [...at, ...issue.path],
      message: inItsRule(issue, document.rules),
    })),
  );
}

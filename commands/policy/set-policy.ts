/** Setting an organisation's policy. Whoever calls this has made sure that a person may. */
import { z } from 'zod';
import { type Author, decideAndAppend } from '../kernel/decide-and-append.ts';
import type { DirectoryState } from '../kernel/directory.ts';
import { GatewayError } from '../kernel/errors.ts';
import type { Fact } from '../kernel/event.ts';
import { canonicalJson } from '../kernel/idempotency.ts';
import { type Policy, PolicyEffect, type PolicyRule, PolicyRules } from '../kernel/policy-document.ts';
import type { Ports } from '../kernel/ports.ts';
import { isReserved } from './built-in-policy.ts';
import { policy, type PolicySet } from './policy-events.ts';

interface Issue {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** A policy as a person writes it. */
export const PolicyDocument = z
  .strictObject({
    version: z
      .int()
      .min(0)
      .optional()
      .describe('The version this one was made from; refused when it is old.'),
    rules: PolicyRules,
    default: PolicyEffect.nullable()
      .default(null)
      .describe('Where no rule matches; null = the built-in policy.'),
  })
  .superRefine(({ rules }, context) => {
    for (const issue of rules.flatMap((rule, index) => ruleIssues(rule, index, rules)))
      context.addIssue({ code: 'custom', path: [...issue.path], message: issue.message });
  });
export type PolicyDocument = z.output<typeof PolicyDocument>;

const OF_A_SEND = [
  'recipient_domains',
  'external_recipient',
  'first_contact',
  'recipient_count',
  'attachment_types',
  'attachment_size',
] as const;

/** What makes a rule a mistake although each of its fields is fine. */
function ruleIssues({ id, when }: PolicyRule, index: number, rules: readonly PolicyRule[]): readonly Issue[] {
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
  return issues;
}

/** Ids that name nobody and nothing: a rule about a misspelt mailbox would silently protect none. */
function unknownIds(state: DirectoryState, orgId: string, { rules }: PolicyDocument): readonly Issue[] {
  const isMailbox = (id: string): boolean => state.mailboxes.get(id)?.orgId === orgId;
  const isPrincipal = (id: string): boolean =>
    state.roles.has(`${orgId}/${id}`) || state.agents.get(id)?.orgId === orgId;
  const check = (
    ids: readonly string[] | undefined,
    field: string,
    index: number,
    isKnown: (id: string) => boolean,
  ) =>
    (ids ?? []).flatMap((id, at): Issue[] =>
      isKnown(id)
        ? []
        : [
            {
              path: ['rules', index, 'when', field, at],
              message: 'There is no such id in this organisation.',
            },
          ],
    );
  return rules.flatMap(({ when }, index) => [
    ...check(when.mailbox_ids, 'mailbox_ids', index, isMailbox),
    ...check(when.principal_ids, 'principal_ids', index, isPrincipal),
  ]);
}

const invalid = (issues: readonly Issue[]): GatewayError =>
  new GatewayError('invalid_request', 'The policy does not have the expected shape; see details.issues.', {
    details: {
      issues: issues.map(({ path, message }) => ({ path: path.join('.'), code: 'custom', message })),
    },
  });

/** Checks what a person wrote, unknown ids included. Throws `invalid_request` with `details.issues`. */
export function readPolicyDocument(state: DirectoryState, orgId: string, written: unknown): PolicyDocument {
  const parsed = PolicyDocument.safeParse(written);
  if (!parsed.success) {
    throw invalid(parsed.error.issues.map(({ path, message }) => ({ path: path.map(String), message })));
  }
  const unknown = unknownIds(state, orgId, parsed.data);
  if (unknown.length > 0) throw invalid(unknown);
  return parsed.data;
}

export type PolicyPorts = Pick<Ports, 'events' | 'ids' | 'clock' | 'directory'>;

/**
 * Puts the policy in force; one that says the same adds nothing. Resolves when every process decides by it or answers
 * no more. Throws `version_conflict` when it was made from another version than the one in force.
 */
export async function setPolicy(
  ports: PolicyPorts,
  author: Author,
  orgId: string,
  document: PolicyDocument,
): Promise<{ readonly version: number; readonly changed: boolean }> {
  const { state, appended, position } = await decideAndAppend(ports, author, policy, {
    id: orgId,
    decide: (inForce): readonly Fact<typeof PolicySet>[] => {
      if (contentOf(inForce) === contentOf(document)) return [];
      if (document.version !== undefined && document.version !== inForce.version) throw outdated(inForce);
      const { rules, default: own } = document;
      return [{ type: 'PolicySet', data: { version: inForce.version + 1, rules, default: own } }];
    },
  });
  // Also when nothing was added: an earlier try may have been cut off before other processes had to know.
  if (position !== null) await ports.directory.waitFor(position);
  return { version: state.version, changed: appended !== null };
}

const contentOf = ({ rules, default: own }: Pick<Policy, 'rules' | 'default'>): string =>
  canonicalJson({ rules, default: own });

const outdated = ({ version }: Policy): GatewayError =>
  new GatewayError(
    'version_conflict',
    `Version ${String(version)} is in force; this policy was made from another one.`,
    { details: { version } },
  );

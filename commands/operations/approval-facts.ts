/** What an approver sees before the decision: the sentence to confirm, warnings, whether it is their own. */
import { z } from 'zod';
import type { DirectoryState, MailboxEntry } from '../ports/directory.ts';
import { domainsOf } from '../policy/address-look.ts';
import { policyInForce } from '../policy/decide-for-caller.ts';
import { Confirmation, confirmationOf } from './confirmation.ts';
import { ApprovalWarning, OWN_REQUEST, worstFirst } from './approval-warnings.ts';
import { personBehind } from './eligible-approvers.ts';
import type { Manifest } from './manifest.ts';

export const ApprovalFacts = z.object({
  confirmation: Confirmation.nullable().describe(
    'What an approver confirms; null once the mailbox was erased.',
  ),
  warnings: z
    .array(ApprovalWarning)
    .optional()
    .describe('Warnings at the time of the request, worst first; absent if none were recorded.'),
  own_request: z
    .boolean()
    .optional()
    .describe('You are the person behind the request; absent in reports to several callers.'),
});
export type ApprovalFacts = z.output<typeof ApprovalFacts>;

export interface FactsOf {
  /** Null once the mailbox was erased. */
  readonly manifest: Manifest | null;
  readonly mailbox: Pick<MailboxEntry, 'orgId' | 'email'> | undefined;
  /** Null where none were recorded, or they were erased. */
  readonly warnings: readonly ApprovalWarning[] | null;
  readonly isOwn: boolean | null;
}

export function approvalFacts(
  state: Pick<DirectoryState, 'policies'>,
  { manifest, mailbox, warnings, isOwn }: FactsOf,
): ApprovalFacts {
  const all = warnings === null ? null : worstFirst([...warnings, ...(isOwn === true ? [OWN_REQUEST] : [])]);
  const domains = mailbox && domainsOf(policyInForce(state, mailbox.orgId), mailbox.email);
  return {
    confirmation: manifest === null || !domains ? null : confirmationOf(manifest, domains, all?.length ?? 0),
    ...(all === null ? {} : { warnings: all }),
    ...(isOwn === null ? {} : { own_request: isOwn }),
  };
}

/** True when the viewer is the person in whose name it was requested; null without a viewer. */
export const isOwnRequest = (
  state: Pick<DirectoryState, 'agents'>,
  by: { readonly id: string },
  viewerId: string | undefined,
): boolean | null => (viewerId === undefined ? null : personBehind(state, by) === viewerId);

/** How often a principal may do something in one mailbox (`contract.md` 3, `quotas` of a grant). A name that is not enforced does not exist. */
import { z } from 'zod';
import type { DirectoryState } from '../ports/directory.ts';

const MOST_SENDS = 10_000;

/** Strict: a quota that is misspelt would limit nothing. */
export const GrantQuotas = z.strictObject({
  sends_per_hour: z.int().min(1).max(MOST_SENDS).describe('Mails sent from this mailbox in one hour.'),
});

/** Name → most. */
export type Quotas = Readonly<Record<string, number>>;

/** What holds where both hold: of each name the smaller number. Null = no limit. */
export const tighterQuotas = (a: Quotas | null, b: Quotas | null): Quotas | null =>
  a === null || b === null
    ? (a ?? b)
    : Object.fromEntries(
        [...new Set([...Object.keys(a), ...Object.keys(b)])].map((name) => [
          name,
          Math.min(a[name] ?? Infinity, b[name] ?? Infinity),
        ]),
      );

/** True when `quotas` let nothing be done more often than `bound` does. */
export const quotasWithin = (bound: Quotas | null, quotas: Quotas | null): boolean =>
  Object.entries(bound ?? {}).every(([name, most]) => (quotas?.[name] ?? Infinity) <= most);

/** Of a principal's grant on a mailbox; an agent is bound by its owner's too. Null = no limit. */
export function quotasOn(
  { agents, grants, grantIds }: Pick<DirectoryState, 'agents' | 'grants' | 'grantIds'>,
  mailboxId: string,
  principalId: string,
): Quotas | null {
  const of = (id: string): Quotas | null =>
    grants.get(grantIds.get(mailboxId)?.get(id) ?? '')?.quotas ?? null;
  const owner = agents.get(principalId)?.ownerId;
  return owner === undefined ? of(principalId) : tighterQuotas(of(principalId), of(owner));
}

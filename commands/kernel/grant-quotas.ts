/** How often a principal may act in one mailbox (`contract.md` 3). */
import { z } from 'zod';
import type { DirectoryState } from '../ports/directory.ts';

const MOST_SENDS = 10_000;

/** Strict, as a misspelt quota would limit nothing. */
export const GrantQuotas = z.strictObject({
  sends_per_hour: z.int().min(1).max(MOST_SENDS).describe('Mails sent from this mailbox in one hour.'),
});

/** Name → most. */
export type Quotas = Readonly<Record<string, number>>;

/** Both limits together: the smaller number of each name. Null = no limit. */
export const tighterQuotas = (a: Quotas | null, b: Quotas | null): Quotas | null =>
  a === null || b === null
    ? (a ?? b)
    : Object.fromEntries(
        [...new Set([...Object.keys(a), ...Object.keys(b)])].map((name) => [
          name,
          Math.min(a[name] ?? Infinity, b[name] ?? Infinity),
        ]),
      );

/** True when `quotas` allow nothing more often than `bound` does. */
export const quotasWithin = (bound: Quotas | null, quotas: Quotas | null): boolean =>
  Object.entries(bound ?? {}).every(([name, most]) => (quotas?.[name] ?? Infinity) <= most);

/** The quotas of a principal's grant on a mailbox; its owner's quotas limit an agent too. Null = no limit. */
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

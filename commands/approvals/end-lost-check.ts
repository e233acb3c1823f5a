/** Ends a check about messages that are not there any more (`contract.md` 4 and 10). */
import type { Ports } from '../kernel/ports.ts';
import { systemAuthor } from '../kernel/system-author.ts';
import { decideNow } from '../operations/approvals/decide-now.ts';
import { invalidateCheck } from '../operations/approvals/end-check.ts';
import { type FoldersNow, hasLostTargets } from '../operations/approvals/lost-targets.ts';

/** Of a check of message actions: no draft waits for it. Nothing for one whose messages may be there, or that is not open. */
export async function endLostCheck(
  ports: Ports,
  { operationId, orgId }: { readonly operationId: string; readonly orgId: string | null },
  folders: Omit<FoldersNow, 'locators'>,
): Promise<void> {
  const now = { ...folders, locators: ports.locators };
  await decideNow(ports, systemAuthor(ports, orgId), {
    operationId,
    decide: (check, moment) =>
      hasLostTargets(check, now) ? invalidateCheck(check, { reason: 'targets_gone', now: moment }) : [],
  });
}

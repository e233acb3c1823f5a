/** Whether a send may go out that was asked for a while ago: a role, a grant or a policy may have changed (`contract.md` 2). */
import type { Ports } from '../ports/ports.ts';
import { assertRightsKnown, requesterNow } from '../operations/requester.ts';
import type { OperationState } from '../operations/operation.ts';
import { decideSend, policyInForce } from '../policy/decide-for-caller.ts';
import type { DraftState } from '../drafts/draft.ts';
import { liesWithin } from '../drafts/load-draft.ts';
import { sendContentOf } from './send-content.ts';

/**
 * Why whoever asked could not send this directly any more; null when nothing forbids it. Throws `conflict` when the content
 * of the draft was erased, `store_unavailable` while this process may lack a change of rights.
 */
export async function refusedToday(
  ports: Pick<Ports, 'directory' | 'locators' | 'personal' | 'contacts' | 'clock'>,
  asked: OperationState,
  draft: DraftState,
): Promise<'insufficient_scope' | 'policy_denied' | null> {
  assertRightsKnown(ports.directory);
  const { state } = ports.directory;
  const standing = requesterNow(state, asked, { scopes: ['drafts:send'], now: ports.clock.now() });
  if (typeof standing === 'string' || asked.submitted === null) return 'insufficient_scope';
  if (!liesWithin(ports.locators, standing, draft)) return 'insufficient_scope';
  const { by, orgId } = asked.submitted;
  const acting = { mailboxId: standing.mailbox.id, actor: by.type, principalId: by.id };
  const content = await sendContentOf(ports, draft);
  const { decision } = decideSend(policyInForce(state, orgId ?? ''), acting, content);
  return decision === 'allow' ? null : 'policy_denied';
}

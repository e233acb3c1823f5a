/** What policy says of writing a draft: allowed to all unless an organisation says otherwise (`contract.md` 8). */
import type { Context } from '../kernel/capability.ts';
import { authorizeOperation } from '../operations/authorize-operation.ts';
import { decideActionPolicy } from '../policy/decide-for-caller.ts';

export type DraftAction = 'draft_create' | 'draft_reply' | 'draft_edit' | 'draft_discard';

/** Asked before the key is taken. Throws `policy_denied`; `approval_required`, since a draft has no check of its own. */
export function authorizeDraft(context: Context, mailboxId: string, action: DraftAction): void {
  authorizeOperation('execute', decideActionPolicy(context, mailboxId, [action]));
}

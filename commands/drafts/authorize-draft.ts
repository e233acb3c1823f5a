/** What policy says of writing a draft: allowed to all unless an organisation says otherwise (`contract.md` 8). */
import type { Context } from '../kernel/capability.ts';
import type { IdPrefix } from '../values/ids.ts';
import { authorizeOperation } from '../operations/authorize-operation.ts';
import { decideActionPolicy } from '../policy/decide-for-caller.ts';

export interface DraftWrite {
  readonly mailboxId: string;
  readonly action: 'draft_create' | 'draft_reply' | 'draft_edit' | 'draft_discard';
  /** Of what would be written or thrown away. */
  readonly contentHash: string;
}

/** Lets a write begin, called once nothing else can be refused. Gives the id of the draft that is made, or of the claim. */
export type Admit = (write: DraftWrite) => Promise<string>;

/**
 * Asks policy, then takes the Idempotency-Key. Throws `policy_denied`, `approval_required`, since a draft has no check of
 * its own, and what taking a key throws.
 */
export const admittedAs =
  (context: Context, prefix: IdPrefix): Admit =>
  async ({ mailboxId, action }) => {
    const policy = decideActionPolicy(context, mailboxId, [action]);
    authorizeOperation({ mode: 'execute', policy, mayRequest: false });
    return await context.claim(prefix, mailboxId);
  };

/** Drafts of removed mailboxes. */
import { decideAndAppend, systemAuthor } from '../kernel/decide-and-append.ts';
import { GatewayError } from '../values/errors.ts';
import type { Ports } from '../ports/ports.ts';
import { discardDraft } from './decide-draft.ts';
import { draft } from './draft.ts';

export interface OrphanedDraft {
  readonly draftId: string;
  readonly orgId: string | null;
}

/**
 * Discards a draft whose mailbox was removed (`contract.md` 4). A draft that is being sent is left to its
 * send.
 */
export async function discardOrphan(ports: Ports, { draftId, orgId }: OrphanedDraft): Promise<void> {
  try {
    await decideAndAppend(ports, systemAuthor(ports, orgId), draft, {
      id: draftId,
      decide: (state) => discardDraft(state, 'mailbox_removed', null),
    });
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'draft_locked') throw error;
  }
}

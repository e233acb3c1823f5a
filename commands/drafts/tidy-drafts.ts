/** What is left to do after drafts: discard those of removed mailboxes, erase what was stored for discarded ones. */
import { decideAndAppend } from '../kernel/decide-and-append.ts';
import { GatewayError } from '../values/errors.ts';
import type { Ports } from '../ports/ports.ts';
import { systemAuthor } from '../kernel/system-author.ts';
import { discardDraft } from './decide-draft.ts';
import { draft } from './draft.ts';

export interface OrphanedDraft {
  readonly draftId: string;
  readonly orgId: string | null;
}

/** Discards drafts whose mailbox was removed (`contract.md` 4); one that is being sent is left to its send. */
export async function discardOrphans(ports: Ports, orphans: readonly OrphanedDraft[]): Promise<void> {
  for (const { draftId, orgId } of orphans) {
    try {
      await decideAndAppend(ports, systemAuthor(ports, orgId), draft, {
        id: draftId,
        decide: (state) => discardDraft(state, 'mailbox_removed', null),
      });
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== 'draft_locked') throw error;
    }
  }
}

/** Erases what discarded drafts still hold, and uploads nobody named in time. */
export async function eraseLeftContent(ports: Ports, discardedIds: readonly string[]): Promise<void> {
  for (const id of discardedIds) await ports.content.eraseDraft(id);
  await ports.content.eraseExpired(ports.clock.now());
}

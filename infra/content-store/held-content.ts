/** Which stored content a legal hold keeps, as conditions on `vault.content as c`. */
import { heldContent } from '../../commands/kernel/legal-holds.ts';
import type { Directory } from '../../commands/ports/directory.ts';

export type HoldsKnown = Pick<Directory, 'untilCurrent' | 'state'>;

export interface Erasable {
  /** With parameters from `$2` on. */
  readonly condition: string;
  readonly parameters: readonly (readonly string[])[];
  /** False when nothing is held. */
  readonly mayKeep: boolean;
}

/** Content that was never complete belongs to nobody. While a hold may be missing here (not `isCurrent`), everything else is kept. */
export function erasable(state: Directory['state'], isCurrent: boolean): Erasable {
  if (!isCurrent) return { condition: 'c.sealed_facts is null', parameters: [], mayKeep: true };
  const held = heldContent(state);
  if (held === null) return { condition: 'true', parameters: [], mayKeep: false };
  const { mailboxIds, draftIds, startedBy } = held;
  const byPeople = `exists (select from read.draft d
    where d.id = c.draft_id and d.org_id || '/' || (d.state->>'createdBy') = any($4::text[]))`;
  return {
    condition: `(c.sealed_facts is null or not (c.mailbox_id = any($2::text[]) or c.draft_id = any($3::text[])
      ${startedBy.length > 0 ? `or ${byPeople}` : ''}))`,
    parameters: [mailboxIds, draftIds, ...(startedBy.length > 0 ? [startedBy] : [])],
    mayKeep: true,
  };
}

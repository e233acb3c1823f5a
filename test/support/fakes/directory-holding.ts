/** A directory that knows legal holds and nothing else. */
import type { Directory } from '../../../commands/ports/directory.ts';
import type { HoldTarget, LegalHoldEntry } from '../../../commands/ports/legal-holds.ts';
import type { Sealed } from '../../../commands/values/sealed.ts';

/** An active hold of `org_1`. */
export const holdOn = (
  id: string,
  ...targets: readonly (Pick<HoldTarget, 'type' | 'id'> & Partial<HoldTarget>)[]
): LegalHoldEntry => ({
  id,
  orgId: 'org_1',
  name: 'Example v. Sample',
  reason: 'sealed' as Sealed,
  targets: targets.map((target) => ({ mailboxId: null, draftId: null, ...target })),
  state: 'active',
  createdAt: '2026-03-01T12:00:00.000Z',
  createdBy: 'usr_1',
  release: null,
  postponed: [],
});

export interface DirectoryHolding extends Directory {
  isCurrent: boolean;
  readonly holds: Map<string, LegalHoldEntry>;
  hold(...entries: readonly LegalHoldEntry[]): void;
}

/** `known`: what else is in it. */
export function directoryHolding(known: Partial<Directory['state']> = {}): DirectoryHolding {
  const holds = new Map<string, LegalHoldEntry>();
  const state = { legalHolds: holds, agentOwners: new Map(), mailboxes: new Map(), ...known };
  const directory: DirectoryHolding = {
    holds,
    hold: (...entries) => {
      holds.clear();
      for (const entry of entries) holds.set(entry.id, entry);
    },
    state: state as unknown as Directory['state'],
    version: 1,
    isCurrent: true,
    untilCurrent: () => Promise.resolve(directory.isCurrent),
    waitFor: () => Promise.resolve(),
    waitForAll: () => Promise.resolve(),
  };
  return directory;
}

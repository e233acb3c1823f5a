/** Legal holds as callers see them. */
import { z } from 'zod';
import { membersOf, orgScopesOf } from '../kernel/membership.ts';
import type { DirectoryState } from '../ports/directory.ts';
import { HOLD_STATES, HOLD_TARGETS, type LegalHoldEntry } from '../ports/legal-holds.ts';
import type { Ports } from '../ports/ports.ts';
import type { Sealed } from '../values/sealed.ts';

export const HoldTarget = z.strictObject({
  type: z.enum(HOLD_TARGETS),
  id: z.string().min(1).max(64).describe('usr_…, mbx_…, drf_… or chk_…; one that was erased too.'),
});

export const Hold = z.object({
  id: z.string(),
  name: z.string(),
  reason: z.string().nullable(),
  targets: z.array(HoldTarget),
  state: z.enum(HOLD_STATES).describe('It counts until it is `released`.'),
  created_at: z.string(),
  created_by: z.string(),
  release: z
    .object({
      requested_at: z.string(),
      requested_by: z.string(),
      reason: z.string().nullable(),
      released_at: z.string().nullable(),
      released_by: z.string().nullable(),
    })
    .nullable(),
  awaits: z
    .enum(['second_person', 'operator'])
    .nullable()
    .describe(
      'While its release is requested: who has to release it, the operator where no second person manages legal holds.',
    ),
  postponed_erasures: z
    .array(z.string())
    .describe('People and mailboxes whose erasure met it, and waits until it is released.'),
});
export type Hold = z.output<typeof Hold>;

/** People of an organisation who may place and release holds now. */
export const holdManagers = (state: DirectoryState, orgId: string): readonly string[] =>
  membersOf(state, orgId)
    .map(({ userId }) => userId)
    .filter((userId) => orgScopesOf(state, orgId, userId).includes('holds:manage'));

type Used = Pick<Ports, 'directory' | 'personal'>;

export async function describeHold({ directory, personal }: Used, entry: LegalHoldEntry): Promise<Hold> {
  const open = (text: Sealed | null): Promise<string | null> =>
    text === null ? Promise.resolve(null) : personal.open(text);
  const { id, name, targets, state, createdAt, createdBy, release, postponed } = entry;
  return {
    id,
    name,
    reason: await open(entry.reason),
    targets: targets.map((target) => ({ type: target.type, id: target.id })),
    state,
    created_at: createdAt,
    created_by: createdBy,
    release: release && {
      requested_at: release.requestedAt,
      requested_by: release.requestedBy,
      reason: await open(release.reason),
      released_at: release.releasedAt,
      released_by: release.releasedBy,
    },
    awaits: state === 'release_requested' ? awaited(directory.state, entry) : null,
    postponed_erasures: [...postponed],
  };
}

const awaited = (state: DirectoryState, { orgId, release }: LegalHoldEntry): Hold['awaits'] =>
  holdManagers(state, orgId).some((id) => id !== release?.requestedBy) ? 'second_person' : 'operator';

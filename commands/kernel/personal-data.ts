/**
 * The end of the key of an owner of sealed texts, as a line in every trail that may hold such texts: it tells what was erased
 * from what is only hidden (`docs/audit-format.md` 8).
 */
import { z } from 'zod';
import type { Ports } from '../ports/ports.ts';
import { catalogueOf, defineEvent } from '../values/event.ts';
import { isMailboxId } from '../values/ids.ts';
import type { Position } from '../values/position.ts';
import { type Aggregate, type Author, decideAndAppend } from './decide-and-append.ts';

const BASES = ['account_erased', 'mailbox_erased', 'retention_ended'] as const;

export const PersonalDataErased = defineEvent({
  type: 'PersonalDataErased',
  summary: 'The key of everything sealed for an owner was erased: none of it opens again.',
  data: z.object({ owner_id: z.string(), basis: z.enum(BASES) }),
  webhook: null,
});

/** One stream for each owner. */
const personalData: Aggregate<{ readonly toldIn: readonly (string | null)[] }, typeof PersonalDataErased> = {
  category: 'personalData',
  catalogue: catalogueOf([PersonalDataErased]),
  initial: { toldIn: [] },
  evolve: ({ toldIn }, { meta }) => ({ toldIn: [...toldIn, meta.org_id] }),
  about: (ownerId) => (isMailboxId(ownerId) ? { mailbox_id: ownerId } : {}),
};

export interface KeyErasure {
  readonly ownerId: string;
  readonly basis: (typeof BASES)[number];
  /** Null = the trail outside of all organisations: the person's own one, or that of the system. */
  readonly orgIds: readonly (string | null)[];
}

/** Call it when the key is gone. One line for each organisation, in the given order; adds nothing where it was added before. */
export async function recordKeyErasure(
  ports: Pick<Ports, 'events' | 'ids' | 'clock'>,
  author: Author,
  { ownerId, basis, orgIds }: KeyErasure,
): Promise<Position | null> {
  let last: Position | null = null;
  for (const orgId of orgIds) {
    const { position } = await decideAndAppend(ports, { ...author, orgId }, personalData, {
      id: ownerId,
      decide: ({ toldIn }) =>
        toldIn.includes(orgId) ? [] : [{ type: PersonalDataErased.type, data: { owner_id: ownerId, basis } }],
    });
    last = position;
  }
  return last;
}

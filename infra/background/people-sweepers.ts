/** Background work on invites: what a request left when it was interrupted. */
import { systemAuthor } from '../../commands/kernel/decide-and-append.ts';
import {
  carryOutInvite,
  forgetEndedInvite,
  listAcceptedInvites,
} from '../../commands/organisation/carry-out-invite.ts';
import type { InviteEntry } from '../../commands/ports/directory.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import { listKeyOwners } from '../security/personal-data.ts';
import type { Sweeper } from './run-sweeper.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const MOST_LISTED = 100;
/** A key is younger than its invite; a request takes less than this. */
const KEY_LEFT_FOR_MS = 10 * MINUTE;

const idOf = ({ id }: { readonly id: string }): string => id;

export const byPeople = (ports: Ports): readonly Sweeper[] => [invites(ports), keys(ports)];

const invites = (ports: Ports): Sweeper<InviteEntry> => ({
  name: 'invites',
  everyMs: 2 * SECOND,
  atOnce: 4,
  pauses: { firstMs: SECOND, mostMs: 5 * MINUTE },
  find: () => Promise.resolve(listAcceptedInvites(ports)),
  keyOf: idOf,
  settle: async ({ id, orgId }) => {
    await carryOutInvite(ports, systemAuthor(ports, orgId), id);
    return 'settled';
  },
});

const keys = (ports: Ports): Sweeper<{ readonly id: string }> => ({
  name: 'invite-keys',
  everyMs: MINUTE,
  atOnce: 4,
  pauses: { firstMs: MINUTE, mostMs: 60 * MINUTE },
  find: async ({ now, except }) => {
    const open = [...ports.directory.state.invites.keys()];
    const before = new Date(now.getTime() - KEY_LEFT_FOR_MS);
    const ids = await listKeyOwners(ports.sql, {
      prefix: 'inv_',
      before,
      except: [...open, ...except],
      limit: MOST_LISTED,
    });
    return ids.map((id) => ({ id }));
  },
  keyOf: idOf,
  settle: async ({ id }) => ((await forgetEndedInvite(ports, id)) ? 'settled' : 'later'),
});

/** Erasures of accounts and mailboxes, as rows for the table in `sweepers.ts`. One that meets a legal hold waits for its release. */
import { eraseUnlessHeld, waitsForRelease } from '../../commands/legal-holds/wait-for-release.ts';
import { recordKeyErasure } from '../../commands/kernel/personal-data.ts';
import {
  eraseMailboxContent,
  eraseMailboxKey,
  listDueErasures,
  listErasedMailboxes,
} from '../../commands/mailboxes/erase-mailbox.ts';
import { lossOfAccount } from '../../commands/organisation/account-loss.ts';
import {
  listErasures,
  recordErasedAccount,
  settleErasure,
} from '../../commands/organisation/erase-account.ts';
import { SYSTEM_TRAIL } from '../../commands/audit/audit-line.ts';
import { systemAuthor } from '../../commands/kernel/decide-and-append.ts';
import { SOURCE_OWNER } from '../../commands/kernel/access-events.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import { listDraftAuthors } from '../../projections/drafts.ts';
import { type ErasedOwner, listUntoldErasures } from '../../projections/erasure-records.ts';
import { listErasedOwners, listKeyOwners } from '../security/personal-data.ts';
import { row, type Sweeper } from './run-sweeper.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;
const MOST_LISTED = 100;
/** Addresses of refused requests can be read for this long; a key is made on the day it is for. */
const SOURCES_KEPT_MS = 31 * DAY;

const idOf = ({ id }: { readonly id: string }): string => id;

export const byErasures = (ports: Ports): readonly Sweeper[] => [
  row({
    name: 'account-erasures',
    // The request does the work. It goes over all people.
    everyMs: MINUTE,
    atOnce: 2,
    pauses: { firstMs: SECOND, mostMs: 5 * MINUTE },
    find: async () => {
      const due = [];
      // One after the other: the first waits for the read model, and the others find it there.
      for (const { id } of listErasures(ports)) {
        const loss = await lossOfAccount(ports, id);
        if (!waitsForRelease(ports, loss)) due.push(loss);
      }
      return due;
    },
    keyOf: ({ userId }) => userId,
    settle: async (loss) => {
      await eraseUnlessHeld(ports, loss, () => settleErasure(ports, loss.userId));
      return 'settled';
    },
  }),
  row({
    name: 'mailbox-erasure',
    everyMs: MINUTE,
    atOnce: 1,
    pauses: { firstMs: MINUTE, mostMs: 15 * MINUTE },
    find: ({ now }) => notWaiting(ports, listDueErasures(ports, now)),
    keyOf: idOf,
    settle: async ({ startedBy, ...mailbox }) => {
      const loss = { kind: 'mailbox', mailboxId: mailbox.id, startedBy } as const;
      await eraseUnlessHeld(ports, loss, async () => {
        if (await eraseMailboxContent(ports, mailbox, startedBy))
          ports.log.info('mailbox: erased after removal', { mailbox_id: mailbox.id });
      });
      return 'settled';
    },
  }),
];

/** What versions before left out, and keys that are kept for a time only. */
export const byErasedKeys = (ports: Ports): readonly Sweeper[] => [
  row(erasedAccounts(ports)),
  row(erasedMailboxes(ports)),
  row(sourcesOfRefusals(ports)),
];

const RARELY = {
  everyMs: 10 * MINUTE,
  atOnce: 2,
  pauses: { firstMs: MINUTE, mostMs: 60 * MINUTE },
} as const;

const erasedAccounts = (ports: Ports): Sweeper<ErasedOwner> => ({
  ...RARELY,
  name: 'erased-accounts',
  find: async () => {
    const ownerIds = await listErasedOwners(ports.sql, 'usr_');
    return await untold(
      ports,
      ownerIds.map((ownerId) => ({ ownerId, trail: ownerId })),
    );
  },
  keyOf: ({ ownerId }) => ownerId,
  settle: async ({ ownerId }) => {
    await recordErasedAccount(ports, ownerId);
    return 'settled';
  },
});

const erasedMailboxes = (ports: Ports): Sweeper<ErasedOwner & StartedBy> => ({
  ...RARELY,
  name: 'erased-mailboxes',
  find: async () => {
    const erased = listErasedMailboxes(ports).map(({ id, orgId: trail }) => ({ id, ownerId: id, trail }));
    return await notWaiting(ports, await untold(ports, erased));
  },
  keyOf: ({ ownerId }) => ownerId,
  settle: async ({ ownerId: id, trail: orgId, startedBy }) => {
    const loss = { kind: 'mailbox', mailboxId: id, startedBy } as const;
    await eraseUnlessHeld(ports, loss, () => eraseMailboxKey(ports, { id, orgId }, startedBy));
    return 'settled';
  },
});

const sourcesOfRefusals = (ports: Ports): Sweeper<ErasedOwner> => ({
  ...RARELY,
  name: 'sources-of-refusals',
  find: async ({ now }) => {
    const before = new Date(now.getTime() - SOURCES_KEPT_MS);
    const given = { prefix: SOURCE_OWNER, before, except: [], limit: MOST_LISTED };
    const due = await listKeyOwners(ports.sql, given);
    const erased = await listErasedOwners(ports.sql, SOURCE_OWNER);
    return await untold(
      ports,
      [...due, ...erased].map((ownerId) => ({ ownerId, trail: SYSTEM_TRAIL })),
    );
  },
  keyOf: ({ ownerId }) => ownerId,
  settle: async ({ ownerId }) => {
    await ports.personal.erase(ownerId);
    const erasure = { ownerId, basis: 'retention_ended', orgIds: [null] } as const;
    await recordKeyErasure(ports, systemAuthor(ports, null), erasure);
    return 'settled';
  },
});

async function untold<Owner extends ErasedOwner>(
  { sql }: Ports,
  owners: readonly Owner[],
): Promise<readonly Owner[]> {
  if (owners.length === 0) return [];
  const ids = await listUntoldErasures(sql, owners);
  return owners.filter(({ ownerId }) => ids.has(ownerId));
}

interface StartedBy {
  /** A hold on them keeps their drafts. */
  readonly startedBy: readonly string[];
}

/** Without those whose erasure waits for the release of a hold. */
async function notWaiting<Mailbox extends { readonly id: string }>(
  ports: Ports,
  mailboxes: readonly Mailbox[],
): Promise<readonly (Mailbox & StartedBy)[]> {
  const due: (Mailbox & StartedBy)[] = [];
  for (const mailbox of mailboxes) {
    const startedBy = await listDraftAuthors(ports.sql, mailbox.id);
    const isWaiting = waitsForRelease(ports, { kind: 'mailbox', mailboxId: mailbox.id, startedBy });
    if (!isWaiting) due.push({ ...mailbox, startedBy });
  }
  return due;
}

/** Replays into the mirror what an earlier worker appended to the feed and did not apply: nothing is reported twice. */
import { type FeedChange, type FeedEvent, feedEvents, feedStream } from '../../commands/feed/feed-events.ts';
import { catalogueOf, type PastFact, readEvent } from '../../commands/values/event.ts';
import type { FolderRef } from '../../commands/mail/message.ts';
import type { StoredEvent } from '../../commands/values/event.ts';
import type { Position } from '../../commands/values/position.ts';
import type { ImapConnection } from '../mail/imap-connection.ts';
import { uidSet } from '../mail/uid-set.ts';
import { openIfThere } from '../mail/open-folder.ts';
import type { FolderMirror, MirroredMessage } from '../mail-index/folder-mirror.ts';
import type { MailboxSync } from './mailbox-sync.ts';
import { fetchFlags, fetchMirrored } from './fetch-changes.ts';
import { knownFlags, NOT_YET } from './ingest-messages.ts';

const catalogue = catalogueOf(feedEvents);
const DAY_MS = 24 * 60 * 60_000;
/** Only one append of a worker can be missing, and it has fewer events. */
const TAIL_EVENTS = 8n;

interface TailFact {
  readonly position: Position;
  readonly fact: PastFact<FeedEvent>;
}

/** `since`: a time when the mirror surely matched the feed. Throws as `MailboxSync.apply` and `ImapConnection.run`. */
export async function replayFeedTail(
  sync: MailboxSync,
  connection: ImapConnection,
  folders: readonly FolderRef[],
  since: Date | null,
): Promise<void> {
  // First: an append after this point is detected, as it was not read.
  await sync.feed.begin();
  const tail = await readTail(sync, since);
  for (const folder of folders) {
    const mirror = await sync.mirrorOf(folder);
    const facts = tail.filter(
      ({ position, fact }) =>
        mirror && fact.data.folder === folder.number && position > (mirror.feedPosition ?? -1n),
    );
    if (mirror && facts.length > 0) await replayFolder(sync, connection, { folder, mirror, facts });
  }
}

/** The last events of the mailbox's newest stream. */
async function readTail({ mailboxId, ports }: MailboxSync, since: Date | null): Promise<readonly TailFact[]> {
  const today = ports.clock.now().getTime();
  const first = Math.min(today, since?.getTime() ?? today) - DAY_MS;
  for (let day = today; day >= first; day -= DAY_MS) {
    const stream = feedStream(mailboxId, new Date(day));
    const last = await ports.events.readLast(stream);
    if (!last) continue;
    const from = last.revision >= TAIL_EVENTS ? last.revision - TAIL_EVENTS : 0n;
    return (await ports.events.readStream(stream, from)).flatMap(factsIn);
  }
  return [];
}

function factsIn(stored: StoredEvent): TailFact[] {
  const fact = readEvent(catalogue, stored) as PastFact<FeedEvent> | null;
  return fact === null ? [] : [{ position: stored.position, fact }];
}

interface Tail {
  readonly folder: FolderRef;
  readonly mirror: FolderMirror;
  readonly facts: readonly TailFact[];
}

/** The last reported change of each message; facts about the folder itself are recorded as appended. */
function changesIn(
  sync: MailboxSync,
  facts: readonly TailFact[],
  uidValidity: number,
): ReadonlyMap<number, FeedChange> {
  const observed = facts.flatMap(({ position, fact }) => {
    if (fact.type === 'MailboxChangesObserved')
      return fact.data.uid_validity === uidValidity ? fact.data.changes : [];
    sync.noteAppended(fact, position);
    return [];
  });
  return new Map(
    observed.flatMap((change): [number, FeedChange][] => {
      const place = sync.ports.locators.openMessage(change.locator);
      return place ? [[place.uid, change]] : [];
    }),
  );
}

async function replayFolder(
  sync: MailboxSync,
  connection: ImapConnection,
  { folder, mirror, facts }: Tail,
): Promise<void> {
  const changes = changesIn(sync, facts, mirror.uidValidity);
  const open = changes.size === 0 ? null : await openIfThere(connection, folder.path, 'read');
  if (open?.uidValidity !== mirror.uidValidity) return;
  const uids = [...changes.keys()].sort((a, b) => a - b);
  const known = await knownFlags({ sync, folder }, uids);
  const there = await fetchFlags(connection, uidSet(uids));
  const flagsOf = (uid: number): readonly string[] => flagsInFeed(changes.get(uid), known.get(uid));
  const missing = uids.filter((uid) => there.has(uid) && !known.has(uid));
  const added = await fetchMirrored(connection, folder, mirror.uidValidity, missing);
  await sync.apply(folder, {
    added: added.map((message) => withFlags(message, flagsOf(message.ref.uid))),
    flags: uids.filter((uid) => known.has(uid)).map((uid) => ({ uid, flags: flagsOf(uid) })),
    mirror: {
      ...mirror,
      uidNext: Math.max(mirror.uidNext, ...missing.map((uid) => uid + 1)),
      feedPosition: facts.at(-1)?.position ?? mirror.feedPosition,
      invalidations: NOT_YET,
    },
  });
}

/** A message reported as gone is marked `\Deleted` in the mirror: a poll that finds it gone reports nothing more. */
const flagsInFeed = (change: FeedChange | undefined, known: readonly string[] = []): readonly string[] => {
  const isGone = change?.kind === 'deleted' || (change?.kind === 'moved' && change.previous === undefined);
  return isGone ? [...new Set([...known, '\\Deleted'])] : (change?.flags ?? known);
};

const withFlags = (message: MirroredMessage, flags: readonly string[]): MirroredMessage => ({
  ...message,
  seen: flags.includes('\\Seen'),
  flagged: flags.includes('\\Flagged'),
  answered: flags.includes('\\Answered'),
  draft: flags.includes('\\Draft'),
  deleted: flags.includes('\\Deleted'),
  keywords: flags.filter((flag) => !flag.startsWith('\\')),
});

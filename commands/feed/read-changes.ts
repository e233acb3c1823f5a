/** A stored event of a mailbox's feed as the changes it tells. */
import { catalogueOf, readEvent } from '../values/event.ts';
import type { ObservedChange } from '../ports/observed-change.ts';
import type { Locators } from '../ports/ports.ts';
import type { PastFact, StoredEvent } from '../values/event.ts';
import { type FeedEvent, feedEvents } from './feed-events.ts';

const catalogue = catalogueOf(feedEvents);

/** In order; none for an event that tells of a whole folder. Throws when the event is damaged. */
export function changesOf(stored: StoredEvent, locators: Locators): readonly ObservedChange[] {
  const fact = readEvent(catalogue, stored) as PastFact<FeedEvent> | null;
  if (fact?.type !== 'MailboxChangesObserved') return [];
  const { folder, uid_validity, changes } = fact.data;
  return changes.map(({ kind, locator, flags, flags_before, operation_id, also_in }, index) => {
    const place = locators.openMessage(locator);
    if (place === null) throw new Error(`event ${stored.id} names no message`);
    return {
      position: stored.position,
      index,
      kind,
      folderNumber: folder,
      uidValidity: uid_validity,
      uid: place.uid,
      flags,
      flagsBefore: flags_before ?? null,
      operationId: operation_id ?? null,
      alsoIn: also_in ?? [],
    };
  });
}

/** Events for tests as the gateway writes them: exact revision, validated schema, complete envelope. */
import { randomUUID } from 'node:crypto';
import { eventCatalogue } from '../../../commands/event-catalogue.ts';
import { appendFacts, type Author } from '../../../commands/kernel/decide-and-append.ts';
import { uuidToId } from '../../../commands/values/ids.ts';
import type { Ids, SealedReader } from '../../../commands/ports/ports.ts';
import type { Appended, EventStore } from '../../../commands/ports/event-store.ts';
import type { Sealed } from '../../../commands/values/sealed.ts';
import type { AnyEvent } from '../../../commands/event-catalogue.ts';
import type { Fact } from '../../../commands/values/event.ts';

/** Random ids; nothing is derived from keys. */
export const randomIds: Ids = {
  newId: (prefix) => uuidToId(prefix, randomUUID()),
  newUuid: () => randomUUID(),
  newNonce: () => randomUUID().replaceAll('-', ''),
  newSalt: () => Buffer.from(randomUUID().replaceAll('-', ''), 'hex').toString('base64url'),
  idForKey: (prefix, ...parts) => `${prefix}_${parts.join('-')}`,
  reservationName: (text) => text,
};

export const sampleAuthor = (orgId: string | null, changes: Partial<Author> = {}): Author => ({
  orgId,
  actor: { type: 'delegated', id: 'usr_someone', token_id: 'tok_sample', session_id: null },
  surface: 'rest',
  requestId: 'req_1',
  correlationId: 'req_1',
  causationId: 'req_1',
  ...changes,
});

/** Text only marked as sealed; `openSample` reads it. */
export const sealSample = (text: string): Sealed => `sealed:${text}` as Sealed;
export const openSample = (sealed: Sealed): Promise<string | null> =>
  Promise.resolve(sealed.startsWith('sealed:') ? sealed.slice('sealed:'.length) : null);
const sampleReader: SealedReader = {
  open: openSample,
  ownerOf: () => null,
  prove: () => Promise.resolve(null),
};
/** Opens samples, and proves nothing of them. */
export const samplePersonal = { ...sampleReader, afresh: () => sampleReader };

/** Appends facts at the end of a stream, at any revision. */
export async function happened(
  events: EventStore,
  stream: string,
  facts: readonly Fact<AnyEvent>[],
  author: Author = sampleAuthor('org_a'),
): Promise<Appended> {
  const last = await events.readLast(stream);
  return await appendFacts({ events, ids: randomIds, clock: { now: () => new Date() } }, author, {
    stream,
    expected: last?.revision ?? 'no-stream',
    catalogue: eventCatalogue,
    facts,
  });
}

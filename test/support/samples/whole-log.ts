import type { EventStore } from '../../../commands/ports/event-store.ts';
import type { StoredEvent } from '../../../commands/values/event.ts';

const PAGE = 500;

/** Every event of `$all` from its start, in order, without system events; `known` is not read again. */
export async function wholeLog(
  events: Pick<EventStore, 'readAll'>,
  known: readonly StoredEvent[] = [],
): Promise<readonly StoredEvent[]> {
  const log = [...known];
  for (;;) {
    const page = await events.readAll(log.at(-1)?.position ?? null, PAGE);
    log.push(...page);
    if (page.length < PAGE) return log;
  }
}

import type { EventStore, StoredEvent } from '../../commands/kernel/ports.ts';

const PAGE = 500;

/** Every event of `$all` from its start, in order, without system events. */
export async function wholeLog(events: Pick<EventStore, 'readAll'>): Promise<readonly StoredEvent[]> {
  const log: StoredEvent[] = [];
  for (;;) {
    const page = await events.readAll(log.at(-1)?.position ?? null, PAGE);
    log.push(...page);
    if (page.length < PAGE) return log;
  }
}

/** The identity of the log: places in it (cursors, `Position`, checkpoints) mean nothing in another log. */
import { z } from 'zod';
import { appendOrNull, systemAuthor, type Writer } from './decide-and-append.ts';
import { catalogueOf, defineEvent, readEvent } from '../values/event.ts';
import type { EventStore } from '../ports/event-store.ts';

const STREAM = 'eventLog-identity';
const ID_LENGTH = 8;

export const LogNamed = defineEvent({
  type: 'LogNamed',
  data: z.strictObject({ log_id: z.string() }),
  summary: 'The event log was given the short id that cursors and checkpoints contain.',
  webhook: null,
});

const catalogue = catalogueOf([LogNamed]);

/**
 * The short id of the event log, the same for every process on it. The first gateway on a log names it; a restored log keeps
 * its id. Throws `store_unavailable`.
 */
export async function identifyLog(writer: Writer): Promise<string> {
  const known = await namedLog(writer.events);
  if (known !== null) return known;
  const logId = writer.ids.newNonce().slice(0, ID_LENGTH);
  const facts = [{ type: LogNamed.type, data: { log_id: logId } }];
  const author = systemAuthor(writer, null);
  const first = { stream: STREAM, expected: 'no-stream', catalogue, facts } as const;
  if ((await appendOrNull(writer, author, first)) !== null) return logId;
  const winner = await namedLog(writer.events);
  if (winner === null) throw new Error('the event log shows no identity after another process wrote one');
  return winner;
}

async function namedLog(events: Pick<EventStore, 'readStream'>): Promise<string | null> {
  const [first] = await events.readStream(STREAM);
  const fact = first && readEvent(catalogue, first);
  return fact ? LogNamed.data.parse(fact.data).log_id : null;
}

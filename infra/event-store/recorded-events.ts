/** Converts between the client's form of an event and the gateway's. */
import { jsonEvent } from '@eventstore/db-client';
import type { AllStreamRecordedEvent, JSONEventData, RecordedEvent } from '@eventstore/db-client';
import { canonicalJson } from '../../commands/values/canonical-json.ts';
import { isJsonObject } from '../../commands/values/json-object.ts';
import type { NewEvent, StoredEvent } from '../../commands/values/event.ts';

const utf8 = new TextEncoder();

/** For an append; validated by `requireEvents` before. Of metadata, the client passes on bytes as they are, faster than an object. */
export const toJsonEvent = ({ id, type, data, metadata }: NewEvent): JSONEventData =>
  jsonEvent({ id, type, data, metadata: utf8.encode(JSON.stringify(metadata)) });

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields => isJsonObject(value) && !(value instanceof Uint8Array);

/** Data that is not a JSON object reads as empty: it is another writer's, and no reader here knows its type. */
const fields = (value: unknown): Fields => (isFields(value) ? value : {});

/** Absent metadata is no bytes. */
const base64 = (value: unknown): string =>
  value === undefined
    ? ''
    : Buffer.from(value instanceof Uint8Array ? value : canonicalJson(value)).toString('base64');

function opaqueOf(data: unknown, metadata: unknown): Pick<StoredEvent, 'opaque'> {
  if (isFields(data) && isFields(metadata)) return {};
  return {
    opaque: {
      ...(isFields(data) ? {} : { data: base64(data) }),
      ...(isFields(metadata) ? {} : { metadata: base64(metadata) }),
    },
  };
}

/**
 * Converts an event as read. Only servers before 22.6 omit the position in a stream read; they are not
 * supported.
 */
export function toStoredEvent(event: RecordedEvent | AllStreamRecordedEvent): StoredEvent {
  if (event.position === undefined) throw new TypeError('the event store is too old: it gives no positions');
  return {
    id: event.id,
    type: event.type,
    streamName: event.streamId,
    revision: event.revision,
    position: event.position.commit,
    data: fields(event.data),
    metadata: fields(event.metadata),
    ...opaqueOf(event.data, event.metadata),
    storedAt: event.created,
  };
}

/**
 * Validates proposed events before they reach the writer, where one bad row would fail the commit for all
 * callers.
 */
import type streams from '@eventstore/db-client/generated/streams_pb.js';
import { MAX_APPEND_BYTES, MAX_UNCOUNTED_BYTES, RECORD_OVERHEAD } from './stored-record.ts';
import type { ProposedRecord } from './stored-record.ts';
import { uuidText } from './wire-values.ts';
import type { Refusal } from './write-request.ts';

type ProposedMessage = streams.AppendReq.ProposedMessage | streams.BatchAppendReq.ProposedMessage;

const ZERO_UUID = '00000000-0000-0000-0000-000000000000';

/** Longest stream name in bytes: it must fit into an index entry of Postgres. */
const MOST_NAME_BYTES = 2_400;

const badRequest = (message: string): Refusal => ({ kind: 'bad-request', message });

/**
 * Null, or why nothing can be stored under this name. `$$` alone kills a real 24.6 node, metadata of metadata
 * has no stream to describe, and Postgres text cannot contain NUL.
 */
export function refuseStreamName(name: string): Refusal | null {
  if (name === '' || name === '$$' || name.startsWith('$$$$') || name.includes('\u0000')) {
    return badRequest('The stream name is empty or not allowed.');
  }
  return Buffer.byteLength(name) > MOST_NAME_BYTES ? badRequest('The stream name is too long.') : null;
}

/** Collects the events of one append and their size; discards them when they are too large. */
export class ProposedEvents {
  readonly records: ProposedRecord[] = [];
  refusal: Refusal | null = null;
  #dataBytes = 0;
  #uncountedBytes = 0;

  /** Bytes kept. */
  get bytes(): number {
    return this.refusal ? 0 : this.#dataBytes + this.#uncountedBytes;
  }

  add(message: ProposedMessage): void {
    if (this.refusal) return;
    const properties = message.getMetadataMap();
    const type = properties.get('type');
    const contentType = properties.get('content-type');
    const id = uuidText(message.getId());
    const data = message.getData_asU8();
    const metadata = message.getCustomMetadata_asU8();
    if (type === undefined || contentType === undefined) this.#refuse({ kind: 'missing-property' });
    else if (id === null || id === ZERO_UUID) this.#refuse(badRequest('An event id is not a UUID.'));
    else if (type === '' || type.includes('\u0000')) this.#refuse(badRequest('An event type is empty.'));
    else if (this.#isTooLarge(data.length, RECORD_OVERHEAD + metadata.length + type.length))
      this.#refuse({ kind: 'too-large' });
    else this.records.push({ id, type, isJson: contentType === 'application/json', data, metadata });
  }

  #isTooLarge(dataBytes: number, uncountedBytes: number): boolean {
    this.#dataBytes += dataBytes;
    this.#uncountedBytes += uncountedBytes;
    return this.#dataBytes > MAX_APPEND_BYTES || this.#uncountedBytes > MAX_UNCOUNTED_BYTES;
  }

  #refuse(refusal: Refusal): void {
    this.refusal = refusal;
    this.records.length = 0;
  }
}

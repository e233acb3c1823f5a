/**
 * The messages of a read, as bytes. Events are encoded by hand, because the generated encoder costs more than
 * the rest of the node together; other messages are rare. Field numbers: `streams.proto` and `shared.proto`
 * of the client package.
 */
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { TOMBSTONE_REVISION } from './stored-record.ts';
import type { KeptRecord, StoredRecord } from './stored-record.ts';

const { ReadResp } = streams;

/** Tags of the fields used (number << 3 | wire type). */
const TAG = {
  respEvent: 0x0a,
  readEventEvent: 0x0a,
  readEventLink: 0x12,
  readEventCommitPosition: 0x18,
  id: 0x0a,
  stream: 0x12,
  revision: 0x18,
  preparePosition: 0x20,
  commitPosition: 0x28,
  metadata: 0x32,
  customMetadata: 0x3a,
  data: 0x42,
  uuidString: 0x12,
  streamName: 0x1a,
  mapKey: 0x0a,
  mapValue: 0x12,
} as const;

/** 2⁶³ − 1. */
const TOMBSTONE_VARINT = Buffer.from('ffffffffffffffff7f', 'hex');

const varintBytes = (value: number): number => {
  if (value === TOMBSTONE_REVISION) return TOMBSTONE_VARINT.length;
  let bytes = 1;
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) bytes += 1;
  return bytes;
};

/** Size of a length-delimited field with a one-byte tag. */
const field = (length: number): number => 1 + varintBytes(length) + length;

class Writer {
  readonly bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  varint(value: number): void {
    if (value === TOMBSTONE_REVISION) {
      this.#at += TOMBSTONE_VARINT.copy(this.bytes, this.#at);
      return;
    }
    let rest = value;
    while (rest >= 128) {
      this.bytes[this.#at++] = (rest % 128) | 128;
      rest = Math.floor(rest / 128);
    }
    this.bytes[this.#at++] = rest;
  }

  number(tag: number, value: number): void {
    this.bytes[this.#at++] = tag;
    this.varint(value);
  }

  raw(tag: number, value: Uint8Array): void {
    this.number(tag, value.length);
    this.bytes.set(value, this.#at);
    this.#at += value.length;
  }

  ascii(tag: number, value: string): void {
    this.number(tag, value.length);
    this.#at += this.bytes.write(value, this.#at, 'latin1');
  }

  text(tag: number, value: string, length: number): void {
    this.number(tag, length);
    this.#at += this.bytes.write(value, this.#at, 'utf8');
  }

  /** One entry of the `metadata` map; the key is ASCII and short. */
  entry(key: string, value: string, valueLength: number): void {
    this.number(TAG.metadata, field(key.length) + field(valueLength));
    this.ascii(TAG.mapKey, key);
    this.text(TAG.mapValue, value, valueLength);
  }
}

const entrySize = (key: string, valueLength: number): number => field(field(key.length) + field(valueLength));

/** The answer that carries an event; a kept record has it already. */
export const eventAnswer = (record: StoredRecord): Buffer => record.encoded ?? encodeEvent(record);

/** `ReadResp{event: ReadEvent{event: RecordedEvent, commit_position}}`; `commit == prepare` as in gRPC. */
export const encodeEvent = (record: StoredRecord): Buffer =>
  encodeInto((size) => Buffer.allocUnsafe(size), record);

/**
 * The record with its answer in memory of its own, for keeping; data and metadata are views of the answer. What was
 * received is part of a whole message, and a small buffer part of Node's pool of 64 KiB: neither is kept.
 */
export function keptRecord(record: StoredRecord): KeptRecord {
  const encoded = encodeInto((size) => Buffer.allocUnsafeSlow(size), record);
  // They are the last fields before the position.
  const dataEnd = encoded.length - positionField(record);
  const metadataEnd = dataEnd - field(record.data.length);
  return {
    ...record,
    encoded,
    data: encoded.subarray(dataEnd - record.data.length, dataEnd),
    metadata: encoded.subarray(metadataEnd - record.metadata.length, metadataEnd),
  };
}

function encodeInto(allocate: (size: number) => Buffer, record: StoredRecord): Buffer {
  const event = measure(record);
  const readEvent = field(event.size) + positionField(record);
  const out = new Writer(allocate(field(readEvent)));
  out.number(TAG.respEvent, readEvent);
  writeRecorded(out, TAG.readEventEvent, event);
  out.number(TAG.readEventCommitPosition, record.position);
  return out.bytes;
}

/** The same for a link, with the event it names if it exists; the position is the link's. */
export function encodeLink(record: StoredRecord, target: StoredRecord | null): Buffer {
  const link = measure(record);
  const event = target && measure(target);
  const readEvent = (event ? field(event.size) : 0) + field(link.size) + positionField(record);
  const out = new Writer(Buffer.allocUnsafe(field(readEvent)));
  out.number(TAG.respEvent, readEvent);
  if (event) writeRecorded(out, TAG.readEventEvent, event);
  writeRecorded(out, TAG.readEventLink, link);
  out.number(TAG.readEventCommitPosition, record.position);
  return out.bytes;
}

/** A record with its encoded texts and its size as a message. */
interface Measured {
  readonly record: StoredRecord;
  readonly contentType: string;
  readonly created: string;
  readonly nameLength: number;
  readonly typeLength: number;
  readonly size: number;
}

const positionField = ({ position }: StoredRecord): number => 1 + varintBytes(position);

function measure(record: StoredRecord): Measured {
  const contentType = record.isJson ? 'application/json' : 'application/octet-stream';
  const created = `${String(record.createdMs)}0000`;
  const nameLength = Buffer.byteLength(record.stream);
  const typeLength = Buffer.byteLength(record.type);
  const size =
    field(field(record.id.length)) +
    field(field(nameLength)) +
    (1 + varintBytes(record.revision)) +
    2 * positionField(record) +
    entrySize('type', typeLength) +
    entrySize('content-type', contentType.length) +
    entrySize('created', created.length) +
    field(record.metadata.length) +
    field(record.data.length);
  return { record, contentType, created, nameLength, typeLength, size };
}

function writeRecorded(out: Writer, tag: number, measured: Measured): void {
  const { record, contentType, created, nameLength, typeLength } = measured;
  out.number(tag, measured.size);
  out.number(TAG.id, field(record.id.length));
  out.ascii(TAG.uuidString, record.id);
  out.number(TAG.stream, field(nameLength));
  out.text(TAG.streamName, record.stream, nameLength);
  out.number(TAG.revision, record.revision);
  out.number(TAG.preparePosition, record.position);
  out.number(TAG.commitPosition, record.position);
  out.entry('type', record.type, typeLength);
  out.entry('content-type', contentType, contentType.length);
  out.entry('created', created, created.length);
  out.raw(TAG.customMetadata, record.metadata);
  out.raw(TAG.data, record.data);
}

const bytesOf = (message: InstanceType<typeof ReadResp>): Buffer => Buffer.from(message.serializeBinary());

export function confirmationAnswer(subscriptionId: string): Buffer {
  const confirmation = new ReadResp.SubscriptionConfirmation();
  confirmation.setSubscriptionId(subscriptionId);
  return bytesOf(new ReadResp().setConfirmation(confirmation));
}

export function checkpointAnswer(position: number): Buffer {
  const checkpoint = new ReadResp.Checkpoint();
  checkpoint.setCommitPosition(String(position)).setPreparePosition(String(position));
  return bytesOf(new ReadResp().setCheckpoint(checkpoint));
}

export const caughtUpAnswer = (): Buffer => bytesOf(new ReadResp().setCaughtUp(new ReadResp.CaughtUp()));

/** The same for a missing and a soft-deleted stream. */
export function streamNotFoundAnswer(stream: string): Buffer {
  const notFound = new ReadResp.StreamNotFound();
  const identifier = new shared.StreamIdentifier();
  identifier.setStreamName(Buffer.from(stream, 'utf8'));
  return bytesOf(new ReadResp().setStreamNotFound(notFound.setStreamIdentifier(identifier)));
}

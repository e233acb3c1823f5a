/**
 * Arrays in the binary format of Postgres (one dimension, no nulls): event bytes go to the database
 * unchanged, instead of as the driver's escaped text. Layout: src/backend/utils/adt/arrayfuncs.c, array_recv.
 */
const HEADER_BYTES = 20;
const OID = { bool: 16, bytea: 17, int8: 20, text: 25, uuid: 2950 } as const;

function arrayOf(oid: number, count: number, itemBytes: number): Buffer {
  const array = Buffer.allocUnsafe(HEADER_BYTES + 4 * count + itemBytes);
  array.writeInt32BE(1, 0); // dimensions
  array.writeInt32BE(0, 4); // no nulls
  array.writeInt32BE(oid, 8);
  array.writeInt32BE(count, 12);
  array.writeInt32BE(1, 16); // lower bound
  return array;
}

function ofBytes(oid: number, items: readonly Uint8Array[]): Buffer {
  const array = arrayOf(
    oid,
    items.length,
    items.reduce((sum, item) => sum + item.length, 0),
  );
  let at = HEADER_BYTES;
  for (const item of items) {
    at = array.writeInt32BE(item.length, at);
    array.set(item, at);
    at += item.length;
  }
  return array;
}

export const byteaArray = (items: readonly Uint8Array[]): Buffer => ofBytes(OID.bytea, items);

export const textArray = (items: readonly string[]): Buffer =>
  ofBytes(
    OID.text,
    items.map((item) => Buffer.from(item, 'utf8')),
  );

export const uuidArray = (items: readonly string[]): Buffer =>
  ofBytes(
    OID.uuid,
    items.map((item) => Buffer.from(item.replaceAll('-', ''), 'hex')),
  );

export const boolArray = (items: readonly boolean[]): Buffer =>
  ofBytes(
    OID.bool,
    items.map((item) => Buffer.of(item ? 1 : 0)),
  );

export function int8Array(items: readonly number[]): Buffer {
  const array = arrayOf(OID.int8, items.length, 8 * items.length);
  let at = HEADER_BYTES;
  for (const item of items) {
    at = array.writeInt32BE(8, at);
    at = array.writeBigInt64BE(BigInt(item), at);
  }
  return array;
}

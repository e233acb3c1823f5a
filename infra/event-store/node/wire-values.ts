/** Converts values of the protocol's messages. */
import type shared from '@eventstore/db-client/generated/shared_pb.js';

const UUID_FORM = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** Unsigned 64-bit numbers arrive as text; values beyond the reach of the log compare as equal. */
export const toNumber = (text: string): number => Math.min(Number(text), Number.MAX_SAFE_INTEGER);

/** The deadline of a call in milliseconds since the Unix epoch. */
export const millisOf = (deadline: Date | number): number =>
  deadline instanceof Date ? deadline.getTime() : deadline;

/** The name in a stream identifier; empty if none. */
export const streamNameOf = (identifier: shared.StreamIdentifier | undefined): string =>
  identifier ? Buffer.from(identifier.getStreamName_asU8()).toString('utf8') : '';

/** The text form of a UUID field; null when it is missing or invalid. */
export function uuidText(uuid: shared.UUID | undefined): string | null {
  const structured = uuid?.getStructured();
  if (structured) {
    const half = (bits: string): string => BigInt.asUintN(64, BigInt(bits)).toString(16).padStart(16, '0');
    const hex = half(structured.getMostSignificantBits()) + half(structured.getLeastSignificantBits());
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  }
  const text = uuid?.getString() ?? '';
  return UUID_FORM.test(text) ? text.toLowerCase() : null;
}

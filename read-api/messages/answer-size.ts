/** The bodies of one answer stay within 4 MiB (`contract.md` 4): pages end early, others are shortened. */
import type { Body } from './message-body.ts';
import type { Message } from './message-view.ts';

const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

const bytesOf = ({ body }: Message): number => Buffer.byteLength(body?.content ?? '');

/** How many of the messages fit; at least one, so that every page advances. */
export function howManyFit(messages: readonly Message[], most = MAX_ANSWER_BYTES): number {
  let bytes = 0;
  const end = messages.findIndex((message, index) => {
    bytes += bytesOf(message);
    return index > 0 && bytes > most;
  });
  return end < 0 ? messages.length : end;
}

/**
 * The messages with bodies that fit together: short ones whole, the longest cut to one common length. A cut
 * one is marked by `truncated` and `next_offset`, as if its window had been smaller.
 */
export function fitTogether(messages: readonly Message[], most = MAX_ANSWER_BYTES): readonly Message[] {
  const share = commonShare(messages.map(bytesOf), most);
  return messages.map((message) =>
    message.body && bytesOf(message) > share ? { ...message, body: shortened(message.body, share) } : message,
  );
}

/** The largest common length at which everything fits: long ones get the room that short ones leave. */
function commonShare(sizes: readonly number[], most: number): number {
  let left = most;
  for (const [index, size] of sizes.toSorted((a, b) => a - b).entries()) {
    const share = Math.floor(left / (sizes.length - index));
    if (size > share) return share;
    left -= size;
  }
  return Infinity;
}

function shortened(body: Body, mostBytes: number): Body {
  const begin = (body.next_offset ?? body.total_chars) - body.content.length;
  const bytes = Buffer.from(body.content).subarray(0, mostBytes);
  // In stream mode the decoder keeps back a character that was cut in half.
  const { length } = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true });
  return {
    ...body,
    content: body.content.slice(0, length),
    truncated: true,
    next_offset: begin + length,
    quoted_ranges: body.quoted_ranges
      .filter(({ start }) => start < length)
      .map(({ start, end }) => ({ start, end: Math.min(end, length) })),
  };
}

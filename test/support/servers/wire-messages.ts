/**
 * The traffic between a gateway and its stores as whole messages, so that a test can stop before or after any
 * of them: Postgres (protocol 3.0, "Message Formats"), IMAP (RFC 9051 2.2), SMTP (RFC 5321 4.1) and gRPC over
 * HTTP/2 (RFC 9113 4.1).
 */

export interface WireMessage {
  readonly bytes: Buffer;
  /** The request in a few words; null for a message that is not a request. */
  readonly label: string | null;
  /** True when this chunk of the other side's bytes ends its answer. */
  readonly isAnswered: (chunk: Buffer) => boolean;
}

/** Splits one connection's client bytes into messages; an incomplete one is kept for the next call. */
export type WireReader = (chunk: Buffer) => readonly WireMessage[];

export const WIRES = {
  postgres: postgresReader,
  imap: imapReader,
  smtp: smtpReader,
  events: grpcReader,
} as const;
export type WireName = keyof typeof WIRES;

const LABEL_CHARACTERS = 48;
const neverAnswered = (): boolean => false;
const shorten = (text: string): string => text.trim().replaceAll(/\s+/g, ' ').slice(0, LABEL_CHARACTERS);

/** Collects bytes and returns whole units; `take` returns the next one's length, null while incomplete. */
function units(take: (held: Buffer) => number | null): (chunk: Buffer) => readonly Buffer[] {
  let held = Buffer.alloc(0);
  return (chunk) => {
    held = Buffer.concat([held, chunk]);
    const whole: Buffer[] = [];
    for (let length = take(held); length !== null; length = take(held)) {
      whole.push(held.subarray(0, length));
      held = held.subarray(length);
    }
    return whole;
  };
}

/** ReadyForQuery: five bytes of header and the transaction state, at the end of every answer. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5]);
const isReady = (chunk: Buffer): boolean => chunk.subarray(-6, -1).equals(READY);

/** Parse, Bind, Describe, Execute, Close: they belong to the request that the next Sync ends. */
const EXTENDED = 'PBDEC';

/** The first message of a connection has no type byte. */
function postgresReader(): WireReader {
  let isStarting = true;
  const read = units((held) => {
    const headerBytes = isStarting ? 0 : 1;
    if (held.length < headerBytes + 4) return null;
    const length = headerBytes + held.readInt32BE(headerBytes);
    if (held.length < length) return null;
    isStarting = false;
    return length;
  });
  let parts: Buffer[] = [];
  let label = '';
  return (chunk) =>
    read(chunk).flatMap((part): WireMessage[] => {
      const kind = String.fromCharCode(part[0] ?? 0);
      parts.push(part);
      if (kind === 'P' || kind === 'Q') label = sqlOf(part, kind);
      else if (kind === 'B' && label === '') label = shorten(part.toString('latin1', 6).split('\0')[0] ?? '');
      if (EXTENDED.includes(kind)) return [];
      const message = {
        bytes: Buffer.concat(parts),
        label: label === '' ? null : label,
        isAnswered: isReady,
      };
      parts = [];
      label = '';
      return [message];
    });
}

/** Parse carries the statement's name before its text. */
function sqlOf(part: Buffer, kind: 'P' | 'Q'): string {
  const [first = '', second = ''] = part.toString('latin1', 5).split('\0');
  return shorten(kind === 'Q' ? first : first === '' ? second : first);
}

/** A line is a command when it begins with a tag. */
function imapReader(): WireReader {
  const read = units((held) => {
    const end = held.indexOf('\r\n');
    return end < 0 ? null : end + 2;
  });
  return (chunk) =>
    read(chunk).map((bytes) => {
      const [, tag = '', words = ''] = /^(\w+) ((?:UID )?[A-Z]+)/.exec(bytes.toString('latin1')) ?? [];
      if (tag === '') return { bytes, label: null, isAnswered: neverAnswered };
      let answer = '';
      const isAnswered = (part: Buffer): boolean => {
        answer += part.toString('latin1');
        return answer.startsWith(`${tag} `) || answer.includes(`\r\n${tag} `);
      };
      return { bytes, label: words, isAnswered };
    });
}

/** Commands, and the first line and final dot of a message. */
function smtpReader(): WireReader {
  const read = units((held) => {
    const end = held.indexOf('\r\n');
    return end < 0 ? null : end + 2;
  });
  let place: 'commands' | 'head' | 'body' = 'commands';
  return (chunk) =>
    read(chunk).map((bytes): WireMessage => {
      const line = bytes.toString('latin1').trimEnd();
      const isDot = place !== 'commands' && line === '.';
      if (place === 'commands' || isDot) {
        const label = isDot ? 'final dot' : (line.split(' ')[0] ?? '');
        place = label === 'DATA' ? 'head' : 'commands';
        return { bytes, label, isAnswered: (part) => /(?:^|\n)\d{3} /.test(part.toString('latin1')) };
      }
      const label = place === 'head' ? 'message' : null;
      place = 'body';
      return { bytes, label, isAnswered: neverAnswered };
    });
}

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const FRAME_HEADER = 9;
const DATA = 0;

interface Frame {
  readonly bytes: Buffer;
  readonly streamId: number;
  /** A non-empty DATA frame. */
  readonly carriesData: boolean;
}

const frames = (): ((chunk: Buffer) => readonly Frame[]) => {
  const read = units((held) => {
    if (held.length < FRAME_HEADER) return null;
    const length = FRAME_HEADER + held.readUIntBE(0, 3);
    return held.length < length ? null : length;
  });
  return (chunk) =>
    read(chunk).map((bytes) => ({
      bytes,
      streamId: bytes.readUInt32BE(5) & 0x7f_ff_ff_ff,
      carriesData: bytes[3] === DATA && bytes.length > FRAME_HEADER,
    }));
};

/** The metadata of a proposed event is a protobuf map: the entry `type` holds the event's type. */
const EVENT_TYPE = /\n\x04type\x12[\s\S]([A-Za-z-]+)/;

/** One DATA frame is one message of a call, up to 16 KiB. */
function grpcReader(): WireReader {
  const read = frames();
  let prefaceLeft = PREFACE.length;
  return (chunk) => {
    const preface = chunk.subarray(0, prefaceLeft);
    prefaceLeft -= preface.length;
    const messages = read(chunk.subarray(preface.length)).map(({ bytes, streamId, carriesData }) => {
      if (!carriesData) return { bytes, label: null, isAnswered: neverAnswered };
      const type = EVENT_TYPE.exec(bytes.toString('latin1'))?.[1];
      const answers = frames();
      return {
        bytes,
        label: type === undefined ? 'read' : `append ${type}`,
        isAnswered: (part: Buffer) =>
          answers(part).some((frame) => frame.streamId === streamId && frame.carriesData),
      };
    });
    return preface.length === 0
      ? messages
      : [{ bytes: preface, label: null, isAnswered: neverAnswered }, ...messages];
  };
}

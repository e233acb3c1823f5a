/**
 * Reads a POST body before it is processed: JSON-RPC 2.0 as MCP narrows it (ids are strings or integers,
 * params an object).
 */
import { isUtf8 } from 'node:buffer';
import { isJsonObject } from '../commands/values/json-object.ts';
import { INVALID_REQUEST, type MessageId, PARSE_ERROR } from './json-rpc-answers.ts';

export type Message =
  | {
      readonly kind: 'request';
      readonly id: MessageId;
      readonly method: string;
      readonly params: Readonly<Record<string, unknown>>;
    }
  | {
      readonly kind: 'notification';
      readonly method: string;
      readonly params: Readonly<Record<string, unknown>>;
    }
  /** An answer to a request that was never made: this server sends its clients no requests. */
  | { readonly kind: 'response' }
  | { readonly kind: 'invalid'; readonly id: MessageId | undefined; readonly problem: string };
export type RequestMessage = Extract<Message, { kind: 'request' }>;
export type Notification = Extract<Message, { kind: 'notification' }>;

export interface Envelope {
  readonly batch: boolean;
  readonly messages: readonly Message[];
}

/** The whole body is refused: HTTP 400 with a JSON-RPC error. */
export class EnvelopeRefusal extends Error {
  readonly code: typeof PARSE_ERROR | typeof INVALID_REQUEST;
  readonly id: MessageId | undefined;
  constructor(code: typeof PARSE_ERROR | typeof INVALID_REQUEST, message: string, id?: MessageId) {
    super(message);
    this.name = 'EnvelopeRefusal';
    this.code = code;
    this.id = id;
  }
}

const MAX_BATCH = 100;
/** Far above every tool's arguments, far below the depth a recursive validation can take. */
const MAX_DEPTH = 64;

/** Parses a body. Throws `EnvelopeRefusal` when no part of it can be answered on its own. */
export function readEnvelope(body: Buffer): Envelope {
  const value = parse(body);
  if (!Array.isArray(value)) {
    const message = readMessage(value);
    if (message.kind === 'invalid') throw new EnvelopeRefusal(INVALID_REQUEST, message.problem, message.id);
    return { batch: false, messages: [message] };
  }
  if (value.length === 0) throw new EnvelopeRefusal(INVALID_REQUEST, 'A batch holds at least one message.');
  if (value.length > MAX_BATCH) {
    throw new EnvelopeRefusal(INVALID_REQUEST, `A batch holds at most ${String(MAX_BATCH)} messages.`);
  }
  const messages = value.map(readMessage);
  if (messages.some((message) => message.kind === 'request' && message.method === 'initialize')) {
    throw new EnvelopeRefusal(INVALID_REQUEST, 'initialize must be posted on its own, not in a batch.');
  }
  return { batch: true, messages };
}

function parse(body: Buffer): unknown {
  if (!isUtf8(body)) throw new EnvelopeRefusal(PARSE_ERROR, 'The body is not UTF-8.');
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch {
    throw new EnvelopeRefusal(PARSE_ERROR, 'The body is not JSON.');
  }
  if (nestsDeeperThan(value, MAX_DEPTH)) {
    throw new EnvelopeRefusal(INVALID_REQUEST, `The body nests deeper than ${String(MAX_DEPTH)} levels.`);
  }
  return value;
}

function nestsDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  for (const member of Object.values(value)) if (nestsDeeperThan(member, levels - 1)) return true;
  return false;
}

/** True for a value that MCP accepts as the id of a request. */
export const isId = (id: unknown): id is MessageId => typeof id === 'string' || Number.isSafeInteger(id);

/** Sorts one message into its kind; `invalid` carries the reason. */
export function readMessage(value: unknown): Message {
  if (!isJsonObject(value)) return { kind: 'invalid', id: undefined, problem: 'A message is a JSON object.' };
  const { id: sentId, method, params = {} } = value;
  const id = isId(sentId) ? sentId : undefined;
  const invalid = (problem: string): Message => ({ kind: 'invalid', id, problem });
  if (value['jsonrpc'] !== '2.0') return invalid('jsonrpc must be "2.0".');
  if (!('method' in value)) {
    return 'result' in value || 'error' in value ? { kind: 'response' } : invalid('method is missing.');
  }
  if (typeof method !== 'string') return invalid('method must be a string.');
  if (!isJsonObject(params)) return invalid('params must be an object.');
  if (!('id' in value)) return { kind: 'notification', method, params };
  if (id === undefined) return invalid('id must be a string or an integer, not null.');
  return { kind: 'request', id, method, params };
}

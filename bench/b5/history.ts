/** A seeded log of a busy gateway: per hundred events 60 of operations, 34 of access, 6 of the directory. */
import { createHash } from 'node:crypto';
import type { ExpectedRevision } from '../../commands/ports/event-store.ts';
import type { NewEvent } from '../../commands/values/event.ts';

export interface SeededAppend {
  readonly stream: string;
  readonly expected: ExpectedRevision;
  readonly events: readonly NewEvent[];
}

type Facts = readonly { readonly type: string; readonly data: NewEvent['data'] }[];

const OPERATIONS_PER_BLOCK = 12;
const ACCESS_PER_BLOCK = 34;
const EVENTS_PER_BLOCK = 100;
const MAILBOXES = 40;
const ORGANISATIONS = 4;
const START_MS = Date.UTC(2026, 0, 1);

const id = (prefix: string, n: number): string => `${prefix}_${n.toString(36).padStart(26, '0')}`;
const orgOf = (n: number): string => id('org', n % ORGANISATIONS);

/** Ids are derived from the place in the log, so that every run writes the same. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** 16 bytes, as the gateway salts each event. */
const saltOf = (text: string): string =>
  createHash('sha256').update(`salt ${text}`).digest().subarray(0, 16).toString('base64url');

/** The number of events in each stream. */
class Streams {
  readonly #lengths = new Map<string, number>();
  #clock = 0;

  /** `mailbox`: its number, from which its organisation follows. */
  append(stream: string, mailbox: number, facts: Facts): SeededAppend {
    const length = this.#lengths.get(stream) ?? 0;
    this.#lengths.set(stream, length + facts.length);
    this.#clock += 1;
    const request = `req_${String(this.#clock).padStart(26, '0')}`;
    const metadata = {
      v: 1,
      org_id: orgOf(mailbox),
      actor: { type: 'agent', id: id('agt', this.#clock % 20), token_id: id('tok', 1), session_id: null },
      surface: 'mcp',
      request_id: request,
      $correlationId: request,
      $causationId: request,
      occurred_at: new Date(START_MS + this.#clock * 40).toISOString(),
      mailbox_id: id('mbx', mailbox),
    };
    const events = facts.map((fact, index) => {
      const place = `${stream}/${String(length + index)}`;
      return { ...fact, id: uuidOf(place), metadata: { ...metadata, salt: saltOf(place) } };
    });
    return { stream, expected: length === 0 ? 'no-stream' : BigInt(length - 1), events };
  }
}

/** Appends with `size` events in total; the last block is truncated. Those to one stream are consecutive. */
export function* history(size: number): Generator<SeededAppend, void, undefined> {
  const streams = new Streams();
  let left = size;
  for (const append of blocks(streams)) {
    yield { ...append, events: append.events.slice(0, left) };
    left -= append.events.length;
    if (left <= 0) return;
  }
}

function* blocks(streams: Streams): Generator<SeededAppend, void, undefined> {
  for (let n = 0; n < MAILBOXES; n += 1) {
    yield streams.append(`mailbox-${id('mbx', n)}`, n, [mailboxAdded(n)]);
  }
  for (let block = 0; ; block += 1) {
    const mailbox = block % MAILBOXES;
    for (let n = 0; n < OPERATIONS_PER_BLOCK; n += 1) {
      const operation = block * OPERATIONS_PER_BLOCK + n;
      yield* operated(streams, operation, operation % MAILBOXES);
    }
    yield streams.append(`access-run-${String(block)}`, mailbox, accesses(mailbox, block));
    yield streams.append(`mailbox-${id('mbx', mailbox)}`, mailbox, changes(block));
  }
}

function* operated(streams: Streams, n: number, mailbox: number): Generator<SeededAppend, void, undefined> {
  const stream = `operation-${id('opn', n)}`;
  const target = { message_id: id('msg', n), rfc_message_id: `<${String(n)}@mail.example>`, stale: false };
  yield streams.append(stream, mailbox, [
    {
      type: 'OperationSubmitted',
      data: {
        mailbox_id: id('mbx', mailbox),
        capability: 'email_act',
        fingerprint: uuidOf(stream),
        mode: 'execute',
        reason: 'tidy up',
        run_id: 'run-1',
        targets: [target],
      },
    },
    {
      type: 'OperationDecided',
      data: { decision: 'allow', rule_id: 'default.reversible', policy_version: 1 },
    },
    { type: 'ActionsIntended', data: { steps: [{ action: 'archive', folder: 2 }] } },
  ]);
  const outcome = n % 50 === 0 ? 'unknown' : 'done';
  const counts = { done: 0, failed: 0, unknown: 0, [outcome]: 1 };
  yield streams.append(stream, mailbox, [
    {
      type: 'ActionOutcomesRecorded',
      data: { results: [{ message_id: target.message_id, step: 0, action: 'archive', outcome }] },
    },
    { type: 'OperationCompleted', data: { summary: counts } },
  ]);
}

const accesses = (mailbox: number, block: number): Facts =>
  Array.from({ length: ACCESS_PER_BLOCK }, (_unused, n) => {
    const mailbox_id = id('mbx', mailbox);
    return n % 5 === 0
      ? { type: 'RequestRefused', data: { capability: 'email_act', code: 'not_found', mailbox_id } }
      : { type: 'BodiesRead', data: { mailbox_id, message_ids: [id('msg', block)], what: 'text' } };
  });

/** One grant is added and another removed, so that the directory keeps its size. */
function changes(block: number): Facts {
  const terms = { scopes: ['messages:read'], folder_roles: null, expires_at: null, quotas: null };
  const grant_id = id('grt', block);
  return [
    { type: 'MailboxConnectionStarted', data: {} },
    { type: 'MailboxConnected', data: { capabilities: ['IDLE', 'MOVE', 'CONDSTORE'] } },
    {
      type: 'GrantGiven',
      data: { grant_id, principal_id: id('agt', block), principal_kind: 'agent', ...terms },
    },
    { type: 'GrantChanged', data: { grant_id, ...terms, scopes: ['messages:read', 'messages:move'] } },
    { type: 'FolderRolesDetected', data: { roles: { inbox: 1, archive: 2 } } },
    { type: 'GrantRevoked', data: { grant_id } },
  ];
}

const mailboxAdded = (n: number): Facts[number] => ({
  type: 'MailboxAdded',
  data: {
    number: n + 1,
    email: `box${String(n)}@mail.example`,
    display_name: null,
    provider: 'imap',
    auth_type: 'password',
    imap: { host: 'mail.example', port: 993, security: 'tls' },
    smtp: null,
  },
});

if (OPERATIONS_PER_BLOCK * 5 + ACCESS_PER_BLOCK + changes(0).length !== EVENTS_PER_BLOCK) {
  throw new Error('a block of the seeded log is not a hundred events');
}

/** Fixes hoodiecrow's worst quirks, and refuses messages that would block it. */
import type {
  AnswerNode,
  ImapServer,
  OutgoingResponse,
  ParsedCommand,
  StoredMessage,
  TypedNode,
} from 'hoodiecrow-imap';
import fetchHandlers from 'hoodiecrow-imap/lib/commands/handlers/fetch.js';

/** Characters of one header field: hoodiecrow unfolds a longer one in seconds, one of 1.5 MB in minutes. */
const MOST_FIELD_CHARS = 64 * 1024;

/** A message that it would take hoodiecrow, and all who share its process, too long to read. */
export class UnreadableMessage extends Error {
  /** What SMTP says (RFC 3463: 5.3.4, message too big for system). */
  readonly responseCode = 552;

  constructor() {
    super(`5.3.4 A header field of the message is longer than ${String(MOST_FIELD_CHARS / 1024)} KiB.`);
    this.name = 'UnreadableMessage';
  }
}

/** Throws `UnreadableMessage` when a header field, also one of an attached message, is too long. */
export function assertReadable(raw: string): void {
  let length = 0;
  for (let at = 0; at < raw.length;) {
    const end = raw.indexOf('\n', at);
    const next = end < 0 ? raw.length : end + 1;
    const isFolded = raw[at] === ' ' || raw[at] === '\t';
    // A line that is no field, and what is indented below it, is text.
    const isField = isFolded ? length > 0 : /^[!-9;-~]{1,80}:/.test(raw.slice(at, at + 81));
    length = isField ? length + next - at : 0;
    if (length > MOST_FIELD_CHARS) throw new UnreadableMessage();
    at = next;
  }
}

/** What clients rely on and hoodiecrow does otherwise: a plugin. */
export function mend(server: ImapServer): void {
  const create = server.createMailbox.bind(server);
  // A folder made again must not have the UIDVALIDITY of the one before.
  server.createMailbox = (path, folder) => {
    create(path, folder ?? { uidvalidity: freshUidValidity(), uidnext: 1, messages: [] });
    // Parents made on the way all have 1.
    for (const made of Object.values(server.folderCache)) {
      if (made.uidvalidity <= 1) made.uidvalidity = freshUidValidity();
    }
  };
  // RFC 5530: a refused password says so, a server in trouble does not.
  server.outputHandlers.push((_connection, response, description) => {
    if (response.command !== 'NO' || !/^(LOGIN|AUTHENTICATE PLAIN) FAILED$/.test(description ?? '')) return;
    const code = { type: 'SECTION', section: [{ type: 'ATOM', value: 'AUTHENTICATIONFAILED' }] };
    response.attributes = [code, ...(response.attributes ?? [])];
  });
  // RFC 3501 6.4.4: LARGER is "more than", keywords are the same in every case.
  server.searchHandlers['LARGER'] = (_connection, message, _index, size) => message.raw.length > Number(size);
  server.searchHandlers['KEYWORD'] = (_connection, message, _index, flag) => hasFlag(message, flag);
  server.searchHandlers['UNKEYWORD'] = (_connection, message, _index, flag) => !hasFlag(message, flag);
  // It takes the first eleven characters of a Date header for a date, which have no year.
  server.searchHandlers['SENTSINCE'] = (_connection, message, _index, day) => sentDay(message) >= dayOf(day);
  server.searchHandlers['SENTBEFORE'] = (_connection, message, _index, day) => sentDay(message) < dayOf(day);
  // It shortens the range that was asked for, `<0.80>`, by what the first message has of it: each gets a copy of its own.
  for (const name of ['BODY', 'BODY.PEEK'] as const) {
    server.fetchHandlers[name] = (connection, message, query) =>
      fetchHandlers[name](connection, message, {
        ...query,
        ...(query.partial && { partial: [...query.partial] }),
      });
  }
  refuseUnreadable(server);
}

/** RFC 3501 6.3.11: a refused APPEND changes nothing. */
function refuseUnreadable(server: ImapServer): void {
  const append = server.getCommandHandler('APPEND');
  server.setCommandHandler('APPEND', (connection, parsed, data, done) => {
    try {
      assertReadable(literalOf(parsed));
    } catch (error) {
      if (!(error instanceof UnreadableMessage)) throw error;
      const refusal = {
        tag: parsed.tag,
        command: 'NO',
        attributes: [{ type: 'TEXT', value: error.message }],
      };
      connection.send(refusal, 'APPEND FAILED', parsed, data);
      done();
      return;
    }
    append(connection, parsed, data, done);
  });
}

const literalOf = ({ attributes = [] }: ParsedCommand): string => attributes.at(-1)?.value ?? '';

/** Writes answers itself: hoodiecrow takes time by the square of their length (`compileAnswer`). */
export function writeAnswersAtOnce(server: ImapServer): void {
  // An untagged response about a change goes to several connections.
  const own = new WeakSet<OutgoingResponse>();
  server.outputHandlers.push(({ socket }, response) => {
    if (response.skipResponse === true && !own.has(response)) return;
    own.add(response);
    response.skipResponse = true;
    if (socket && !socket.destroyed) socket.write(Buffer.from(`${compileAnswer(response)}\r\n`, 'latin1'));
  });
}

const dayOf = (date: string): number => Math.floor(Date.parse(`${date} UTC`) / 86_400_000);

/** The day of the Date header as written there; a message without one is found by no search for a date. */
function sentDay({ raw }: StoredMessage): number {
  const head = raw.slice(0, Math.max(0, raw.indexOf('\r\n\r\n')));
  const [, day = ''] = /^Date:[ \t]*(?:[a-z]{3},[ \t]*)?(\d{1,2} [a-z]{3} \d{4})/im.exec(head) ?? [];
  return dayOf(day);
}

const hasFlag = ({ flags }: StoredMessage, flag: string): boolean =>
  flags.some((own) => own.toLowerCase() === flag.toLowerCase());

let lastUidValidity = 0;
/** Higher than any before. */
export function freshUidValidity(): number {
  lastUidValidity = Math.max(lastUidValidity + 1, Math.floor(Date.now() / 1_000));
  return lastUidValidity;
}

/** RFC 3501 9: what an atom may consist of; a flag begins with a backslash. */
const ATOM = /^\\?[^\u0000-\u0020\u007f-\uffff(){%*"\\\]]*$/;

/** Characters are bytes. */
function compileAnswer({ tag = '*', command, attributes = [] }: OutgoingResponse): string {
  const first = command === undefined || command === '' ? tag : `${tag} ${command}`;
  return [first, ...attributes.map(compileNode)].join(' ');
}

function compileNode(node: AnswerNode): string {
  if (Array.isArray(node)) return `(${node.map(compileNode).join(' ')})`;
  if (typeof node === 'number') return String(Math.round(node) || 0);
  if (typeof node === 'string') return JSON.stringify(node);
  return node == null ? 'NIL' : compileTyped(node as TypedNode);
}

function compileTyped(node: TypedNode): string {
  const text = String(node.value ?? '');
  switch (node.type.toUpperCase()) {
    case 'LITERAL':
      return `{${String(text.length)}}\r\n${text}`;
    case 'STRING':
      return JSON.stringify(text);
    case 'NUMBER':
      return text === '' ? '0' : text;
    case 'ATOM':
    case 'SECTION':
      return compileAtom(text, node);
    default:
      return text;
  }
}

function compileAtom(text: string, { section, partial }: TypedNode): string {
  const atom = ATOM.test(text) ? text : JSON.stringify(text);
  const within = section ? `[${section.map(compileNode).join(' ')}]` : '';
  return `${atom}${within}${partial ? `<${partial.join('.')}>` : ''}`;
}

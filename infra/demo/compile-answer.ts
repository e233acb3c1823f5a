/** One answer of hoodiecrow as a line of IMAP, put together in one go. */
import type { AnswerNode, OutgoingResponse, TypedNode } from 'hoodiecrow-imap';

/** RFC 3501 9: what an atom may consist of; a flag begins with a backslash. */
const ATOM = /^\\?[^\u0000-\u0020\u007f-\uffff(){%*"\\\]]*$/;

/** Characters are bytes. */
export function compileAnswer({ tag = '*', command, attributes = [] }: OutgoingResponse): string {
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

/** `format=flowed` (RFC 3676): lines that were broken for the way, put together again. */

interface Line {
  readonly depth: number;
  readonly text: string;
}

/** Quote marks and stuffing off each line before any two are joined (RFC 3676 4.5). */
function unquoted(line: string): Line {
  const depth = /^>*/.exec(line)?.[0].length ?? 0;
  const text = line.slice(depth);
  return { depth, text: text.startsWith(' ') ? text.slice(1) : text };
}

/** A line that ends in a space goes on in the next one, but for the mark before a signature (RFC 3676 4.3). */
const isFlowed = ({ text }: Line): boolean => text.endsWith(' ') && text !== '-- ';

const quoted = ({ depth }: Line, text: string): string =>
  depth === 0 ? text : text === '' ? '>'.repeat(depth) : `${'>'.repeat(depth)} ${text}`;

/** The text with its paragraphs whole and each quote mark once; with `delSp` the space at a break goes too. */
export function unflow(text: string, delSp: boolean): string {
  const lines = text.split('\n').map(unquoted);
  const paragraphs: string[] = [];
  let open: string[] = [];
  for (const [index, line] of lines.entries()) {
    const next = lines[index + 1];
    const goesOn = isFlowed(line) && next?.depth === line.depth && next.text !== '-- ';
    open.push(goesOn && delSp ? line.text.slice(0, -1) : line.text);
    if (goesOn) continue;
    paragraphs.push(quoted(line, open.join('')));
    open = [];
  }
  return paragraphs.join('\n');
}

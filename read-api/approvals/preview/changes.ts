/** The differences between a send and its previous approval request: the manifests field by field, the texts line by line. */
import { z } from 'zod';
import { escapeText } from '../../../commands/html/html-markup.ts';
import type { Markup } from '../../../commands/ports/markup.ts';
import { MarkupRefused } from '../../../commands/html/markup-refused.ts';
import type { DraftBody } from '../../../commands/drafts/draft-body.ts';
import type { SendManifest } from '../../../commands/operations/manifest.ts';
import type { Fenced } from './document.ts';
import { visible } from '../../../commands/html/visible-text.ts';

export const Change = z.object({
  what: z.enum(['sender', 'recipients', 'reply_to', 'subject', 'headers', 'attachments', 'body']),
  before: z.string().nullable().describe('Invisible characters are marked; null for the body.'),
  after: z.string().nullable(),
  lines: z
    .array(z.object({ change: z.enum(['removed', 'added']), text: z.string() }))
    .optional()
    .describe('Of the body: the lines that differ, as the preview shows them.'),
  more_lines: z.int().optional().describe('Further lines that differ.'),
});
export type Change = z.output<typeof Change>;

/** A manifest with its text; null when that was erased. */
export interface SendVersion {
  readonly manifest: SendManifest;
  readonly body: Pick<DraftBody, 'html' | 'text'> | null;
}

type Showing = Pick<Markup, 'show'>;

export async function changesBetween(
  markup: Showing,
  before: SendVersion,
  after: SendVersion,
): Promise<readonly Change[]> {
  const told = FIELDS.flatMap(({ what, tell }): readonly Change[] => {
    const [was, is] = [tell(before.manifest), tell(after.manifest)];
    return was === is ? [] : [{ what, before: was, after: is }];
  });
  if (before.manifest.body_sha256 === after.manifest.body_sha256) return told;
  return [...told, await bodyChange(markup, before.body, after.body)];
}

type Addresses = SendManifest['headers']['to'];

const listed = (addresses: Addresses): string =>
  addresses.map(({ name, email }) => visible(name === null ? email : `${email} — ${name}`)).join(', ');
const labelled = (rows: readonly (readonly [label: string, value: string])[]): string =>
  rows.flatMap(([label, value]) => (value === '' ? [] : [`${label}: ${value}`])).join('\n');

const FIELDS: readonly {
  readonly what: Change['what'];
  readonly tell: (manifest: SendManifest) => string;
}[] = [
  {
    what: 'sender',
    tell: ({ headers, envelope }) =>
      labelled([
        ['From', listed([headers.from])],
        ['Envelope', visible(envelope.from)],
      ]),
  },
  {
    what: 'recipients',
    tell: ({ headers: { to, cc, bcc } }) =>
      labelled([
        ['To', listed(to)],
        ['Cc', listed(cc)],
        ['Bcc', listed(bcc)],
      ]),
  },
  { what: 'reply_to', tell: ({ headers }) => listed(headers.reply_to) },
  { what: 'subject', tell: ({ headers }) => visible(headers.subject) },
  {
    what: 'headers',
    tell: ({ headers }) =>
      labelled(headers.other.map(({ name, value }) => [visible(name), visible(value)] as const)),
  },
  {
    what: 'attachments',
    tell: ({ attachments }) =>
      attachments
        .map(({ filename, content_type, size, sha256 }) =>
          [
            visible(filename ?? 'without a name'),
            visible(content_type),
            `${String(size)} bytes`,
            sha256,
          ].join(', '),
        )
        .join('\n'),
  },
];

const MAX_LINES = 200;
const MAX_LINE_CHARS = 500;

async function bodyChange(
  markup: Showing,
  before: SendVersion['body'],
  after: SendVersion['body'],
): Promise<Change> {
  const change = { what: 'body', before: null, after: null } as const;
  const [was, is] = [before && (await shownText(markup, before)), after && (await shownText(markup, after))];
  if (was === null || is === null) return change;
  const lines = lineDiff(was, is);
  return {
    ...change,
    lines: lines
      .slice(0, MAX_LINES)
      .map((line) => ({ ...line, text: line.text.slice(0, MAX_LINE_CHARS).toWellFormed() })),
    ...(lines.length > MAX_LINES ? { more_lines: lines.length - MAX_LINES } : {}),
  };
}

/** The text as in the preview, so that a changed link is a changed line. Null for markup that cannot be shown. */
async function shownText(markup: Showing, body: Pick<DraftBody, 'html' | 'text'>): Promise<string | null> {
  try {
    const { mail, text } = await markup.show({ html: body.html, text: body.text });
    return (mail ?? text).text;
  } catch (error) {
    if (error instanceof MarkupRefused) return null;
    throw error;
  }
}

const TITLES: Readonly<Record<Change['what'], string>> = {
  sender: 'Sender',
  recipients: 'Recipients',
  reply_to: 'Answers go to',
  subject: 'Subject',
  headers: 'Other headers',
  attachments: 'Attachments',
  body: 'Text',
};

/** The changes as shown in the preview: removed with a minus, added with a plus. */
export function renderChanges(changes: readonly Change[]): Fenced {
  const lines = changes.flatMap(linesOf);
  const classOf = { '+': 'added', '-': 'removed', ' ': '' };
  // Invisible characters were marked when the changes were computed.
  const html = lines.map(
    ({ sign, text }) => `<div class="${classOf[sign]}">${sign} ${escapeText(text)}</div>`,
  );
  return {
    html: `<div class="plain">${html.join('')}</div>`,
    text: lines.map(({ sign, text }) => `${sign} ${text}`).join('\n'),
  };
}

interface SignedLine {
  readonly sign: '+' | '-' | ' ';
  readonly text: string;
}

function linesOf({ what, before, after, lines = [], more_lines }: Change): readonly SignedLine[] {
  const each = (sign: '+' | '-', value: string | null): readonly SignedLine[] =>
    value === null || value === '' ? [] : value.split('\n').map((text) => ({ sign, text }));
  const plain = (text: string): SignedLine => ({ sign: ' ', text });
  const isOnlyLook = what === 'body' && lines.length === 0;
  return [
    plain(`${TITLES[what]}:`),
    ...each('-', before),
    ...each('+', after),
    ...lines.map(({ change, text }): SignedLine => ({ sign: change === 'added' ? '+' : '-', text })),
    ...(isOnlyLook ? [plain('how it looks; no line of text')] : []),
    ...(more_lines === undefined ? [] : [plain(`${String(more_lines)} more lines`)]),
  ];
}

/** The lines in which two texts differ. Bounded: texts too large to compare are reported as removed and added. */

export interface ChangedLine {
  readonly change: 'removed' | 'added';
  readonly text: string;
}

/** The cost is the product of both lengths. */
const MAX_CELLS = 1_000_000;

/** In the order of the texts; at the same place removed lines come before added ones. */
export function lineDiff(before: string, after: string): readonly ChangedLine[] {
  const [a, b] = [before.split('\n'), after.split('\n')];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let tail = 0;
  while (tail < Math.min(a.length, b.length) - start && a.at(-1 - tail) === b.at(-1 - tail)) tail += 1;
  const [from, to] = [a.slice(start, a.length - tail), b.slice(start, b.length - tail)];
  return from.length * to.length > MAX_CELLS ? [...removed(from), ...added(to)] : compared(from, to);
}

const removed = (lines: readonly string[]): ChangedLine[] =>
  lines.map((text) => ({ change: 'removed', text }));
const added = (lines: readonly string[]): ChangedLine[] => lines.map((text) => ({ change: 'added', text }));

/** For each pair of lines the length of the longest common subsequence of the rest. */
function commonLengths(a: readonly string[], b: readonly string[]): (i: number, j: number) => number {
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  return at;
}

/** Along the longest common subsequence. */
function compared(a: readonly string[], b: readonly string[]): readonly ChangedLine[] {
  const common = commonLengths(a, b);
  const lines: ChangedLine[] = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) [i, j] = [i + 1, j + 1];
    else if (common(i + 1, j) >= common(i, j + 1)) lines.push(...removed(a.slice(i, (i += 1))));
    else lines.push(...added(b.slice(j, (j += 1))));
  }
  return [...lines, ...removed(a.slice(i)), ...added(b.slice(j))];
}

/** The preview of an approval, rendered twice from one description: as HTML for a sandboxed frame and as text. */
import { escapeText } from '../../commands/html/html-markup.ts';
import { asHtml, asText, type VisibleOptions, visiblePieces } from '../../commands/html/visible-text.ts';
import { PREVIEW_STYLE } from './render-style.ts';

/** A value with what has to be known about it. Every text here is shown as text, whoever wrote it. */
export interface Fact {
  readonly text: string;
  readonly notes: readonly string[];
  readonly warnings: readonly string[];
}

export interface Row {
  readonly label: string;
  readonly facts: readonly Fact[];
}

/** What others wrote, already made safe: `html` stands in a fence, each line of `text` behind a bar. */
export interface Fenced {
  readonly html: string;
  readonly text: string;
}

export type Block =
  /** In words of ours; what others wrote stands in it made visible already. */
  | { readonly kind: 'warning'; readonly text: string }
  | { readonly kind: 'facts'; readonly title: string | null; readonly rows: readonly Row[] }
  | { readonly kind: 'fenced'; readonly title: string; readonly end: string; readonly body: Fenced };

export interface PreviewDocument {
  /** What will happen, a sentence each. */
  readonly headline: readonly string[];
  readonly blocks: readonly Block[];
}

/** The approval it shows, and the hash of its content. */
export interface PreviewOf {
  readonly approvalId: string;
  readonly contentHash: string;
}

export interface Rendered {
  readonly html: string;
  readonly text: string;
}

export const fact = (
  text: string,
  { notes = [], warnings = [] }: Partial<Pick<Fact, 'notes' | 'warnings'>> = {},
): Fact => ({ text, notes, warnings });

const FIELD: VisibleOptions = { lines: false, max: 1_000 };

const html = (text: string): string => asHtml(visiblePieces(text, FIELD));
/** Isolated: its writing direction cannot rearrange what stands around it. */
const foreign = (text: string): string => `<bdi>${html(text)}</bdi>`;
const text = (value: string): string => asText(visiblePieces(value, FIELD));

/** Nothing in it runs, loads or asks; a frame around it may say so once more. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/** The document in both forms; they say the same. */
export const renderDocument = (document: PreviewDocument, of: PreviewOf): Rendered => ({
  html: `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width">
<title>What will happen</title>
<style>${PREVIEW_STYLE}</style></head>
<body><main tabindex="0">
<header><p class="quiet">What will happen</p>
${document.headline.map((line) => `<h1>${foreign(line)}</h1>`).join('\n')}</header>
${document.blocks.map(blockHtml).join('\n')}
<footer class="quiet">${foreign(footerOf(of))}</footer>
</main></body></html>
`,
  text: `${[...document.headline.map(text), ...document.blocks.map(blockText), footerOf(of)].join('\n\n')}\n`,
});

const footerOf = ({ approvalId, contentHash }: PreviewOf): string =>
  `Approval ${approvalId}, content hash ${contentHash}.`;

function blockHtml(block: Block): string {
  switch (block.kind) {
    case 'warning':
      return `<p class="warning"><strong>Warning:</strong> <bdi>${escapeText(block.text)}</bdi></p>`;
    case 'facts':
      return `<section>${block.title === null ? '' : `<h2>${foreign(block.title)}</h2>`}<dl>${block.rows.map(rowHtml).join('')}</dl></section>`;
    case 'fenced':
      return `<section><h2>${foreign(block.title)}</h2>
<div class="fence">${block.body.html}</div>
<p class="quiet end">${foreign(block.end)}</p></section>`;
  }
}

const rowHtml = ({ label, facts }: Row): string =>
  `<div><dt>${foreign(label)}</dt>${facts.map((each) => `<dd>${factHtml(each)}</dd>`).join('')}</div>`;

const factHtml = ({ text: value, notes, warnings }: Fact): string =>
  [
    `<span class="value">${foreign(value)}</span>`,
    ...notes.map((note) => `<span class="note">${foreign(note)}</span>`),
    ...warnings.map((warning) => `<strong class="alert">${foreign(warning)}</strong>`),
  ].join(' ');

function blockText(block: Block): string {
  switch (block.kind) {
    case 'warning':
      return `WARNING: ${block.text}`;
    case 'facts':
      return [...(block.title === null ? [] : [text(block.title)]), ...block.rows.map(rowText)].join('\n');
    case 'fenced': {
      const lines = block.body.text.split('\n').map((line) => `| ${line}`);
      return [text(block.title), ...lines, text(block.end)].join('\n');
    }
  }
}

function rowText({ label, facts }: Row): string {
  const lines = facts.map(factText);
  return lines.length === 1
    ? `${text(label)}: ${lines.join('')}`
    : [`${text(label)}:`, ...lines.map((line) => `  ${line}`)].join('\n');
}

const factText = ({ text: value, notes, warnings }: Fact): string =>
  [
    text(value),
    ...notes.map((note) => `(${text(note)})`),
    ...warnings.map((warning) => `[WARNING: ${text(warning)}]`),
  ].join(' ');

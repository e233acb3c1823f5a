/** The preview of an approval, rendered twice from one description: as HTML for a sandboxed frame and as text. */
import { escapeText } from '../../../commands/html/html-markup.ts';
import { asHtml, asText, type VisibleOptions, visiblePieces } from '../../../commands/html/visible-text.ts';
import type { Address } from '../../../commands/mail/message.ts';
import { type Domains, lookAtAddress } from '../../../commands/policy/address-look.ts';

/** A value with notes and warnings. Every text is escaped. */
export interface Fact {
  readonly text: string;
  readonly notes: readonly string[];
  readonly warnings: readonly string[];
}

export interface Row {
  readonly label: string;
  readonly facts: readonly Fact[];
}

/** Content by others, already sanitised: `html` is shown in a fence, each line of `text` behind a bar. */
export interface Fenced {
  readonly html: string;
  readonly text: string;
}

export type Block =
  /** Text of the gateway; invisible characters of others in it are already marked. */
  | { readonly kind: 'warning'; readonly text: string }
  | { readonly kind: 'facts'; readonly title: string | null; readonly rows: readonly Row[] }
  | { readonly kind: 'fenced'; readonly title: string; readonly end: string; readonly body: Fenced };

export interface PreviewDocument {
  /** What will happen, one sentence each. */
  readonly headline: readonly string[];
  readonly blocks: readonly Block[];
}

/** The approval it shows, and the hash of its content. */
interface PreviewOf {
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
/** Isolated: its writing direction cannot affect the text around it. */
const foreign = (text: string): string => `<bdi>${html(text)}</bdi>`;
const text = (value: string): string => asText(visiblePieces(value, FIELD));

/** Nothing in it runs or loads, independent of the frame around it. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/** The document in both forms, with the same content. */
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

/**
 * Light and dark, narrow and wide, system fonts only. Text has a contrast of at least 4.5 in both schemes (WCAG 2.2, 1.4.3).
 * `contain: paint` keeps everything in the fence inside it. A page that shows the warnings itself sets the class
 * `warnings-beside` on the root. List numbers are part of the text, so the browser adds none.
 */
export const PREVIEW_STYLE = `
:root {
  color-scheme: light dark;
  --ground: #fff; --sunk: #f6f7f9; --edge: #d5d9df; --text: #1b1f24; --quiet: #57606a;
  --mark: #5b2c83; --mark-ground: #f3e8fd; --bad: #8f2d0b; --bad-ground: #fdf0ea; --bad-edge: #e3a585;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #191c22; --sunk: #12151a; --edge: #3a414c; --text: #e8eaed; --quiet: #a5adb8;
    --mark: #dcbcfb; --mark-ground: #382349; --bad: #ffb58a; --bad-ground: #3a2015; --bad-edge: #8a4a2a;
  }
}
* { box-sizing: border-box }
body { margin: 0; font: 1rem/1.5 system-ui, sans-serif; color: var(--text); background: var(--ground) }
main { max-width: 52rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere }
header { margin-bottom: 1rem }
h1 { margin: 0 0 .25rem; font-size: 1.25rem; line-height: 1.3 }
h2 { margin: 1.5rem 0 .5rem; font-size: 1rem }
p { margin: 0 0 .5rem }
.quiet, dt, .note { color: var(--quiet); font-size: .875rem }
dl { margin: 0; border-top: 1px solid var(--edge) }
dl > div {
  display: grid; grid-template-columns: 11rem 1fr; gap: 0 1rem; padding: .45rem 0; border-bottom: 1px solid var(--edge);
}
dt { grid-row: 1 / span 200; padding-top: .1rem }
dd { margin: 0; grid-column: 2; white-space: pre-wrap }
dd + dd { margin-top: .35rem }
.note::before { content: "· " }
.mark {
  padding: 0 .2em; border-radius: .25em; font: .875em ui-monospace, monospace; color: var(--mark); background: var(--mark-ground);
  unicode-bidi: isolate; direction: ltr;
}
.alert { -webkit-box-decoration-break: clone; box-decoration-break: clone; padding: 0 .4em; border-radius: .25em; font-size: .875rem; color: var(--bad); background: var(--bad-ground) }
.warning {
  margin: 0; padding: .4rem .8rem; color: var(--bad); background: var(--bad-ground); border: solid var(--bad-edge);
  border-width: 0 1px;
}
.warnings-beside main > .warning { display: none }
.warning:first-of-type { padding-top: .7rem; border-top-width: 1px; border-radius: .5rem .5rem 0 0 }
.warning:last-of-type { padding-bottom: .7rem; border-bottom-width: 1px; border-radius: 0 0 .5rem .5rem; margin-bottom: 1rem }
.warning:only-of-type { border-radius: .5rem }
.fence {
  isolation: isolate; contain: paint; overflow: auto; padding: .9rem 1rem; background: var(--sunk);
  border: 1px solid var(--edge); border-left: .3rem solid var(--quiet); border-radius: .25rem .5rem .5rem .25rem;
}
.fence > :first-child { margin-top: 0 }
.fence > :last-child { margin-bottom: 0 }
.fence h3 { margin: .8rem 0 .4rem; font-size: 1.05rem }
.fence p { margin: 0 0 .7rem }
.fence blockquote { margin: 0 0 .7rem; padding-left: .8rem; border-left: 2px solid var(--edge); color: var(--quiet) }
.fence ol { list-style: none }
.fence pre { margin: 0 0 .7rem; font: .875rem/1.45 ui-monospace, monospace; white-space: pre-wrap }
.fence table { border-collapse: collapse; margin: 0 0 .7rem }
.fence td, .fence th { padding: .25rem .5rem; border: 1px solid var(--edge); text-align: start; vertical-align: top }
.fence .plain { font: inherit; white-space: pre-wrap; margin: 0 }
footer { margin-top: 1.5rem }
.end { margin-top: .35rem; font-size: .8125rem }
.added { background: color-mix(in srgb, #2da44e 22%, transparent) }
.removed { background: color-mix(in srgb, #cf222e 20%, transparent) }
@media (max-width: 34rem) {
  dl > div { grid-template-columns: 1fr }
  dt, dd { grid-row: auto; grid-column: 1 }
}
`;

/** An address with its suspicious traits. `outside`: note that it is outside the organisation. */
export function addressFact(
  address: Address,
  { domains, outside }: { readonly domains: Domains; readonly outside: boolean },
): Fact {
  const { email, unicode, isOutside, lookAlike, isSpoofed } = lookAtAddress(address, domains);
  return {
    text: email,
    notes: [
      ...(address.name === null ? [] : [`called “${address.name}”`]),
      ...(unicode === null ? [] : [`written ${unicode}`]),
      ...(outside && isOutside ? ['outside the organisation'] : []),
    ],
    warnings: [
      ...(lookAlike === null ? [] : [lookAlike]),
      ...(isSpoofed ? ['the name shows another address'] : []),
    ],
  };
}

/** Clean HTML as plain text and as Markdown (CommonMark). */
import { compile, type FormatCallback, type HtmlToTextOptions } from 'html-to-text';

/** Characters with which a sender could imitate the gateway's Markdown. */
const ESCAPED = Object.fromEntries(
  ['\\', '`', '*', '_', '[', ']', '<'].map((character) => [character, `\\${character}`]),
);

const LIMITS: NonNullable<HtmlToTextOptions['limits']> = {
  // Slightly above the limit of `visibleHtml`, so that the library's ellipsis never replaces content.
  maxDepth: 250,
};

const COMMON: HtmlToTextOptions = { wordwrap: false, limits: LIMITS, preserveNewlines: false };

const around =
  (before: string, after = before): FormatCallback =>
  (element, walk, builder) => {
    builder.addLiteral(before);
    walk(element.children, builder);
    builder.addLiteral(after);
  };

const heading: FormatCallback = (element, walk, builder) => {
  builder.openBlock({ leadingLineBreaks: 2 });
  builder.addLiteral(`${'#'.repeat(Number(element.name?.slice(1)))} `);
  walk(element.children, builder);
  builder.closeBlock({ trailingLineBreaks: 2 });
};

type Element = Parameters<FormatCallback>[0];
const attribute = (element: Element, name: string): string | undefined =>
  (element.attribs as Record<string, string | undefined>)[name];

/** Brackets and blanks would end the address early. */
const address = (text: string): string =>
  text.replaceAll(/[\s()<>]/g, (character) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`);

const link: FormatCallback = (element, walk, builder) => {
  const href = attribute(element, 'href');
  if (href === undefined) {
    walk(element.children, builder);
    return;
  }
  builder.addLiteral('[');
  walk(element.children, builder);
  builder.addLiteral(`](${address(href)})`);
};

const image: FormatCallback = (element, _walk, builder) => {
  const [src, alt = ''] = [attribute(element, 'src'), attribute(element, 'alt')];
  if (src === undefined && alt === '') return;
  builder.addLiteral(src === undefined ? '[' : '![');
  builder.addInline(alt);
  builder.addLiteral(src === undefined ? ']' : `](${address(src)})`);
};

const fenced: FormatCallback = (element, walk, builder) => {
  builder.openBlock({ leadingLineBreaks: 2, isPre: true });
  builder.addLiteral('```\n');
  walk(element.children, builder);
  builder.addLiteral('\n```');
  builder.closeBlock({ trailingLineBreaks: 2 });
};

const rule: FormatCallback = (_element, _walk, builder) => {
  builder.openBlock({ leadingLineBreaks: 2 });
  builder.addLiteral('---');
  builder.closeBlock({ trailingLineBreaks: 2 });
};

/** Cells of a row are placed side by side. Most tables of mail are layout, so no borders are drawn. */
const cell: FormatCallback = (element, walk, builder) => {
  walk(element.children, builder);
  builder.addInline(' ');
};
const row: FormatCallback = (element, walk, builder) => {
  builder.openBlock({ leadingLineBreaks: 1 });
  walk(element.children, builder);
  builder.closeBlock({ trailingLineBreaks: 1 });
};
const TABLE = [
  { selector: 'tr', format: 'row' },
  { selector: 'td', format: 'cell' },
  { selector: 'th', format: 'cell' },
];

const HEADINGS = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6'];
const MARKS: Readonly<Record<string, string>> = {
  b: 'strong', strong: 'strong', i: 'emphasis', em: 'emphasis', code: 'code', s: 'struck', del: 'struck', strike: 'struck',
}; // prettier-ignore

const markdown = compile({
  ...COMMON,
  encodeCharacters: ESCAPED,
  formatters: {
    heading,
    row,
    cell,
    link,
    image,
    fenced,
    rule,
    strong: around('**'),
    emphasis: around('*'),
    code: around('`'),
    struck: around('~~'),
  },
  selectors: [
    ...HEADINGS.map((selector) => ({ selector, format: 'heading' })),
    ...Object.entries(MARKS).map(([selector, format]) => ({ selector, format })),
    ...TABLE,
    { selector: 'a', format: 'link' },
    { selector: 'img', format: 'image' },
    { selector: 'pre', format: 'fenced' },
    { selector: 'hr', format: 'rule' },
    { selector: 'ul', format: 'unorderedList', options: { itemPrefix: '- ' } },
  ],
});

const plain = compile({
  ...COMMON,
  selectors: [
    ...HEADINGS.map((selector) => ({ selector, options: { uppercase: false } })),
    ...TABLE,
    { selector: 'a', options: { ignoreHref: true } },
    { selector: 'img', format: 'alternative' },
    { selector: 'ul', options: { itemPrefix: '- ' } },
    ...['s', 'strike', 'del'].map((selector) => ({ selector, format: 'struck' })),
  ],
  formatters: {
    struck: around('[struck: ', ']'),
    row,
    cell,
    alternative: (element, _walk, builder) => {
      builder.addInline(attribute(element, 'alt') ?? '');
    },
  },
});

/** Clean HTML as Markdown; Markdown characters in the text itself are escaped. */
export const htmlToMarkdown = (html: string): string => markdown(html).trim();

/** Clean HTML as text. */
export const htmlToText = (html: string): string => plain(html).trim();

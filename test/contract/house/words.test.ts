/** What others read is written in the words of `docs/glossary.md`: texts of the product, log lines, documents. */
import { expect } from 'chai';
import ts from 'typescript';
import { capabilities } from '../../../read-api/capabilities.ts';
import { type SourceFile, allSources, otherTexts, productSources } from '../../support/suite/sources.ts';

type Text = Pick<SourceFile, 'path' | 'text'>;

/** Words of a private dialect, in forms that plain English does not need. In quotes, "nobody" is the account of Unix. */
const PRIVATE_WORDS = new RegExp(
  String.raw`\b(?:${[
    'tells?|told|untold',
    'who(?:m)?ever',
    '(?<!")nobody(?!")|somebody|anybody',
    'he|him|his|himself',
    'anew',
    'so many',
    'for (?:good|ever)|forever',
    'by (?:itself|themselves)',
    'cut off',
    'gone on|go(?:es)? on(?! to)',
    'vouch(?:e[sd]|ing)?|distrust(?:s|ed)?',
    '(?:is|are|was) none',
    'has it that',
    'wants?',
    'bears?',
    'mend(?:s|ed)?',
    'surely',
    'the like',
    'any more',
    '(?:met|meets) a defect',
    'lies|stands (?:in|as|at|there|beside|below|above|behind)',
    '(?:REST|MCP|both|each|either|which) faces?',
    'gone on with',
    'asked? (?:for it )?again',
    '(?:an?|the|its|this|one|each|open) checks? (?:of|is|ends?|ended|that)',
  ].join('|')})\b`,
  'iu',
);

/** `path: word: text` of every text with a private word. */
const privateWords = (texts: readonly Text[]): readonly string[] =>
  texts.flatMap(({ path, text }) => {
    const [word] = PRIVATE_WORDS.exec(text) ?? [];
    return word === undefined ? [] : [`${path}: ${word}: ${text}`];
  });

/** SQL speaks of columns, and the demo's mails are made up. */
const isSql = (text: string): boolean =>
  /(?:^|[\s(])(?:select|insert into|update|delete from|create table|create index|case when)\s/.test(text);
const isFiction = ({ path }: Text): boolean => path.startsWith('infra/demo/');

/** The text of a literal or of literals joined with `+`; `…` is what is filled in. Null for anything else. */
function textOf(node: ts.Node): string | null {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateExpression(node))
    return [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join('…');
  if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.PlusToken) return null;
  const [left, right] = [textOf(node.left), textOf(node.right)];
  return left === null && right === null ? null : `${left ?? '…'}${right ?? '…'}`;
}

function* nodesOf(node: ts.Node, isPart = false): Generator<ts.Node> {
  if (ts.isImportDeclaration(node)) return;
  // Of a joined text only the whole is read.
  if (!isPart) yield node;
  const isJoined = ts.isBinaryExpression(node) && textOf(node) !== null;
  for (const child of childrenOf(node)) yield* nodesOf(child, isJoined && textOf(child) !== null);
}

function childrenOf(node: ts.Node): readonly ts.Node[] {
  const children: ts.Node[] = [];
  ts.forEachChild(node, (child) => void children.push(child));
  return children;
}

const parsed = new WeakMap<Text, readonly ts.Node[]>();

function nodes(source: Text): readonly ts.Node[] {
  const { path, text } = source;
  const found = parsed.get(source) ?? [
    ...nodesOf(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)),
  ];
  parsed.set(source, found);
  return found;
}

/** Every text of more than one word in the code, comments left out. */
const textsIn = (source: Text): readonly Text[] =>
  nodes(source)
    .flatMap((node) => textOf(node) ?? [])
    .filter((text) => /\w \w/.test(text) && !isSql(text))
    .map((text) => ({ path: source.path, text: text.replaceAll(/\s+/g, ' ') }));

/** First arguments of `log.info|warn|error(…)`: each is a literal of the form `component: what happened`. */
const badLogLines = (source: Text): readonly string[] =>
  nodes(source)
    .filter((node) => ts.isCallExpression(node))
    .filter(({ expression }) => /\blog\.(?:info|warn|error)$/.test(expression.getText()))
    .map(({ arguments: [line] }) => line?.getText() ?? '')
    .filter((line) => !/^'[a-z][a-z ]*: [a-z][^:.!]*'$/.test(line))
    .map((line) => `${source.path}: ${line}`);

/** A document without code: what is quoted there is as it is. The glossary lists the words that are not used. */
const documents: readonly Text[] = otherTexts()
  .filter(({ path }) => /^[^/]+\.md$|^docs\/[^/]+\.md$|^docs\/adr\/README\.md$/.test(path))
  .filter(({ path }) => path !== 'docs/glossary.md')
  .flatMap(({ path, text }) =>
    text
      .replaceAll(/^```[^]*?^```/gm, '')
      .split(/\n\s*\n|\n(?=[-|#]|\d\.)/)
      .map((part) => ({ path, text: part.replaceAll(/`[^`]*`|\]\([^)]*\)/g, '…').replaceAll(/\s+/g, ' ') })),
  );

const sources = productSources().filter((source) => !isFiction(source));

describe('the words of the product', () => {
  it('are plain in titles, summaries and descriptions, and call an approval an approval', () => {
    const texts = capabilities.flatMap(({ name, title, summary, description }) =>
      [title, summary, description].map((text) => ({ path: name, text })),
    );
    expect(privateWords(texts)).to.deep.equal([]);
    const called = texts.filter(({ text }) => /\b(?:an?|the|its|this|one|of) checks?\b/i.test(text));
    expect(called).to.deep.equal([]);
  });

  it('are plain in every text of the code: descriptions, errors, previews, commands', () => {
    expect(privateWords(sources.flatMap(textsIn))).to.deep.equal([]);
  });

  it('name the component first and in lower case in log lines', () => {
    expect(sources.flatMap(badLogLines)).to.deep.equal([]);
  });

  it('are plain in documents and in the titles of decisions', () => {
    expect(documents.length).to.be.above(300);
    expect(privateWords(documents)).to.deep.equal([]);
  });
});

describe('privateWords', () => {
  const path = 'commands/sample.ts';
  const found = (text: string): number => privateWords(textsIn({ path, text })).length;

  it('finds them in literals, templates and joined literals', () => {
    const texts = [
      `throw new GatewayError('conflict', 'Nobody knows; ask again.');`,
      'throw invalid("path", `${name} is told ${what}`);',
      `const description = 'The server ' + 'goes ' + 'on';`,
      `const message = 'A mailbox, which lies ' + name;`,
      `const message = 'The key ' + quoted('that nobody knows') + '.';`,
      `const help = { rule: 'Policy wants an approval.' };`,
    ];
    expect(texts.map(found)).to.deep.equal(texts.map(() => 1));
  });

  it('leaves comments, names, SQL and plain uses alone', () => {
    const texts = [
      `// Nobody is told.\nconst text = 'Try again later.';`,
      `import { told } from './who is told.ts';`,
      'const sql = `update sends set told = true where told = false`;',
      `const key = 'wants_to_send';`,
      `const rule = 'Run as another user than "nobody", or check host and port.';`,
    ];
    expect(texts.map(found)).to.deep.equal(texts.map(() => 0));
  });

  it('reports a log line without a component, in capitals or of another value', () => {
    const bad = [
      `'request failed'`,
      `'Http: request failed'`,
      `'http: Request failed.'`,
      'text',
      '`http: ${text}`',
    ];
    const lines = ["'http: request failed'", ...bad].map((line) => `this.#options.log.warn(${line}, {});`);
    expect(badLogLines({ path, text: lines.join('\n') })).to.deep.equal(
      bad.map((line) => `${path}: ${line}`),
    );
  });
});

describe('titles of unit tests', () => {
  /** The subject is in `describe`, so that a title starts with its verb. The words left out only end like one. */
  const withoutVerb = (titles: readonly Text[]): readonly string[] =>
    titles
      .filter(({ text }) => !/^(?:never )?(?!(?:always|as|its|this|thus|unless)\b)[a-z]+s[ ,]/.test(text))
      .map(({ path, text }) => `${path}: ${text}`);

  const titlesIn = ({ path, text }: Text): readonly Text[] =>
    [...text.matchAll(/\bit\(\s*(['"`])(.+?)(?: \$\{verifies\(.*)?\1,/g)].map(([, , title = '']) => ({
      path,
      text: title,
    }));

  // Only of unit tests: elsewhere subjects are in the plural too, and their verbs look like nouns.
  const titles = allSources()
    .filter(({ path }) => /^test\/unit\/.*\.test\.ts$/.test(path))
    .flatMap(titlesIn);

  it('start with a verb in the third person', () => {
    expect(titles.length).to.be.above(1_000);
    expect(withoutVerb(titles)).to.deep.equal([]);
  });

  it('use no private words', () => {
    expect(privateWords(titles)).to.deep.equal([]);
  });

  it('are found and refused when no verb comes first', () => {
    const text = [
      `it('refuses a name', () => {`,
      `it('never sends twice', () => {`,
      'it(`as ${a}, is refused`, () => {',
      `it('this is refused', () => {`,
      `it("that a name's form is valid", () => {`,
    ].join('\n');
    expect(withoutVerb(titlesIn({ path: 'a.test.ts', text }))).to.deep.equal([
      'a.test.ts: as ${a}, is refused',
      'a.test.ts: this is refused',
      "a.test.ts: that a name's form is valid",
    ]);
  });
});

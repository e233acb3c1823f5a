import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect } from 'chai';
import { type SourceFile, allSources, otherTexts } from '../../support/suite/sources.ts';

const ROOT = join(import.meta.dirname, '../../..');
const here = 'test/contract/house/citations.test.ts';

/** What a citation can name in a document: the numbers of its `## N.` headings, and the anchors of all headings. */
interface Headings {
  readonly numbers: ReadonlySet<string>;
  readonly anchors: ReadonlySet<string>;
}

/** The anchor that Markdown renderers give a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

function headingsOf(markdown: string): Headings {
  const prose = markdown.replaceAll(/^```[^]*?^```/gm, '');
  const titles = [...prose.matchAll(/^#+ +(.+)$/gm)].map(([, title = '']) => title);
  const numbers = titles.map((title) => /^(\d+)\. /.exec(title)?.[1] ?? '').filter((number) => number !== '');
  return { numbers: new Set(numbers), anchors: new Set(titles.map(anchorOf)) };
}

const sourcePaths = globSync('{commands,projections,read-api,mcp,infra,test,bench}/**/*.{ts,js}', {
  cwd: ROOT,
});

const documents: ReadonlyMap<string, Headings> = new Map(
  globSync(['*.md', 'docs/**/*.md', 'test/**/*.md'], { cwd: ROOT }).map((path) => [
    path,
    headingsOf(readFileSync(join(ROOT, path), 'utf8')),
  ]),
);

/** A document named in a file: relative to that file, from the root, or in `docs/`. */
const documentOf = (path: string, name: string): Headings | undefined =>
  [normalize(join(dirname(path), name)), name, join('docs', name)]
    .map((place) => documents.get(place))
    .find((headings) => headings !== undefined);

const NUMBERS = String.raw`(?<numbers>\d+(?:(?:,| and| or| to|–) ?\d+)*)`;
/** docs/backup.md, contract.md 7 and 10, architecture.md#processes; but no address on the web. */
const DOCUMENT = new RegExp(
  String.raw`(?<![\w/.*}-])(?<name>[\w.][\w./-]*\.md)\b(?:#(?<anchor>[\p{L}\p{N}_-]+)|[\x60]?,? ${NUMBERS})?`,
  'gu',
);
/** Without the ending: contract 13. And rules: contract:9:one-vote. */
const BARE = new RegExp(String.raw`\b(?<stem>contract|interface|architecture)[ :]${NUMBERS}`, 'g');
/** In the contract itself and in the tables of its rules: section 6, sections 7 and 10. */
const SECTION = new RegExp(String.raw`\bsections? ${NUMBERS}`, 'gi');

function citations({ path, text }: Pick<SourceFile, 'path' | 'text'>): readonly RegExpExecArray[] {
  // A comment may break a line inside a citation.
  const line = text.replaceAll(/\n\s*(?:\*(?!\/)|\/\/|--)?\s*/g, ' ');
  const ofContract = path === 'docs/contract.md' || path.startsWith('test/requirements/');
  return [DOCUMENT, BARE, ...(ofContract ? [SECTION] : [])].flatMap((form) => [...line.matchAll(form)]);
}

/** Citations of documents and headings that are not in this repository, as `path: citation`. */
const deadCitations = (files: readonly Pick<SourceFile, 'path' | 'text'>[]): readonly string[] =>
  files.flatMap((file) =>
    citations(file)
      .filter(({ groups = {} }) => {
        const headings = documentOf(file.path, groups['name'] ?? `${groups['stem'] ?? 'contract'}.md`);
        const numbers = groups['numbers']?.match(/\d+/g) ?? [];
        const { anchor } = groups;
        if (headings === undefined) return true;
        return (
          numbers.some((number) => !headings.numbers.has(number)) ||
          (anchor !== undefined && !headings.anchors.has(anchor))
        );
      })
      .map(([citation]) => `${file.path}: ${citation}`),
  );

/** In backticks: a path below one of the folders of the project, or the bare name of a file. */
const FILE = new RegExp(
  String.raw`[\x60](?<path>(?:commands|projections|read-api|mcp|infra|test|bench|docs)/[\w./-]*|[\w-]+(?:\.test)?\.(?:ts|js|cjs))[\x60]`,
  'g',
);

/** Files and folders that a document names and that are not here, as `document: name`. */
const missingFiles = (files: readonly Pick<SourceFile, 'path' | 'text'>[]): readonly string[] =>
  files.flatMap(({ path, text }) =>
    [...text.matchAll(FILE)]
      .map(({ groups = {} }) => groups['path'] ?? '')
      .filter(
        (name) => !existsSync(join(ROOT, name)) && !sourcePaths.some((file) => file.endsWith(`/${name}`)),
      )
      .map((name) => `${path}: ${name}`),
  );

/** A source file reduced to its comments. */
const commentsOf = ({ path, text }: SourceFile): Pick<SourceFile, 'path' | 'text'> => ({
  path,
  text: text.replaceAll(/^(?!\s*(?:\/?\*|\/\/)).*$/gm, ''),
});

/** `path`, `name`: what a walk tells its reader to look for in a file. */
const SYMBOL = /\x60(?<path>[\w-]+(?:\/[\w-]+)+\.ts)\x60, \x60(?<symbol>\w+)\x60/g;

/** Names that a document promises in a file and that the file does not have, as `file: name`. */
const missingSymbols = (files: readonly Pick<SourceFile, 'text'>[]): readonly string[] => {
  const sources = new Map(allSources().map(({ path, text }) => [path, text]));
  return files.flatMap(({ text }) =>
    [...text.matchAll(SYMBOL)]
      .map(({ groups = {} }) => [groups['path'] ?? '', groups['symbol'] ?? ''] as const)
      .filter(([path, symbol]) => !new RegExp(String.raw`\b${symbol}\b`).test(sources.get(path) ?? ''))
      .map(([path, symbol]) => `${path}: ${symbol}`),
  );
};

describe('citations', () => {
  // Accepted decisions are never edited.
  const texts = [...allSources(), ...otherTexts()].filter(
    ({ path }) => path !== here && !path.startsWith('docs/adr/'),
  );

  it('name documents and headings of this repository', () => {
    expect(texts.flatMap(citations).length).to.be.greaterThan(500);
    expect(deadCitations(texts)).to.deep.equal([]);
  });

  for (const dead of [
    '/** Rules of sending (`contract.md` 7 and 99). */',
    '/**\n * The steps of a send are in `contract.md`\n * 99. */',
    '// Always says when to come back (contract 99).',
    'counts once [contract:99:one-vote]',
    '/** The error body of `interface.md` 7. */',
    'See [the contract](contract.md#no-such-heading).',
    '/** What each schema is worth: docs/architecture.md#no-such-heading */',
    'The rest is in docs/no-such-document.md.',
  ]) {
    it(`are refused when their target does not exist: ${dead.replaceAll('\n', ' ')}`, () => {
      expect(deadCitations([{ path: 'commands/kernel/ids.ts', text: dead }])).to.have.lengthOf(1);
    });
  }

  it('are accepted when their target exists', () => {
    const text =
      '`contract.md` 6 to 10; docs/contract.md#13-errors; `contract.md`\n * 7, 10 and 14; docs/adr/README.md';
    expect(deadCitations([{ path: 'commands/kernel/ids.ts', text }])).to.deep.equal([]);
  });

  it('name existing files and folders in documents and comments', () => {
    const prose = texts.filter(({ path }) => path.endsWith('.md') && path !== 'CHANGELOG.md');
    const comments = allSources().map(commentsOf);
    expect(missingFiles([...prose, ...comments.filter(({ path }) => path !== here)])).to.deep.equal([]);
    const source = {
      path: 'a.ts',
      text: 'read(`no-such-file.ts`);\n/** `no-such-file.ts` */\n  // `no-such-file.ts`',
    };
    expect(missingFiles([commentsOf(source as SourceFile)])).to.have.lengthOf(2);
    const text =
      '`commands/kernel/no-such-file.ts`, `no-such-file.ts`, `infra/no-such-folder/`, `commands/kernel/`';
    expect(missingFiles([{ path: 'docs/walk.md', text }])).to.have.lengthOf(3);
  });

  it('name existing files when they name a file', () => {
    expect(missingSymbols(texts)).to.deep.equal([]);
    const text = '`commands/values/ids.ts`, `derivedId`; `commands/values/ids.ts`, `noSuchFunction`';
    expect(missingSymbols([{ text }])).to.deep.equal(['commands/values/ids.ts: noSuchFunction']);
  });
});

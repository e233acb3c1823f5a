import { basename } from 'node:path';
import { expect } from 'chai';
import { type SourceFile, allSources, otherTexts, productSources } from '../../support/suite/sources.ts';
import { verifies } from '../../support/suite/verifies.ts';

const here = 'test/contract/house/sources.test.ts';
const sources = allSources().filter(({ path }) => path !== here);

/** `path:line: text` of every line that matches. */
const linesMatching = (files: readonly SourceFile[], pattern: RegExp): readonly string[] =>
  files.flatMap(({ path, lines }) =>
    lines.flatMap((line, index) =>
      pattern.test(line) ? [`${path}:${String(index + 1)}: ${line.trim()}`] : [],
    ),
  );

describe('names of files', () => {
  const names = sources.map(({ path }) => path);

  it('are kebab-case, with .test or .d only before the ending', () => {
    const odd = names.filter((path) => !/^[a-z0-9]+(-[a-z0-9]+)*(\.(test|d))?\.ts$/.test(basename(path)));
    expect(odd).to.deep.equal([]);
  });

  it('name a job, never utils, helpers, manager, service, common, misc or index', () => {
    const forbidden =
      /^(?:.*-)?(?:util|utils|helper|helpers|manager|service|common|misc|index)(?:\.test)?\.ts$/;
    expect(names.filter((path) => forbidden.test(basename(path)))).to.deep.equal([]);
  });
});

describe('exports', () => {
  it('are never re-exported, which would hide their origin', () => {
    expect(linesMatching(productSources(), /^export\s+(type\s+)?(\*|\{[^}]*\})\s*.*\bfrom\b/)).to.deep.equal(
      [],
    );
  });
});

describe('the process of the gateway', () => {
  it(`reads no standard input ${verifies('contract:16:endpoint')}`, () => {
    const serving = productSources().filter(({ path }) => !path.startsWith('infra/admin/'));
    expect(linesMatching(serving, /\bstdin\b|StdioServerTransport|server\/stdio/)).to.deep.equal([]);
  });
});

describe('tests and sources', () => {
  it('contain no focused or disabled test', () => {
    expect(
      linesMatching(sources, /\b(describe|it|context)\.(only|skip)\(\s*['"`]|\bx(it|describe)\(/),
    ).to.deep.equal([]);
  });

  it('contain no note of unfinished work', () => {
    expect(linesMatching([...sources, ...otherTexts()], /\b(TODO|FIXME|XXX|HACK)\b/)).to.deep.equal([]);
  });

  it('contain an expectation in every test file', () => {
    const tests = sources.filter(({ path }) => path.endsWith('.test.ts'));
    // `given(…).when(…).then(…)` of the decider specs compares, too.
    const compares = /\b(expect|assert)[.(]|expectGolden\(|\bgiven\(/;
    const silent = tests.filter(({ text }) => !compares.test(text));
    expect(silent.map(({ path }) => path)).to.deep.equal([]);
  });
});

describe('opt-outs from the static checks', () => {
  const optOuts = linesMatching(sources, /eslint-disable|@ts-(expect-error|ignore|nocheck)|c8 ignore/);

  it('give their reason on the same line', () => {
    const bare = optOuts.filter((line) => !/ -- \S.{9,}|@ts-expect-error \S.{9,}/.test(line));
    expect(bare).to.deep.equal([]);
  });

  it('never disable a whole file or every rule', () => {
    const whole =
      /\/\*\s*eslint-disable\b|eslint-disable(-next-line|-line)?\s*(--|\*\/|$)|@ts-(ignore|nocheck)/;
    expect(optOuts.filter((line) => whole.test(line))).to.deep.equal([]);
  });

  it('are at most as many as agreed', () => {
    expect(optOuts.length, optOuts.join('\n')).to.be.at.most(12);
  });

  it('are few in tables with a manual layout', () => {
    const byHand = linesMatching(productSources(), /prettier-ignore/);
    expect(byHand.length, byHand.join('\n')).to.be.at.most(30);
  });
});

describe('texts', () => {
  it('name no folder of one machine', () => {
    // Programs of the system and the temp folder are the same everywhere; /work and homes are not.
    const absolute = /(^|[\s'"`(=:])\/(work|home|root|Users)\//;
    expect(linesMatching([...sources, ...otherTexts()], absolute)).to.deep.equal([]);
  });

  it('name no package registry', () => {
    const registries = /registry\.(npmjs|yarnpkg)\.|npmmirror|verdaccio|artifactory|jfrog/i;
    expect(linesMatching([...sources, ...otherTexts()], registries)).to.deep.equal([]);
  });
});

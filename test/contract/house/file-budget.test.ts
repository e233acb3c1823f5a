import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect } from 'chai';
import { productSources } from '../../support/suite/sources.ts';

const sources = productSources();
const folderOf = (path: string): string => dirname(path);

/** `folder → folder` of every import that leaves its folder. */
const edges = new Set(
  sources.flatMap(({ path, text }) =>
    [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)'/g)]
      .map(([, target = '']) => folderOf(normalize(join(folderOf(path), target))))
      .filter((folder) => folder !== folderOf(path))
      .map((folder) => `${folderOf(path)} → ${folder}`),
  ),
);

describe('file budget of the product', () => {
  it('limits a file to 300 lines', () => {
    const tooLong = sources.filter(({ lines }) => lines.length > 300);
    expect(tooLong.map(({ path }) => path)).to.deep.equal([]);
  });

  /** One file without imports, so that whoever verifies can read and keep it as a whole (ADR 0133). */
  it('limits the verifier of audit files to 500 lines', () => {
    const text = readFileSync(join(import.meta.dirname, '../../../infra/console/verify-audit.mjs'), 'utf8');
    expect(text.trimEnd().split('\n').length).to.be.at.most(500);
    expect([...text.matchAll(/^import\b|\bfrom '|import\('(?!node:)/gm)]).to.deep.equal([]);
  });
});

describe('folders of the product', () => {
  it('never import each other', () => {
    const mutual = [...edges].filter((edge) => {
      const [from = '', to = ''] = edge.split(' → ');
      return from < to && edges.has(`${to} → ${from}`);
    });
    expect(edges.size).to.be.greaterThan(50);
    expect(mutual).to.deep.equal([]);
  });
});

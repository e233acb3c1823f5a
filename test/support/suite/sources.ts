/** The files of the project, for tests about the sources themselves. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../../..');
const PRODUCT = ['commands', 'projections', 'read-api', 'mcp', 'infra'];
const BESIDE = ['test', 'bench'];

export interface SourceFile {
  /** From the project's root, with `/`. */
  readonly path: string;
  readonly text: string;
  /** As an editor numbers them. */
  readonly lines: readonly string[];
}

function read(pattern: string): readonly SourceFile[] {
  return globSync(pattern, { cwd: ROOT })
    .sort()
    .map((path) => {
      const text = readFileSync(join(ROOT, path), 'utf8');
      return { path, text, lines: text.replace(/\n$/, '').split('\n') };
    });
}

/** Every TypeScript file that ships. */
export const productSources = (): readonly SourceFile[] =>
  PRODUCT.flatMap((folder) => read(`${folder}/**/*.ts`));

/** Includes the tests and benches. */
export const allSources = (): readonly SourceFile[] => [
  ...productSources(),
  ...BESIDE.flatMap((folder) => read(`${folder}/**/*.ts`)),
];

/** Every other hand-written file: configuration, SQL, prose. */
export const otherTexts = (): readonly SourceFile[] => [
  ...read('*.{md,json,js,cjs}').filter(({ path }) => path !== 'package-lock.json'),
  ...read('docs/**/*.md'),
  ...[...PRODUCT, ...BESIDE].flatMap((folder) => read(`${folder}/**/*.{sql,mjs,cjs,js,md}`)),
];

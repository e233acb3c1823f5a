/** Type check, lint, format and import rules: each counts as one test of the run. */
import { runNode } from './child.ts';
import type { Job } from './job.ts';

const TIMEOUT_MS = 300_000;
const SOURCES = ['commands', 'projections', 'read-api', 'mcp', 'infra', 'test', 'bench'];

const check = (name: string, ...args: readonly string[]): Job => ({
  name,
  async run() {
    const { code, output, ended } = await runNode(args, { timeoutMs: TIMEOUT_MS });
    if (code === 0 && ended === null) return { passed: 1, failures: [], skipped: [] };
    const failure = [`${name} found problems`, ended, output.trim()].filter(Boolean).join('\n');
    return { passed: 0, failures: [failure], skipped: [] };
  },
});

/** Slow: started first, so that it does not delay the end. */
export const lintCheck = check('eslint', 'node_modules/.bin/eslint', '.', '--max-warnings', '0');

export const quickChecks: readonly Job[] = [
  check('typecheck', 'node_modules/.bin/tsc', '-p', '.'),
  check('typecheck of the console', 'node_modules/.bin/tsc', '-p', 'infra/console'),
  check('prettier', 'node_modules/.bin/prettier', '--check', '--log-level', 'warn', '.'),
  check('imports', 'node_modules/.bin/depcruise', '--config', '.dependency-cruiser.cjs', ...SOURCES),
];

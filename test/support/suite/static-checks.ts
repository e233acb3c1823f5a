/** Type check, lint and format: each counts as one test of the run. The import rules have tests in `test/contract/house/`. */
import { runNode } from './child.ts';
import type { Job } from './job.ts';

const TIMEOUT_MS = 1_800_000;

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
];

/** The output of mocha's JSON reporter, as counts and readable failures. */
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { inspect } from 'node:util';
import { z } from 'zod';
import type { JobResult } from './job.ts';

const Test = z.object({
  fullTitle: z.string(),
  file: z.string().nullish(),
  err: z
    .object({
      message: z.string(),
      stack: z.string(),
      actual: z.unknown(),
      expected: z.unknown(),
      // A cause may be anything.
      cause: z.object({ message: z.string() }).optional().catch(undefined),
    })
    .partial(),
});
const Report = z.object({
  passes: z.array(Test),
  pending: z.array(Test),
  failures: z.array(Test),
});
type Test = z.output<typeof Test>;

const STACK_LINES = 6;
const VALUE_CHARACTERS = 2000;

/** Mocha gives most values as text, numbers unchanged. */
function shorten(value: unknown): string {
  const text = typeof value === 'string' ? value : inspect(value);
  return text.length > VALUE_CHARACTERS ? `${text.slice(0, VALUE_CHARACTERS)} …` : text;
}

const place = (file: string | null | undefined): string => (file ? `${relative('', file)}: ` : '');

function describeFailure({ fullTitle, file, err }: Test): string {
  const lines = [`${place(file)}${fullTitle}`, err.message ?? 'no message'];
  if (err.cause !== undefined) lines.push(`caused by ${shorten(err.cause.message)}`);
  if (err.actual !== undefined && err.expected !== undefined) {
    lines.push(`expected ${shorten(err.expected)}`, `actual   ${shorten(err.actual)}`);
  }
  const calls = (err.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return [...lines, ...calls.slice(0, STACK_LINES).map((line) => line.trim())].join('\n');
}

/** Null when mocha failed at startup. Throws when the file is not its report. */
export function readMochaReport(path: string): JobResult | null {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return null;
  }
  const { passes, pending, failures } = Report.parse(JSON.parse(text));
  return {
    passed: passes.length,
    failures: failures.map(describeFailure),
    failedFiles: [...new Set(failures.flatMap(({ file }) => (file ? [relative('', file)] : [])))],
    skipped: pending.map(({ fullTitle, file }) => `${place(file)}${fullTitle}`),
  };
}

/** The log: one JSON line per entry on standard error, without secrets. */
import type { Log } from '../../commands/ports/ports.ts';

const SECRET_KEYS = /password|passwd|token|secret|authorization|credential|cookie/i;
const SECRET_TEXTS = /\bmg[wsc]_[A-Za-z0-9]+|\beyJ[\w-]+\.[\w-]+\.[\w-]*|:\/\/[^\s/:@]+:[^\s/@]+@/g;
/** Ids are not secrets, even when their names contain such a word. */
const isSecretKey = (key: string): boolean =>
  SECRET_KEYS.test(key) && !key.endsWith('_id') && !key.endsWith('Id');

const MOST_DEPTH = 4;

/** The value with secrets replaced; values nested too deep are cut. */
export function redact(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return value.replaceAll(SECRET_TEXTS, '[redacted]');
  if (typeof value === 'bigint') return String(value);
  if (value instanceof Date) return value.toJSON();
  if (value instanceof Error) return redact(value.stack ?? value.message, depth);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= MOST_DEPTH) return '[cut]';
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [
      key,
      isSecretKey(key) ? '[redacted]' : redact(field, depth + 1),
    ]),
  );
}

export const LEVELS = ['info', 'warn', 'error'] as const;
export type Level = (typeof LEVELS)[number];

/** A log that writes lines of at least the level `least`. */
export function createJsonLog(
  least: Level = 'info',
  write: (line: string) => void = (line) => void process.stderr.write(line),
): Log {
  const entry =
    (level: Level) =>
    (message: string, fields: Readonly<Record<string, unknown>> = {}) => {
      if (LEVELS.indexOf(level) < LEVELS.indexOf(least)) return;
      const safe = redact(fields) as Record<string, unknown>;
      // Last, so that no field replaces the common ones; first, so that lines are easy to read.
      const head = { time: new Date().toISOString(), level, message: redact(message) };
      write(`${JSON.stringify({ ...head, ...safe, ...head })}\n`);
    };
  return { info: entry('info'), warn: entry('warn'), error: entry('error') };
}

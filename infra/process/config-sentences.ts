/** Errors of a failed start, for a person at a terminal: sentences, never a stack. */
import { ConfigError } from './config.ts';

/** One sentence per error. */
export function sentenceOf(error: unknown): string {
  if (error instanceof ConfigError) return error.sentences.join('\n');
  return error instanceof Error ? error.message : String(error);
}

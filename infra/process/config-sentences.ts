/** What a person at a terminal reads when a start fails: sentences, never a stack. */
import { ConfigError } from './config.ts';

/** One sentence per thing that is wrong. */
export function sentenceOf(error: unknown): string {
  if (error instanceof ConfigError) return error.sentences.join('\n');
  return error instanceof Error ? error.message : String(error);
}

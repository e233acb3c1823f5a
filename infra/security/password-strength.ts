/** How easily a password is guessed: an estimate against 49,000 known passwords, patterns, and words about the person. */
import type { ZxcvbnFactory } from '@zxcvbn-ts/core';
import type { PasswordWeakness } from '../../commands/ports/sign-in-port.ts';

/** Against a guesser who tries one every millisecond, this takes four months. */
const LEAST_GUESSES_LOG10 = 10;
/** The effort grows with the square of what is read; a password with a strong beginning is strong. */
const MOST_READ = 64;
const SHORTEST_WORD = 3;

/** The result of one load for all callers; after a failure the next caller loads again. */
export function loadedOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | null = null;
  return () =>
    (loaded ??= load().catch((error: unknown) => {
      loaded = null;
      throw error;
    }));
}

/** Its lists take 0.1 s and 40 MB: only a process in which a password is set loads them. */
const estimator = loadedOnce(async (): Promise<ZxcvbnFactory> => {
  const [{ ZxcvbnFactory: Factory }, { dictionary, adjacencyGraphs }] = await Promise.all([
    import('@zxcvbn-ts/core'),
    import('@zxcvbn-ts/language-common'),
  ]);
  return new Factory({ dictionary, graphs: adjacencyGraphs, maxLength: MOST_READ });
});

/** As `Secrets.weaknessOf`. */
export async function weaknessOf(
  password: string,
  words: readonly string[],
): Promise<PasswordWeakness | null> {
  const read = password.normalize('NFC').slice(0, MOST_READ);
  const { guessesLog10, feedback } = (await estimator()).check(read, piecesOf(words));
  return guessesLog10 >= LEAST_GUESSES_LOG10 ? null : (REASONS[feedback.warning ?? ''] ?? 'short_words');
}

/** An address is guessed whole and in its parts. */
const piecesOf = (words: readonly string[]): string[] => [
  ...new Set(
    words
      .flatMap((text) => [text, text.replace(/\s+/g, ''), ...text.split(/[^\p{L}\p{N}]+/u)])
      .map((text) => text.toLowerCase())
      .filter((text) => text.length >= SHORTEST_WORD),
  ),
];

/** The warnings of the estimator, by what a person can do about them. */
const REASONS: Readonly<Record<string, PasswordWeakness>> = {
  topTen: 'known',
  topHundred: 'known',
  common: 'known',
  similarToCommon: 'known',
  pwned: 'known',
  userInputs: 'personal',
  namesByThemselves: 'personal',
  commonNames: 'personal',
  simpleRepeat: 'repeated',
  extendedRepeat: 'repeated',
  straightRow: 'sequence',
  keyPattern: 'sequence',
  sequences: 'sequence',
  recentYears: 'sequence',
  dates: 'sequence',
};

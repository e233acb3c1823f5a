/** At most `count` of them, evenly. */
export const spread = <T>(all: readonly T[], count: number): readonly T[] =>
  all.filter((_, n) => Math.floor(((n + 1) * count) / all.length) !== Math.floor((n * count) / all.length));

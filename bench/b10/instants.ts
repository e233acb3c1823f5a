/** Instants far apart, none twice: no two pages before them are alike, and none follows another. */

/** A multiplicative step over a prime. */
const [STEP, PRIME] = [7_368_787, 15_485_863];

/** The nth of them, in milliseconds. */
export const instantAt = (n: number, firstMs: number, lastMs: number): number =>
  Math.round(firstMs + (((n * STEP) % PRIME) / PRIME) * (lastMs - firstMs));

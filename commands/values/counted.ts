/** Numbers in words, the same in every preview. */

/** `1 message`, `2 messages`. */
export const counted = (count: number, one: string, several = `${one}s`): string =>
  `${String(count)} ${count === 1 ? one : several}`;

/** Bytes; from one KiB on also the rounded amount. */
export function bytesText(bytes: number): string {
  const exact = counted(bytes, 'byte');
  if (bytes < 1_024) return exact;
  const [divisor, unit] = bytes < 1_048_576 ? [1_024, 'KiB'] : [1_048_576, 'MiB'];
  return `${(bytes / divisor).toFixed(1)} ${unit} (${exact})`;
}

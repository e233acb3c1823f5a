/** Sizes as people read them. */

const UNITS = ['B', 'KiB', 'MiB', 'GiB'];

/**
 * @param {number} size in bytes
 */
export function bytes(size) {
  const power = size < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(size) / 10));
  const amount = size / 1024 ** power;
  return `${amount.toFixed(power === 0 || amount >= 100 ? 0 : 1)} ${UNITS[power] ?? ''}`;
}

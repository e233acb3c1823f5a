/** Of a reference, a number or a small object; V8 takes 8 to 32. */
const NODE_BYTES = 24;

/**
 * About what plain data takes in memory. Rather too much: a string counts two bytes for each character. What is not an
 * array, a plain object or a string counts as a number.
 */
export function approximateBytes(value: unknown): number {
  if (typeof value === 'string') return NODE_BYTES + 2 * value.length;
  if (typeof value !== 'object' || value === null) return NODE_BYTES;
  let bytes = NODE_BYTES;
  for (const part of Object.values(value)) bytes += approximateBytes(part);
  return bytes;
}

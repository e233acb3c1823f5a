/** Header fields as a server hands them out. */
import { decodeUndeclared } from './charsets.ts';

/** The values of each field by lower-case name, unfolded (RFC 5322 2.2.3), in the order they stand; raw 8-bit text decoded. */
export function headerLines(raw: Buffer | undefined): ReadonlyMap<string, readonly string[]> {
  const text = raw === undefined ? '' : decodeUndeclared(raw);
  const lines = text.replaceAll(/\r?\n[ \t]+/g, ' ').split(/\r?\n/);
  const headers = new Map<string, string[]>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon)).trim().toLowerCase();
    if (name === '') continue;
    const values = headers.get(name);
    if (values) values.push(line.slice(colon + 1).trim());
    else headers.set(name, [line.slice(colon + 1).trim()]);
  }
  return headers;
}

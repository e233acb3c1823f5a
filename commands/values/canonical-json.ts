/** RFC 8785: one text for one JSON value. Members are sorted by code unit; a lone surrogate is written `\udxxx`. */

/** The text of a JSON value; members that are `undefined` are left out. Throws `RangeError` for a value nested deeper than the stack. */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object')
    return value === undefined ? 'null' : JSON.stringify(value);
  return Array.isArray(value) ? arrayText(value) : objectText(value as Readonly<Record<string, unknown>>);
}

function arrayText(items: readonly unknown[]): string {
  let text = '';
  for (const item of items) text += text === '' ? canonicalJson(item) : `,${canonicalJson(item)}`;
  return `[${text}]`;
}

function objectText(members: Readonly<Record<string, unknown>>): string {
  let text = '';
  // The default order of `sort` is by code unit.
  for (const name of Object.keys(members).sort()) {
    const value = members[name];
    if (value === undefined) continue;
    if (text !== '') text += ',';
    text += `${JSON.stringify(name)}:${canonicalJson(value)}`;
  }
  return `{${text}}`;
}

/** True when arrays and objects nest deeper than `limit`; without recursion, as anything may be stored. */
export function isDeeperThan(value: unknown, limit: number): boolean {
  let containers = [value].filter(isContainer);
  for (let depth = 0; depth < limit && containers.length > 0; depth += 1) {
    containers = containers.flatMap((container) => Object.values(container).filter(isContainer));
  }
  return containers.length > 0;
}

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;

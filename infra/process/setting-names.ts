/** Finds variables that were meant as settings: a misspelt setting must not be ignored silently. */

/** No other program's variables begin with these. */
const FAMILIES = [
  'GATEWAY_',
  'EGRESS_',
  'MCP_',
  'LIMIT_',
  'DATABASE_',
  'EVENTSTORE_',
  'METRICS_',
  'OAUTH_GOOGLE_',
  'OAUTH_MICROSOFT_',
];

/** Kubernetes adds these for every service of the namespace, whatever its name. */
const SERVICE_LINK = /_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP)(_\w+)?)?)$/;

/** Read by the test suite. */
const TEST_SETTINGS = new Set(['EVENTSTORE_TEST_URL']);

/** One sentence for each unknown name that resembles a setting. `known` contains every accepted name. */
export function misspeltSettings(names: readonly string[], known: readonly string[]): readonly string[] {
  const accepted = new Set(known);
  return names
    .filter((name) => !accepted.has(name) && !TEST_SETTINGS.has(name))
    .map((name) => complaint(name, known))
    .filter((sentence) => sentence !== null);
}

function complaint(name: string, known: readonly string[]): string | null {
  const near = known.find((candidate) => isNear(name, candidate));
  if (near !== undefined) return `${name} is not a setting: did you mean ${near}?`;
  const base = name.endsWith('_FILE') ? name.slice(0, -'_FILE'.length) : null;
  if (base !== null && known.includes(base))
    return `${name} is not a setting: ${base} is no secret, set it directly.`;
  const ofFamily = FAMILIES.some((family) => name.startsWith(family)) && !SERVICE_LINK.test(name);
  return ofFamily ? `${name} is not a setting of this version.` : null;
}

/** One typo in a short name, two in a long one. HOME is not HOST. */
const isNear = (name: string, candidate: string): boolean =>
  editDistance(name, candidate) <= (candidate.length < 10 ? 1 : 2);

/**
 * Insertions, deletions, substitutions and transpositions of neighbours between two texts (optimal string
 * alignment).
 */
function editDistance(left: string, right: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const same = left[row - 1] === right[column - 1];
      const swapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      current.push(
        Math.min(
          at(previous, column) + 1,
          at(current, column - 1) + 1,
          at(previous, column - 1) + (same ? 0 : 1),
          swapped ? at(beforePrevious, column - 2) + 1 : Infinity,
        ),
      );
    }
    beforePrevious = previous;
    previous = current;
  }
  return at(previous, right.length);
}

const at = (numbers: readonly number[], index: number): number => numbers[index] ?? Infinity;

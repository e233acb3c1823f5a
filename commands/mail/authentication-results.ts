/** The receivers' verdicts on a message's sender: `Authentication-Results` headers (RFC 8601). */

/** Result words of RFC 8601 2.7. */
export const AUTHENTICATION_RESULTS = [
  'none', 'pass', 'fail', 'policy', 'neutral', 'softfail', 'temperror', 'permerror',
] as const; // prettier-ignore
type Result = (typeof AUTHENTICATION_RESULTS)[number];

const METHODS = ['spf', 'dkim', 'dmarc'] as const;
type Verdicts = Partial<Record<(typeof METHODS)[number], Result>>;

/** One header: the authserv-id (lower case) and its results. */
export interface AuthenticationResults extends Verdicts {
  readonly by: string;
}

const MAX_CHARS = 10_000;
/** Every server on the path adds one. */
const MAX_HEADERS = 10;

/** The headers in their order, topmost first. */
export const authenticationResultsOf = (headers: readonly string[]): readonly AuthenticationResults[] =>
  headers.slice(0, MAX_HEADERS).map((header) => {
    const [id = '', ...clauses] = clausesOf(header.slice(0, MAX_CHARS));
    return { by: (id.trim().split(/\s+/)[0] ?? '').toLowerCase(), ...verdictsOf(clauses) };
  });

/**
 * The results in the topmost header of a trusted authserv-id; empty without one. Any sender can forge such a
 * header, but the one that a trusted server adds is above all that arrived with the message.
 */
export function trustedVerdicts(
  headers: readonly AuthenticationResults[],
  trustedIds: readonly string[],
): Verdicts {
  const trusted = new Set(trustedIds.map((id) => id.toLowerCase()));
  const { by: _, ...verdicts } = headers.find(({ by }) => trusted.has(by)) ?? { by: '' };
  return verdicts;
}

/** Of several results of one method, such as two signatures, one pass is enough; else the first applies. */
function verdictsOf(clauses: readonly string[]): Verdicts {
  const verdicts: Verdicts = {};
  for (const clause of clauses) {
    const [, name = '', word = ''] = /^\s*([a-z0-9-]+)\s*(?:\/\s*\d+\s*)?=\s*([a-z]+)/i.exec(clause) ?? [];
    const method = METHODS.find((each) => each === name.toLowerCase());
    const result = AUTHENTICATION_RESULTS.find((each) => each === word.toLowerCase());
    if (!method || !result) continue;
    if (result === 'pass' || verdicts[method] === undefined) verdicts[method] = result;
  }
  return verdicts;
}

/** A quoted text, an escaped character, or one special character. */
const TOKENS = /"((?:[^"\\]|\\.)*)"|\\(.)|[();]|[^"\\();]+|["\\]/gs;

/**
 * The header split at its semicolons, without comments (RFC 5322 3.2.2) and without the quotes of quoted
 * texts.
 */
function clausesOf(header: string): readonly string[] {
  const clauses = [''];
  let comments = 0;
  for (const [token, quoted, escaped] of header.matchAll(TOKENS)) {
    if (token === '(') comments += 1;
    else if (token === ')') comments = Math.max(0, comments - 1);
    else if (comments > 0) continue;
    else if (token === ';') clauses.push('');
    else clauses.push(`${clauses.pop() ?? ''}${quoted ?? escaped ?? token}`);
  }
  return clauses;
}

/** What receivers found out about a message's sender: `Authentication-Results` headers (RFC 8601). */

/** Result words of RFC 8601 2.7. */
export const AUTHENTICATION_RESULTS = [
  'none', 'pass', 'fail', 'policy', 'neutral', 'softfail', 'temperror', 'permerror',
] as const; // prettier-ignore
type Result = (typeof AUTHENTICATION_RESULTS)[number];

const METHODS = ['spf', 'dkim', 'dmarc'] as const;
export type Verdicts = Partial<Record<(typeof METHODS)[number], Result>>;

/** One header: who says so (authserv-id, lower case), and what. */
export interface AuthenticationResults extends Verdicts {
  readonly by: string;
}

const MAX_CHARS = 10_000;
/** Servers on the way add one each. */
const MAX_HEADERS = 10;

/** The headers as they stand, topmost first. */
export const authenticationResultsOf = (headers: readonly string[]): readonly AuthenticationResults[] =>
  headers.slice(0, MAX_HEADERS).map((header) => {
    const [id = '', ...clauses] = clausesOf(header.slice(0, MAX_CHARS));
    return { by: (id.trim().split(/\s+/)[0] ?? '').toLowerCase(), ...verdictsOf(clauses) };
  });

/**
 * What the topmost header of a trusted authserv-id says; empty without one. Anybody may write such a header: the one a trusted
 * server adds stands above all that the message came with.
 */
export function trustedVerdicts(
  headers: readonly AuthenticationResults[],
  trustedIds: readonly string[],
): Verdicts {
  const trusted = new Set(trustedIds.map((id) => id.toLowerCase()));
  const { by: _, ...verdicts } = headers.find(({ by }) => trusted.has(by)) ?? { by: '' };
  return verdicts;
}

/** Of several results of one method, such as two signatures, one that passes is enough; else the first holds. */
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

/** A quoted text, an escaped character, or one character that means something. */
const TOKENS = /"((?:[^"\\]|\\.)*)"|\\(.)|[();]|[^"\\();]+|["\\]/gs;

/** The header cut at its semicolons; comments (RFC 5322 3.2.2) left out, quoted texts without their quotes. */
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

/** Tokens in plain words. */
import { badgeOf, CHECK, CLOCK, CROSS } from './badges.js';
import { pastTime } from './times.js';

/** @import { Surface, Token } from './setup-payloads.d.ts' */
/** @typedef {import('./badges.js').StatusWords} StatusWords */

/**
 * What to do after an error on these pages.
 * @type {Readonly<Record<string, string>>}
 */
export const NEXT = {
  not_found: 'The link may be wrong, or it was deleted.',
  version_conflict: 'It changed meanwhile. Reload the page, then try again.',
  insufficient_scope: 'You can only pass on what you may do yourself. Choose less, or ask an owner.',
};

/** @type {Readonly<Record<Token['status'], StatusWords>>} */
const STATUSES = {
  active: { label: 'Active', tone: 'good', path: CHECK, about: 'It can be used.' },
  expired: { label: 'Expired', tone: 'over', path: CLOCK, about: 'Its time has ended.' },
  revoked: { label: 'Revoked', tone: 'bad', path: CROSS, about: 'It was ended.' },
};

/** @param {Pick<Token, 'status'>} token */
export const tokenBadge = ({ status }) => badgeOf(STATUSES[status]);

/** @param {Pick<Token, 'status'>} token */
export const aboutToken = ({ status }) => STATUSES[status].about;

/** @type {Readonly<Record<Surface, string>>} */
export const SURFACES = { mcp: 'MCP', rest: 'REST' };

/** @param {Pick<Token, 'last_used_at'>} token */
export const lastUse = ({ last_used_at: at }) => (at == null ? 'Never used' : ['Used ', pastTime(at)]);

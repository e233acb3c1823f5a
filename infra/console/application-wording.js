/** Applications in words: what each says of itself, and what is known of it. */
import { h } from './dom.js';
import { foreign, foreignPlain } from './foreign-text.js';

/** @import { Application, ApplicationKind, OAuthClientRule } from './application-payloads.d.ts' */
/** @typedef {import('./payloads.d.ts').Child} Child */

/**
 * What to do after an error on these pages.
 * @type {Readonly<Record<string, string>>}
 */
export const NEXT = {
  not_found: 'The link may be wrong, or it was ended.',
  version_conflict: 'It changed meanwhile. Reload the page, then try again.',
  conflict: 'Reload the page to see how it is now.',
  insufficient_scope: 'Only an owner of the organisation may do this.',
};

/**
 * Plain text, for labels.
 * @param {Pick<Application, 'name' | 'host' | 'redirect_host'>} application
 */
export const plainNameOf = ({ name, host, redirect_host: to }) => foreignPlain(name ?? host ?? to);

/** @param {Pick<Application, 'name' | 'host' | 'redirect_host'>} application */
export const nameOf = ({ name, host, redirect_host: to }) => foreign(name ?? host ?? to);

/**
 * Where the browser goes with the answer; an address without a host is that of an installed app.
 * @param {Pick<Application, 'redirect_host' | 'only_loopback'>} application
 * @returns {Child}
 */
export function answerPlace({ redirect_host: to, only_loopback: isLocal }) {
  if (isLocal) return 'a program on this computer';
  return to === '' ? 'an app on this device' : foreign(to);
}

/** @type {Readonly<Record<ApplicationKind, string>>} */
const KINDS = {
  registered: 'Registered by the organisation',
  document: 'Known by its address',
  dynamic: 'Registered itself',
};

/**
 * In one line.
 * @param {Application} application
 * @returns {Child}
 */
export const aboutApplication = ({ kind, host, redirect_host: to, only_loopback: isLocal }) => [
  KINDS[kind],
  host === null ? null : [' ', foreign(host)],
  isLocal ? ' · on a computer' : [' · answers go to ', to === '' ? 'an app' : foreign(to)],
];

/**
 * What a person should know before allowing it; the gravest first.
 * @param {Application} application
 * @returns {readonly Child[]}
 */
export function warningsOn({ kind, host, redirect_host: to, only_loopback: isLocal }) {
  return [
    isLocal
      ? 'It runs on the computer of this browser, and any program there can claim to be it. Go on only if you have just started it yourself.'
      : null,
    kind === 'dynamic' && !isLocal
      ? [
          'It registered itself, and nobody vouches for it. Go by where the answer goes: do you know ',
          h('strong', null, foreign(to)),
          '?',
        ]
      : null,
    kind === 'dynamic' && isLocal ? 'It registered itself, and nobody vouches for it.' : null,
    kind === 'document' && !isLocal && host !== to ? 'The answer goes to another host than its own.' : null,
  ].filter((warning) => warning !== null);
}

/** @type {readonly { value: OAuthClientRule, label: string, about: string }[]} */
export const RULES = [
  { value: 'any', label: 'Any application', about: 'Each member decides for themselves.' },
  {
    value: 'approved',
    label: 'Approved applications',
    about: 'Those that are listed here: registered, or approved by their client id.',
  },
  {
    value: 'registered',
    label: 'Registered applications',
    about: 'Only those that the organisation registered itself.',
  },
];

/** Scopes in words, in the groups in which a person decides on them (`contract.md` 3). */
import { checkGroup } from './choices.js';
import { h } from './dom.js';

/**
 * @typedef {object} ScopeGroup
 * @property {string} label
 * @property {boolean} [isGrave] it reaches others or cannot be undone
 * @property {readonly (readonly [scope: string, words: string])[]} scopes
 */

/**
 * Everything that an application may hold; the least first.
 * @type {readonly ScopeGroup[]}
 */
const GROUPS = [
  {
    label: 'Read',
    scopes: [
      ['mailboxes:read', 'See which mailboxes there are'],
      ['folders:read', 'See the folders'],
      ['messages:read', 'List and search mails: sender, recipients, subject, date'],
      ['messages:body', 'Read the text of mails'],
      ['attachments:read', 'Open attachments'],
      ['messages:raw', 'Download mails as they arrived, with every header'],
      ['drafts:read', 'Read drafts'],
    ],
  },
  {
    label: 'Sort',
    scopes: [
      ['messages:flag', 'Mark mails as read, unread or flagged'],
      ['messages:move', 'Move mails to another folder'],
      ['messages:copy', 'Copy mails to another folder'],
      ['messages:archive', 'Archive mails'],
      ['messages:spam', 'Mark mails as spam, or as no spam'],
      ['messages:trash', 'Move mails to the bin'],
      ['folders:manage', 'Manage folders'],
    ],
  },
  {
    label: 'Write drafts',
    scopes: [
      ['drafts:write', 'Write and change drafts'],
      ['drafts:discard', 'Discard drafts'],
    ],
  },
  {
    label: 'Ask for approval',
    scopes: [
      ['approvals:read', 'See what waits for approval'],
      ['approvals:request', 'Ask a person to approve an action'],
      ['approvals:commit', 'Run what was approved'],
      ['approvals:cancel', 'Withdraw what it asked for'],
    ],
  },
  {
    label: 'Send',
    isGrave: true,
    scopes: [['drafts:send', 'Send mails in your name']],
  },
  {
    label: 'Delete for good',
    isGrave: true,
    scopes: [['messages:expunge', 'Delete mails so that nobody can restore them']],
  },
];

const GRAVE = GROUPS.filter(({ isGrave }) => isGrave === true).flatMap(({ scopes }) =>
  scopes.map(([scope]) => scope),
);

/** Everything that an application may hold. */
export const GRANTABLE = GROUPS.flatMap(({ scopes }) => scopes.map(([scope]) => scope));

/** @param {string} scope */
export const isGrave = (scope) => GRAVE.includes(scope);

/**
 * What is ticked at first: nothing that reaches others or cannot be undone, unless it is all that is asked for.
 * @param {readonly string[]} offered
 */
export function tickedAtFirst(offered) {
  const mild = offered.filter((scope) => !isGrave(scope));
  return new Set(mild.length === 0 ? offered : mild);
}

/**
 * @param {readonly string[]} offered
 * @param {ReadonlySet<string>} chosen
 */
export const scopeFields = (offered, chosen) =>
  h(
    'div',
    { class: 'check-groups' },
    groupsOf(offered).map(({ label, scopes }) =>
      checkGroup(
        'scopes',
        label,
        scopes.map(([value, words]) => ({ value, label: words })),
        chosen,
      ),
    ),
  );

/** @param {readonly string[]} held */
const groupsOf = (held) =>
  [
    ...GROUPS.map((group) => ({ ...group, scopes: group.scopes.filter(([scope]) => held.includes(scope)) })),
    // What a newer gateway knows and this page does not.
    {
      label: 'Other',
      scopes: held
        .filter((scope) => !GRANTABLE.includes(scope))
        .map((scope) => /** @type {const} */ ([scope, scope])),
    },
  ].filter(({ scopes }) => scopes.length > 0);

/**
 * What is held, in one line by its groups, with each scope in words on demand.
 * @param {readonly string[]} held
 */
export const scopesText = (held) =>
  h(
    'details',
    null,
    h(
      'summary',
      null,
      groupsOf(held)
        .map(({ label }, index) => (index === 0 ? label : label.toLowerCase()))
        .join(', '),
    ),
    h(
      'ul',
      { class: 'plain-list small' },
      groupsOf(held).flatMap(({ scopes }) => scopes.map(([, words]) => h('li', null, words))),
    ),
  );

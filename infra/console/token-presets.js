/** Presets in words: what whoever has one may do (`contract.md` 3). */
import { radios } from './choices.js';
import { h } from './dom.js';
import { textIn } from './fields.js';

const READ = ['messages:read', 'messages:body', 'attachments:read', 'folders:read', 'drafts:read'];
const ASK = ['approvals:request', 'approvals:commit', 'approvals:cancel'];
const SORT = [
  'messages:flag',
  'messages:move',
  'messages:copy',
  'messages:archive',
  'messages:spam',
  'messages:trash',
];
const DRAFT = ['drafts:write', 'drafts:discard'];

/**
 * Their scopes on a mailbox; the least first.
 * @type {readonly { value: string, label: string, about: string, scopes: readonly string[] }[]}
 */
export const PRESETS = [
  {
    value: 'reader',
    label: 'Read',
    about: 'Reads mails, attachments and folders. Changes nothing.',
    scopes: READ,
  },
  {
    value: 'triage',
    label: 'Read and sort',
    about: 'Also flags, moves, archives and bins mails. All of it can be undone. Sends nothing.',
    scopes: [...READ, ...SORT, ...ASK],
  },
  {
    value: 'drafter',
    label: 'Read and write drafts',
    about: 'Also writes drafts, for a person to send.',
    scopes: [...READ, ...DRAFT],
  },
  {
    value: 'sender',
    label: 'Write and send',
    about: 'Also sends. What an agent sends waits for a person, unless the policy allows it.',
    scopes: [...READ, ...DRAFT, 'drafts:send', ...ASK],
  },
  {
    value: 'operator',
    label: 'Sort, write and send',
    about:
      'All of this, and deletes for good. Sending and deleting wait for a person, unless the policy allows them.',
    scopes: [...READ, ...SORT, ...DRAFT, 'drafts:send', ...ASK, 'messages:expunge'],
  },
];

/** What whoever connects a mailbox holds on it. */
export const EVERYTHING = [
  ...new Set(PRESETS.flatMap(({ scopes }) => scopes)),
  'messages:raw',
  'folders:manage',
];

/** @param {string} chosen */
export const presetField = (chosen) => radios('preset', 'What it may do', PRESETS, chosen);

const AS_IT_IS = 'as-it-is';

/**
 * What is held now, and the presets; what fits no preset can stay as it is.
 * @param {readonly string[]} scopes
 */
export function changePresetField(scopes) {
  const held = presetOf(scopes)?.value;
  if (held !== undefined) return presetField(held);
  const choices = [{ value: AS_IT_IS, label: 'As it is now' }, ...PRESETS];
  return radios('preset', 'What it may do', choices, AS_IT_IS);
}

/**
 * The chosen preset as part of a request; nothing for what stays as it is.
 * @param {FormData} values
 * @returns {{ preset?: string }}
 */
export function presetIn(values) {
  const preset = textIn(values, 'preset');
  return preset === AS_IT_IS ? {} : { preset };
}

/**
 * The scopes of a grant or token as a preset; others are counted, and listed on demand.
 * @param {readonly string[]} scopes
 */
export function rightsText(scopes) {
  const preset = presetOf(scopes);
  if (preset !== null) return preset.label;
  if (EVERYTHING.every((scope) => scopes.includes(scope))) return 'Everything';
  return h(
    'details',
    null,
    h('summary', null, `${String(scopes.length)} rights`),
    h(
      'ul',
      { class: 'plain-list' },
      scopes.map((scope) => h('li', null, h('code', null, scope))),
    ),
  );
}

/**
 * @param {readonly string[]} scopes
 */
export function presetOf(scopes) {
  const held = new Set(scopes.filter((scope) => !OF_ORGANISATION.includes(scope)));
  return (
    PRESETS.find(
      (each) => each.scopes.length === held.size && each.scopes.every((scope) => held.has(scope)),
    ) ?? null
  );
}

/** What every preset has beside the scopes on a mailbox. */
const OF_ORGANISATION = ['mailboxes:read', 'approvals:read'];

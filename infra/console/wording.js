/** A check in plain words: what would happen, and how it stands. */
import { h, icon } from './dom.js';
import { foreign, foreignPlain } from './foreign-text.js';

/** @import { ActionsManifest, Approval, ApprovalStatus, SendManifest } from './payloads.d.ts' */
/** @typedef {string | { foreign: string }} Part */

const DOT = 'M8 3.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9Z';
const CLOCK = 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11ZM8 5v3.2l2 1.3';
const CHECK = 'm3.5 8.5 3 3 6-7';
const CROSS = 'm4.5 4.5 7 7m0-7-7 7';
const DASH = 'M4 8h8';
const QUESTION = 'M5.8 6a2.2 2.2 0 1 1 3.2 2c-.7.4-1 .8-1 1.6M8 12v.2';

/** @type {Readonly<Record<ApprovalStatus, { label: string, tone: string, path: string, about: string }>>} */
export const STATUSES = {
  awaiting_approval: { label: 'Waiting for approval', tone: 'ask', path: DOT, about: 'Nothing has run.' },
  pending_commit: { label: 'Approved, not run yet', tone: 'go', path: CLOCK, about: 'Nothing has run yet.' },
  committing: { label: 'Running', tone: 'go', path: CLOCK, about: 'It is being carried out now.' },
  committed: {
    label: 'Done',
    tone: 'good',
    path: CHECK,
    about: 'Exactly what was approved was carried out.',
  },
  commit_failed: { label: 'Failed', tone: 'bad', path: CROSS, about: 'It was tried and failed for good.' },
  commit_unknown: {
    label: 'Outcome unknown',
    tone: 'ask',
    path: QUESTION,
    about: 'It was begun and nobody can tell yet how it ended. It is looked up, never repeated.',
  },
  rejected: { label: 'Rejected', tone: 'bad', path: CROSS, about: 'Nothing ran and nothing will.' },
  cancelled: { label: 'Withdrawn', tone: 'over', path: DASH, about: 'Nothing ran and nothing will.' },
  expired: {
    label: 'Expired',
    tone: 'over',
    path: DASH,
    about: 'Nobody decided in time. Nothing ran and nothing will.',
  },
  superseded: {
    label: 'Replaced by an edit',
    tone: 'over',
    path: DASH,
    about: 'The draft was edited. Nothing ran; what it says now has to be asked for again.',
  },
  invalidated: {
    label: 'No longer valid',
    tone: 'over',
    path: DASH,
    about: 'What it rested on is gone. Nothing ran and nothing will.',
  },
};

/** @param {ApprovalStatus} status */
export function badge(status) {
  const { label, tone, path } = STATUSES[status];
  return h('span', { class: `badge ${tone}` }, icon(path), label);
}

/**
 * @param {readonly Part[]} parts
 * @returns {(string | Node)[]}
 */
export const rich = (parts) => parts.map((part) => (typeof part === 'string' ? part : foreign(part.foreign)));

/** @param {readonly Part[]} parts */
export const plain = (parts) =>
  parts.map((part) => (typeof part === 'string' ? part : foreignPlain(part.foreign))).join('');

/**
 * What would happen, in one sentence without a full stop.
 * @param {Pick<Approval, 'manifest' | 'action'>} approval
 * @returns {Part[]}
 */
export const whatHappens = ({ manifest, action }) =>
  manifest === null
    ? [`What was erased (${action})`]
    : manifest.kind === 'send_draft'
      ? sending(manifest)
      : acting(manifest);

const SHOWN_RECIPIENTS = 2;

/**
 * @param {SendManifest} manifest
 * @returns {Part[]}
 */
function sending({ headers, envelope }) {
  const shown = envelope.to.slice(0, SHOWN_RECIPIENTS);
  const rest = envelope.to.length - shown.length;
  const recipients = shown.flatMap((email, index) => [index === 0 ? '' : ', ', { foreign: email }]);
  const subject =
    headers.subject === '' ? 'a message without a subject' : ['“', { foreign: headers.subject }, '”'];
  return ['Send ', ...[subject].flat(), ' to ', ...recipients, rest > 0 ? ` and ${String(rest)} more` : ''];
}

/** @type {Readonly<Record<string, (count: string, folder: Part[]) => Part[]>>} */
const VERBS = {
  move: (count, folder) => [`Move ${count} to `, ...folder],
  copy: (count, folder) => [`Copy ${count} to `, ...folder],
  trash: (count) => [`Move ${count} to the trash`],
  archive: (count) => [`Archive ${count}`],
  spam: (count) => [`Mark ${count} as spam`],
  not_spam: (count) => [`Mark ${count} as no spam`],
  expunge: (count) => [`Delete ${count} for ever`],
};

/**
 * @param {ActionsManifest} manifest
 * @returns {Part[]}
 */
function acting({ steps, items }) {
  const count = items.length === 1 ? 'one message' : `${String(items.length)} messages`;
  return steps.flatMap((step, index) => {
    const object = index === 0 ? count : items.length === 1 ? 'it' : 'them';
    const verb = VERBS[step.action];
    const words = verb ? verb(object, folderOf(step)) : flagging(step, object);
    return index === 0 ? words : [', then ', ...uncapitalised(words)];
  });
}

/** @param {{ folder_path?: string }} step */
const folderOf = ({ folder_path: path }) =>
  path === undefined ? ['another folder'] : ['“', { foreign: path }, '”'];

/** @param {readonly Part[]} parts */
const uncapitalised = ([first, ...others]) =>
  typeof first === 'string'
    ? [first.charAt(0).toLowerCase() + first.slice(1), ...others]
    : [first ?? '', ...others];

/** @type {Readonly<Record<string, string>>} */
const FLAGS = { '\\Seen': 'read', '\\Flagged': 'starred', '\\Answered': 'answered', '\\Draft': 'draft' };

/**
 * @param {{ flags_add?: string[], flags_remove?: string[] }} step
 * @param {string} object
 * @returns {Part[]}
 */
function flagging({ flags_add: added = [], flags_remove: removed = [] }, object) {
  const named = (/** @type {string} */ flag) => ({ foreign: FLAGS[flag] ?? flag });
  const all = [...added.map((flag) => [named(flag)]), ...removed.map((flag) => ['not ', named(flag)])];
  return [`Mark ${object} as `, ...all.flatMap((flag, index) => (index === 0 ? flag : [', ', ...flag]))];
}

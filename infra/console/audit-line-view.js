/** One line of the audit trail: what was recorded, who and where, and what proves it. */
import { actionButton } from './action-button.js';
import { readable } from './approval-trail.js';
import { filterIn, trailAddress } from './audit-filter.js';
import { readLine, readProof } from './audit-routes.js';
import { numberText } from './audit-strip.js';
import { learnNames } from './audit-view.js';
import { actorOfLine, linkToId, marksOf, NEXT, OUTCOMES } from './audit-wording.js';
import { badgeOf } from './badges.js';
import { copyField } from './copy-field.js';
import { h } from './dom.js';
import { eventWords } from './event-wording.js';
import { foreign, foreignLines } from './foreign-text.js';
import { backTo, card, fact } from './page-parts.js';
import { saveAs } from './save-as.js';
import { exactTime } from './times.js';

/** @import { TrailLine } from './audit-payloads.d.ts' */
/** @typedef {import('./main.js').ViewContext} ViewContext */
/** @typedef {import('./names.js').Names} Names */

/**
 * The address keeps the filter of the list, for the way back.
 * @param {ViewContext} context
 * @param {string} id
 * @param {URLSearchParams} query
 */
export async function lineView(context, id, query) {
  const { names, signal } = context;
  const [line] = await Promise.all([readLine(id, signal), learnNames(context)]);
  names.learn(line.names);
  const words = eventWords(line.type, line.data);
  return {
    title: words,
    content: [
      backTo(trailAddress(filterIn(query)), 'Audit trail'),
      h('h1', { tabindex: -1 }, foreign(words)),
      h(
        'div',
        { class: 'approval-meta' },
        badgeOf(OUTCOMES[line.outcome]),
        h('span', { class: 'quiet' }, actorOfLine(line, names), timeOf(line)),
      ),
      h(
        'div',
        { class: 'view form-page' },
        marksCard(line),
        whereCard(line, names),
        recordedCard(line),
        proofCard(line, signal),
      ),
    ],
  };
}

/** @param {TrailLine} line */
const timeOf = ({ occurred_at: at }) => (at === null ? '' : [' · ', exactTime(at)]);

/** @param {TrailLine} line */
function marksCard(line) {
  const marks = marksOf(line, null);
  return marks.length === 0
    ? null
    : h(
        'ul',
        { class: 'plain-list stack' },
        marks.map((mark) =>
          h('li', { class: 'row' }, badgeOf(mark), h('span', { class: 'quiet small' }, mark.about)),
        ),
      );
}

/**
 * @param {TrailLine} line
 * @param {Names} names
 */
function whereCard(line, names) {
  const { actor, resource, mailbox_id: mailboxId, approval_id: approvalId, request_id: requestId } = line;
  const ofOrNone = (/** @type {string | null} */ id) => (id === null ? null : linkToId(id, names));
  return card(
    'about',
    'Who and where',
    h(
      'dl',
      { class: 'facts' },
      actor.id === null ? null : fact('Who', [linkToId(actor.id, names), all({ actor: actor.id })]),
      given('Token', ofOrNone(actor.token_id)),
      given('Session', code(actor.session_id)),
      given('From', actor.ip === undefined ? null : foreign(actor.ip)),
      given('With', actor.user_agent === undefined ? null : foreign(actor.user_agent)),
      resource === null ? null : fact('What', [linkToId(resource.id, names), all({ resource: resource.id })]),
      mailboxId === null || resource?.id === mailboxId
        ? null
        : fact('Mailbox', [linkToId(mailboxId, names), all({ mailbox_id: mailboxId })]),
      approvalId === undefined
        ? null
        : fact('Approval', [linkToId(approvalId, names), all({ resource: approvalId })]),
      given('Policy', line.policy === undefined ? null : foreign(policyText(line.policy))),
      requestId === null ? null : fact('Request', [code(requestId), all({ request_id: requestId })]),
      line.causation_id === requestId ? null : given('Caused by', ofOrNone(line.causation_id)),
    ),
  );
}

/**
 * @param {string} name
 * @param {import('./payloads.d.ts').Child} value null = nothing to show
 */
const given = (name, value) => (value === null ? null : fact(name, value));

/** @param {string | null} text */
const code = (text) => (text === null ? null : h('code', null, foreign(text)));

/** @param {Record<string, unknown>} policy */
const policyText = (policy) =>
  Object.entries(policy)
    .map(([name, value]) => `${name.replaceAll('_', ' ')} ${String(value)}`)
    .join(', ');

/** @param {Partial<import('./audit-payloads.d.ts').TrailFilter>} filter */
const all = (filter) => [
  ' · ',
  h(
    'a',
    { class: 'small', href: trailAddress(filter) },
    'every line',
    h('span', { class: 'unseen' }, ` with ${Object.values(filter).join()}`),
  ),
];

/** @param {TrailLine} line */
const recordedCard = ({ type, data, withheld = [], erased = [] }) =>
  card(
    'recorded',
    'What was recorded',
    h('p', { class: 'quiet small' }, 'An event of the type ', h('code', null, foreign(type)), '.'),
    data === undefined
      ? h('p', null, 'You may not see what was recorded of this mailbox.')
      : h('div', { class: 'lines code', tabindex: 0, role: 'group', 'aria-label': 'Data' }, foreignLines(JSON.stringify(data, readable, 2))), // prettier-ignore
    places('Hidden from you', withheld),
    places('Erased', erased),
  );

/**
 * @param {string} label
 * @param {readonly string[]} paths
 */
const places = (label, paths) =>
  paths.length === 0
    ? null
    : h(
        'p',
        { class: 'small' },
        `${label}: `,
        paths.map((path, index) => [index === 0 ? '' : ', ', h('code', null, foreign(path))]),
      );

/**
 * @param {TrailLine} line
 * @param {AbortSignal} signal
 */
const proofCard = (line, signal) =>
  card(
    'proof',
    'Proof',
    h(
      'dl',
      { class: 'facts narrow-facts' },
      fact('Line', numberText(line.seq)),
      line.seal === undefined ? null : fact('Sealed', sealText(line.seal)),
      fact('Event', h('code', null, line.id)),
      fact('Position', h('code', null, line.position)),
    ),
    h(
      'div',
      { class: 'field' },
      h('p', { class: 'strong small' }, 'Hash of the line'),
      copyField(line.hash, 'Hash of the line'),
    ),
    h(
      'p',
      { class: 'quiet small' },
      'The leaf of this line in the Merkle tree of the trail, base64. The same hash stands in an exported file.',
    ),
    line.seal == null ? null : proofPart(line, signal),
  );

/** @param {NonNullable<TrailLine['seal']> | null} seal */
function sealText(seal) {
  if (seal === null) return 'Not yet: no checkpoint covers it. One does within about a minute.';
  const outside = seal.anchors.filter(({ state }) => state === 'confirmed');
  return [
    `By the checkpoint of ${numberText(seal.size)} lines, `,
    exactTime(seal.sealed_at),
    outside.map(({ kind, name }) => [', outside: ', kind, ' ', foreign(name)]),
  ];
}

/**
 * @param {TrailLine} line
 * @param {AbortSignal} signal
 */
function proofPart({ id, seq }, signal) {
  const problem = h('div', { 'aria-live': 'assertive' });
  const save = actionButton('Save the proof', {
    problem,
    next: NEXT,
    act: async () => {
      const { bytes } = await readProof(id, signal);
      saveAs(`line-${String(seq)}.tlog-proof`, bytes);
    },
  });
  return [
    save,
    h(
      'p',
      { class: 'quiet small' },
      'The proof leads from this hash to the signed checkpoint (C2SP tlog-proof): the line stood there when it was signed.',
    ),
    problem,
  ];
}

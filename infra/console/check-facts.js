/** What a check is about, from its manifest: the reason given, who would receive what, which messages. */
import { h } from './dom.js';
import { foreign, foreignLines } from './foreign-text.js';
import { bytes } from './sizes.js';

/** @import { ActionsManifest, Address, Approval, SendManifest } from './payloads.d.ts' */
/** @typedef {import('./names.js').Names} Names */
/** @typedef {import('./child.d.ts').Child} Child */
/** @typedef {readonly [name: string, value: Child]} Fact */

/**
 * @param {Approval} approval
 * @param {Names} names
 */
export function factsOf({ manifest, reason, mailbox_id: mailboxId }, names) {
  const mailbox = /** @type {Fact} */ (['Mailbox', foreign(names.mailboxOf(mailboxId))]);
  const facts = manifest.kind === 'send_draft' ? ofSend(manifest) : ofActions(manifest);
  return h(
    'section',
    { class: 'card', 'aria-labelledby': 'what' },
    h('h2', { id: 'what', tabindex: -1 }, 'What it does'),
    reason === null || reason === ''
      ? h('p', { class: 'quiet' }, 'No reason was given.')
      : h('blockquote', { class: 'reason' }, foreignLines(reason)),
    h(
      'dl',
      { class: 'facts' },
      [mailbox, ...facts].map(([name, value]) => [h('dt', null, name), h('dd', null, value)]),
    ),
  );
}

/**
 * @param {SendManifest} manifest
 * @returns {readonly Fact[]}
 */
function ofSend({ headers, envelope, attachments }) {
  const { from, to, cc, bcc, reply_to: replyTo, subject } = headers;
  /** @type {readonly (Fact | null)[]} */
  const facts = [
    ['From', address(from)],
    ['To', addresses(to)],
    cc.length === 0 ? null : ['Cc', addresses(cc)],
    bcc.length === 0
      ? null
      : ['Bcc', [addresses(bcc), h('p', { class: 'quiet small' }, 'The others do not see them.')]],
    replyTo.length === 0 ? null : ['Reply to', addresses(replyTo)],
    envelope.from === from.email ? null : ['Bounces to', foreign(envelope.from)],
    ['Subject', subject === '' ? h('span', { class: 'quiet' }, 'none') : foreign(subject)],
    attachments.length === 0 ? null : ['Attachments', attachmentList(attachments)],
  ];
  return facts.filter((fact) => fact !== null);
}

/** @param {SendManifest['attachments']} attachments */
const attachmentList = (attachments) =>
  h(
    'ul',
    { class: 'plain-list' },
    attachments.map(({ filename, content_type: type, size }) =>
      h(
        'li',
        null,
        foreign(filename ?? 'without a name'),
        h('span', { class: 'quiet small' }, ' ', foreign(type), ', ', bytes(size)),
      ),
    ),
  );

/** @param {Address} whose */
const address = ({ name, email }) =>
  name === null || name === '' ? foreign(email) : [foreign(name), ' <', foreign(email), '>'];

/** @param {readonly Address[]} all */
const addresses = (all) =>
  h(
    'ul',
    { class: 'plain-list' },
    all.map((one) => h('li', null, address(one))),
  );

/**
 * @param {ActionsManifest} manifest
 * @returns {readonly Fact[]}
 */
function ofActions({ items }) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { folder } of items) counts.set(folder, (counts.get(folder) ?? 0) + 1);
  const folders = [...counts].map(([folder, count]) =>
    h(
      'li',
      null,
      foreign(folder),
      counts.size === 1 ? '' : h('span', { class: 'quiet small' }, ` ${String(count)}`),
    ),
  );
  return [
    ['Messages', String(items.length)],
    ['In', h('ul', { class: 'plain-list' }, folders)],
  ];
}

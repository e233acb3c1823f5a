/** The audit trail: what happened in the organisation, who did it, and how it ended. */
import { filterForm, filterIn, trailAddress } from './audit-filter.js';
import { TrailList } from './audit-list.js';
import { SealStrip } from './audit-strip.js';
import { VERIFY_PAGE } from './audit-verify-card.js';
import { h } from './dom.js';
import { keepFresh } from './keep-fresh.js';
import { listMailboxes } from './mailbox-routes.js';

/** @typedef {import('./main.js').ViewContext} ViewContext */

/** Lists of their own are this trail with a filter. */
const LISTS = [
  ['AuditExported', 'Exports'],
  ['AuditDisclosed', 'Disclosures'],
  ['PersonalDataErased', 'Erasures'],
  ['AuditEpochStarted', 'Epochs'],
  ['AuditSealBroken', 'Broken seals'],
];

/**
 * @param {ViewContext} context
 * @param {URLSearchParams} query
 */
export async function auditView(context, query) {
  const { names, signal } = context;
  const mailboxes = await learnNames(context);
  const filter = filterIn(query);
  const list = new TrailList(context, filter);
  const strip = new SealStrip(context, (seq) => {
    list.sealedThrough(seq);
  });
  await Promise.all([list.load(), strip.load()]);
  const stale = h('div');
  keepFresh(signal, stale, async () => {
    await list.look();
    await strip.look();
  });
  const verify = h('a', { class: 'button plain', href: VERIFY_PAGE }, 'Verify a file');
  const exports = h('a', { class: 'button primary', href: trailAddress(filter, '/export') }, 'Export…');
  exports.hidden = !names.may('audit:export');
  const form = filterForm(filter, { names, mailboxes }, (chosen) => {
    history.replaceState(null, '', trailAddress(chosen));
    exports.href = trailAddress(chosen, '/export');
    list.narrow(chosen);
  });
  return {
    title: 'Audit trail',
    content: [
      h('div', { class: 'heading' }, h('h1', { tabindex: -1 }, 'Audit trail'), verify, exports),
      stale,
      strip.content,
      form,
      listLinks(),
      list.content,
    ],
  };
}

/**
 * Resolves with the mailboxes that this person may list.
 * @param {ViewContext} context
 */
export async function learnNames({ names, signal }) {
  const [mailboxes] = await Promise.all([listMailboxes(signal), names.learnPrincipals(signal)]);
  names.learn(Object.fromEntries(mailboxes.map(({ id, email }) => [id, email])));
  return mailboxes;
}

const listLinks = () =>
  h(
    'nav',
    { class: 'quiet small list-links', 'aria-label': 'Lists' },
    'Only: ',
    LISTS.map(([type = '', label], index) => [
      index === 0 ? '' : ' · ',
      h('a', { href: trailAddress({ type }) }, label),
    ]),
  );

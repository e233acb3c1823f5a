/** One legal hold: what it keeps and why, and its release by two people. */
import { newKey } from './api.js';
import { copyBlock } from './copy-field.js';
import { ask } from './dialog.js';
import { h } from './dom.js';
import { textArea, textIn } from './fields.js';
import { foreign, foreignLines, foreignPlain } from './foreign-text.js';
import { readHold, releaseHold } from './hold-routes.js';
import { aboutState, NEXT, stateBadge, targetName, typeLabel } from './hold-wording.js';
import { keepFresh } from './keep-fresh.js';
import { whenChanged } from './live-list.js';
import { listMailboxes, listRemovedMailboxes } from './mailbox-routes.js';
import { PageActions } from './page-actions.js';
import { backTo, card, fact } from './page-parts.js';
import { exactTime } from './times.js';

/** @import { Hold, HoldTarget } from './audit-payloads.d.ts' */
/** @typedef {import('./main.js').ViewContext} ViewContext */
/** @typedef {import('./names.js').Names} Names */

/**
 * @param {ViewContext} context
 * @param {string} id
 */
export async function holdView({ names, signal }, id) {
  let hold = await readHold(id, signal);
  await Promise.all([names.learnPrincipals(signal), learnMailboxes(names, signal)]);
  const [stale, body] = [h('div'), h('div')];
  const actions = new PageActions(NEXT);
  const release = async () => {
    const released = await askRelease(hold, names);
    if (released === null) return undefined;
    draw((hold = released));
    return null;
  };
  const draw = whenChanged((/** @type {Hold} */ now) => {
    const hadFocus = body.contains(document.activeElement);
    const button = releaseLabel(now, names);
    body.replaceChildren(
      h(
        'div',
        { class: 'view form-page', 'data-id': now.id },
        h('h1', { tabindex: -1 }, foreign(now.name)),
        h('p', { class: 'approval-meta' }, stateBadge(now), h('span', { class: 'quiet' }, aboutState(now))),
        waitsFor(now, names),
        button === null
          ? null
          : h('div', { class: 'toolbar' }, actions.button(`${button}…`, buttonTone(now), release)),
        actions.outcome,
        keptCard(now, names),
        historyCard(now, names),
      ),
    );
    if (hadFocus && !body.contains(document.activeElement)) body.querySelector('h1')?.focus();
  });
  draw(hold);
  keepFresh(signal, stale, async () => {
    draw((hold = await readHold(id, signal)));
  });
  return { title: foreignPlain(hold.name), content: [backTo('#/holds', 'Legal holds'), stale, body] };
}

/**
 * @param {Names} names
 * @param {AbortSignal} signal
 */
async function learnMailboxes(names, signal) {
  const lists = await Promise.all([listMailboxes(signal), listRemovedMailboxes(signal)]);
  names.learn(Object.fromEntries(lists.flat().map(({ id, email }) => [id, email])));
}

/** @param {Hold} hold */
const buttonTone = ({ state }) => (state === 'active' ? 'plain' : 'danger');

/**
 * What this person can do about it now; null for nothing.
 * @param {Hold} hold
 * @param {Names} names
 */
function releaseLabel({ state, release }, names) {
  if (state === 'active') return 'Ask for its release';
  return state === 'release_requested' && !names.isMe(release?.requested_by ?? '') ? 'Release it' : null;
}

/**
 * @param {Hold} hold
 * @param {Names} names
 */
function waitsFor({ id, awaits, release }, names) {
  if (awaits === null || release === null) return null;
  const isMine = names.isMe(release.requested_by);
  if (awaits === 'operator')
    return h(
      'div',
      { class: 'notice' },
      h(
        'p',
        null,
        'Nobody else here manages legal holds. The operator releases it on the machine of the gateway:',
      ),
      copyBlock(`npm run admin -- hold release ${id} --reason "…"`, 'Command'),
    );
  return h(
    'p',
    { class: 'notice' },
    isMine
      ? 'You asked for its release. Another owner or admin has to release it.'
      : [foreign(names.nameOf(release.requested_by)), ' asked for its release. You can release it.'],
  );
}

/**
 * Resolves with the hold as it is then; null when the person cancels.
 * @param {Hold} hold
 * @param {Names} names
 * @returns {Promise<Hold | null>}
 */
async function askRelease(hold, names) {
  const key = newKey();
  const isFirst = hold.state === 'active';
  /** @type {Hold | null} */
  let changed = null;
  await ask({
    title: isFirst ? 'Ask for the release?' : 'Release this hold?',
    content: [
      h('p', { class: 'dialog-what' }, foreign(hold.name)),
      isFirst
        ? h('p', null, 'It still counts until another person releases it.')
        : [
            h(
              'p',
              null,
              'What it names can be destroyed from then on. Erasures that waited for it are resumed.',
            ),
            h('p', null, 'Asked for by ', foreign(names.nameOf(hold.release?.requested_by ?? '')), '.'),
          ],
      textArea('reason', 'Reason', { maxlength: 1_000, required: true }, 'Kept encrypted.'),
    ],
    confirm: isFirst ? 'Ask for release' : 'Release',
    tone: isFirst ? 'primary' : 'danger',
    next: NEXT,
    act: async (form) => {
      changed = await releaseHold(hold.id, { reason: textIn(form, 'reason').trim() }, key);
    },
  });
  return changed;
}

/**
 * @param {Hold} hold
 * @param {Names} names
 */
const keptCard = ({ targets, postponed_erasures: postponed }, names) =>
  card(
    'kept',
    'What it keeps',
    h(
      'ul',
      { class: 'plain-list kept' },
      targets.map((target) =>
        h(
          'li',
          null,
          h('span', { class: 'quiet' }, typeLabel(target)),
          h('span', null, linkTo(target, names)),
        ),
      ),
    ),
    postponed.length === 0
      ? null
      : h(
          'div',
          { class: 'notice' },
          h('p', { class: 'notice-title' }, 'Erasures that wait for its release'),
          postponed.map((id) => h('p', null, targetName(id, names))),
        ),
  );

const PAGES = { person: 'people', mailbox: 'mailboxes', approval: 'approvals' };

/**
 * @param {HoldTarget} target
 * @param {Names} names
 */
const linkTo = ({ type, id }, names) =>
  type === 'draft'
    ? targetName(id, names)
    : h('a', { href: `#/${PAGES[type]}/${id}` }, targetName(id, names));

/**
 * @param {Hold} hold
 * @param {Names} names
 */
const historyCard = (hold, names) =>
  card(
    'history',
    'How it came about',
    h(
      'ol',
      { class: 'trail' },
      stepsOf(hold).map((step) => stepOf(step, names)),
    ),
    h('dl', { class: 'facts narrow-facts' }, fact('Hold', h('code', null, hold.id))),
  );

/** @typedef {{ what: string, who: string | null, at: string, reason: string | null }} Step */

/**
 * @param {Hold} hold
 * @returns {Step[]}
 */
function stepsOf({ created_by: placedBy, created_at: placedAt, reason, release }) {
  const placed = { what: 'Placed', who: placedBy, at: placedAt, reason };
  if (release === null) return [placed];
  const { requested_by: who, requested_at: at, released_by: releasedBy, released_at: releasedAt } = release;
  const asked = { what: 'Release requested', who, at, reason: release.reason };
  if (releasedAt === null) return [placed, asked];
  return [placed, asked, { what: 'Released', who: releasedBy, at: releasedAt, reason: null }];
}

/**
 * @param {Step} step
 * @param {Names} names
 */
const stepOf = ({ what, who, at, reason }, names) =>
  h(
    'li',
    null,
    h('p', { class: 'trail-what' }, what),
    h(
      'p',
      { class: 'quiet small' },
      'by ',
      who?.startsWith('usr_') === true ? foreign(names.nameOf(who)) : 'the operator',
      ' · ',
      exactTime(at),
    ),
    reason === null ? null : h('blockquote', { class: 'reason' }, foreignLines(reason)),
  );

/** The grants on a mailbox: who may do what there; given, changed and ended in dialogs. */
import { keyPerRequest, newKey } from './api.js';
import { ask } from './dialog.js';
import { h } from './dom.js';
import { field, selectField, textIn } from './fields.js';
import { foreign, foreignPlain } from './foreign-text.js';
import { whenChanged } from './live-list.js';
import { changeGrant, endGrant, giveGrant, listGrants } from './mailbox-routes.js';
import { NEXT } from './mailbox-wording.js';
import { exactTime } from './times.js';
import { changePresetField, presetField, presetIn, rightsText } from './token-presets.js';

/** @import { Grant, GrantTerms, Mailbox } from './setup-payloads.d.ts' */
/** @typedef {import('./names.js').Names} Names */
/** @typedef {import('./page-actions.js').PageActions} PageActions */

export class GrantList {
  content;
  #rows = h('ul', { class: 'entries small-entries', 'aria-label': 'Grants' });
  #mailbox;
  #names;
  #do;
  #signal;

  /**
   * @param {Pick<Mailbox, 'id' | 'email'>} mailbox
   * @param {{ names: Names, signal: AbortSignal, actions: PageActions }} page
   */
  constructor(mailbox, { names, signal, actions }) {
    this.#mailbox = mailbox;
    this.#names = names;
    this.#signal = signal;
    this.#do = actions;
    this.content = h(
      'section',
      { class: 'deliveries', 'aria-labelledby': 'grants' },
      h(
        'div',
        { class: 'heading' },
        h('h2', { id: 'grants' }, 'Who may use it'),
        actions.button('Give a grant…', 'plain', () => this.#give()),
      ),
      this.#rows,
    );
  }

  async refresh() {
    this.#draw(await listGrants(this.#mailbox.id, this.#signal));
  }

  #draw = whenChanged((/** @type {Grant[]} */ grants) => {
    this.#rows.replaceChildren(...grants.map((grant) => this.#rowOf(grant)));
  });

  /** @param {Grant} grant */
  #rowOf(grant) {
    const { id, principal, scopes, folder_roles: roles, expires_at: until } = grant;
    const name = this.#names.nameOf(principal.id);
    const about = `the grant of ${foreignPlain(name)}`;
    return h(
      'li',
      { class: 'entry', 'data-id': id },
      h(
        'div',
        { class: 'entry-what' },
        h('p', { class: 'notice-title' }, foreign(name), principal.kind === 'agent' ? ' (agent)' : ''),
        h('div', { class: 'quiet small' }, rightsText(scopes)),
        roles === null ? null : h('p', { class: 'quiet small' }, `Only in ${roles.join(', ')}`),
        until === null ? null : h('p', { class: 'quiet small' }, 'Until ', exactTime(until)),
      ),
      h(
        'div',
        { class: 'entry-state toolbar' },
        this.#do.button('Change…', 'plain', () => this.#change(grant), about),
        this.#do.button('End…', 'danger', () => this.#end(grant), about),
      ),
    );
  }

  async #give() {
    const keyOf = keyPerRequest();
    const isGiven = await ask({
      title: 'Give a grant',
      content: [
        selectField('principal_id', 'To whom', this.#names.principals()),
        presetField('triage'),
        endField(null),
      ],
      confirm: 'Give the grant',
      next: { ...NEXT, conflict: 'There is a grant already. Change that one.' },
      act: (form) => {
        const body = { principal_id: textIn(form, 'principal_id'), ...termsIn(form, null) };
        return giveGrant(this.#mailbox.id, body, keyOf(body));
      },
    });
    return await this.#after(isGiven);
  }

  /** @param {Grant} grant */
  async #change(grant) {
    const keyOf = keyPerRequest();
    const isChanged = await ask({
      title: 'Change the grant',
      content: [
        h('p', { class: 'dialog-what' }, foreign(this.#names.nameOf(grant.principal.id))),
        changePresetField(grant.scopes),
        endField(grant.expires_at),
      ],
      confirm: 'Change the grant',
      next: NEXT,
      act: (form) => {
        const body = termsIn(form, grant.expires_at);
        return changeGrant(grant, body, keyOf(body));
      },
    });
    return await this.#after(isChanged);
  }

  /** @param {Grant} grant */
  async #end(grant) {
    const key = newKey();
    const isEnded = await ask({
      title: 'End the grant?',
      content: [
        h('p', { class: 'dialog-what' }, foreign(this.#names.nameOf(grant.principal.id))),
        h(
          'p',
          null,
          'It loses the mailbox at once, with every token. What waits for approval there is withdrawn.',
        ),
      ],
      confirm: 'End the grant',
      tone: 'danger',
      next: NEXT,
      act: () => endGrant(grant, key),
    });
    return await this.#after(isEnded);
  }

  /** @param {boolean} isDone */
  async #after(isDone) {
    if (!isDone) return undefined;
    // It may be the grant of this person.
    await Promise.all([this.refresh(), this.#names.refresh()]);
    return null;
  }
}

/** @param {string | null} until */
const dayOf = (until) => until?.slice(0, 10) ?? '';

/** @param {string | null} until */
const endField = (until) =>
  field(
    'ends',
    'Ends on',
    { type: 'date', required: false, value: dayOf(until) },
    'Optional; at the end of that day, UTC.',
  );

/**
 * What was changed: an end on the same day keeps its time.
 * @param {FormData} form
 * @param {string | null} until when it ends now
 * @returns {GrantTerms}
 */
function termsIn(form, until) {
  const ends = textIn(form, 'ends');
  if (ends === dayOf(until)) return presetIn(form);
  return { ...presetIn(form), expires_at: ends === '' ? null : `${ends}T23:59:59Z` };
}

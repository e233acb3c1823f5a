/** Rename, hand over and delete an agent. The last two ask first and state the consequence. */
import { changeAgent, deleteAgent } from './agent-routes.js';
import { keyPerRequest, newKey } from './api.js';
import { ask } from './dialog.js';
import { h } from './dom.js';
import { field, selectField, textIn } from './fields.js';
import { foreign } from './foreign-text.js';
import { NEXT } from './token-wording.js';
import { counted } from './wording.js';

/** @import { Agent } from './setup-payloads.d.ts' */

/** @param {Agent} agent */
export function renameAgent({ id, name }) {
  const keyOf = keyPerRequest();
  return ask({
    title: 'Rename the agent',
    content: [field('name', 'Name', { maxlength: 100, value: name, autofocus: true })],
    confirm: 'Rename',
    next: NEXT,
    act: (form) => {
      const body = { name: textIn(form, 'name').trim() };
      return changeAgent(id, body, keyOf(body));
    },
  });
}

/**
 * @param {Agent} agent
 * @param {import('./names.js').Names} names
 */
export function handOver({ id, name, owner_id: owner }, names) {
  const keyOf = keyPerRequest();
  return ask({
    title: 'Hand over the agent?',
    content: [
      h('p', { class: 'dialog-what' }, foreign(name)),
      h(
        'p',
        null,
        'Its tokens end, and what it asked for is withdrawn. From then on the grants of the new owner bound it.',
      ),
      selectField(
        'owner_id',
        'To whom',
        names.members.filter(([member]) => member !== owner),
      ),
    ],
    confirm: 'Hand over',
    next: NEXT,
    act: (form) => {
      const body = { owner_id: textIn(form, 'owner_id') };
      return changeAgent(id, body, keyOf(body));
    },
  });
}

/**
 * @param {Agent} agent
 * @param {number} tokens that can be used
 */
export function removeAgent({ id, name }, tokens) {
  const key = newKey();
  return ask({
    title: 'Delete this agent?',
    content: [
      h('p', { class: 'dialog-what' }, foreign(name)),
      h(
        'p',
        null,
        tokens === 0 ? '' : `${counted(tokens, 'token')} can be used now and will be revoked. `,
        'Its grants end, and what it asked for is withdrawn. It cannot be undone.',
      ),
    ],
    confirm: 'Delete agent',
    tone: 'danger',
    next: NEXT,
    act: () => deleteAgent(id, key),
  });
}

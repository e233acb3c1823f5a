/** Parts that pages have in common: the way back, facts, a notice. */
import { h } from './dom.js';

/** @typedef {import('./payloads.d.ts').Child} Child */

/**
 * @param {string} route
 * @param {string} label
 */
export const backTo = (route, label) => h('p', { class: 'back' }, h('a', { href: route }, `← ${label}`));

/** @param {string} route */
export const cancelTo = (route) => h('a', { class: 'button plain', href: route }, 'Cancel');

/**
 * @param {string} name
 * @param {Child} value
 */
export const fact = (name, value) => [h('dt', null, name), h('dd', null, value)];

/**
 * @param {string} id
 * @param {string} title
 * @param {...Child} content
 */
export const card = (id, title, ...content) =>
  h('section', { class: 'card', 'aria-labelledby': id }, h('h2', { id, tabindex: -1 }, title), content);

/** @param {Child} text */
export const told = (text) => h('p', { class: 'notice', role: 'status' }, text);

/**
 * A page with a form on it.
 * @param {string} title
 * @param {{ back: Child, content: Child }} parts
 * @returns {import('./sign-in-views.js').View}
 */
export const formPage = (title, { back, content }) => ({
  title,
  content: [h('div', { class: 'view form-page' }, back, h('h1', { tabindex: -1 }, title), content)],
});

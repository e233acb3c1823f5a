/** The card of a page that has nothing else. */
import { h } from './dom.js';

/** @typedef {import('./payloads.d.ts').Child} Child */

/**
 * A view of one card.
 * @param {string} title
 * @param {...Child} children
 */
export const cardView = (title, ...children) => ({
  title,
  content: [h('section', { class: 'card narrow' }, h('h1', { tabindex: -1 }, title), children)],
});

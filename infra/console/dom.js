/** Creates elements from data. Text becomes text nodes only, so data can never become markup. */

/** @import { Child } from './payloads.d.ts' */
/**
 * `on` holds listeners, `true` and `false` set or leave out an attribute, everything else is its value.
 * @typedef {Record<string, string | number | boolean | null | undefined | Listeners>} Attributes
 * @typedef {Record<string, (event: any) => void>} Listeners
 */

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes | null} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  setAll(element, attributes ?? {});
  add(element, children);
  return element;
}

const SVG = 'http://www.w3.org/2000/svg';

/**
 * An icon of one path on 16 × 16; the text beside it says the same.
 * @param {string} path
 */
export function icon(path) {
  const svg = document.createElementNS(SVG, 'svg');
  setAll(svg, { viewBox: '0 0 16 16', 'aria-hidden': 'true', class: 'icon' });
  const drawn = document.createElementNS(SVG, 'path');
  drawn.setAttribute('d', path);
  svg.append(drawn);
  return svg;
}

/**
 * @param {Element} element
 * @param {Attributes} attributes
 */
function setAll(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'object') listen(element, value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
}

/**
 * @param {Element} element
 * @param {Listeners} listeners
 */
function listen(element, listeners) {
  for (const [type, listener] of Object.entries(listeners)) element.addEventListener(type, listener);
}

/**
 * @param {Element} element
 * @param {readonly Child[]} children
 */
function add(element, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) add(element, child);
    else element.append(typeof child === 'object' ? /** @type {Node} */ (child) : String(child));
  }
}

/**
 * HTML of others, shown without trusting it: a frame with no origin, no script, no form, no way out (`sandbox`), and a policy
 * that loads nothing but the style sheet of previews. The page's own policy holds inside as well.
 */
import { h } from './dom.js';

const STYLE = new URL('preview.css', import.meta.url).href;

/**
 * Not in every browser, and not in the types of the DOM yet; what `createHTML` makes goes where a string would go.
 * @typedef {object} WithTrustedTypes
 * @property {{ createPolicy(name: string, rules: Rules): Rules }} [trustedTypes]
 */
/** @typedef {{ createHTML: (html: string) => string }} Rules */

/** The only way from a text to markup in this console (Trusted Types); what comes out goes into that frame. */
const policy = /** @type {WithTrustedTypes} */ (/** @type {unknown} */ (window)).trustedTypes?.createPolicy(
  'console-preview',
  { createHTML: (html) => html },
);

/**
 * @param {string} html
 * @param {string} title
 */
export function sandboxed(html, title) {
  const frame = h('iframe', {
    sandbox: '',
    title,
    tabindex: 0,
    class: 'preview-frame',
    referrerpolicy: 'no-referrer',
  });
  const page = pageOf(html);
  frame.srcdoc = policy ? policy.createHTML(page) : page;
  return frame;
}

/** @param {string} html */
const pageOf = (html) => `<!doctype html>
<html><head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src ${STYLE}; img-src data:">
<meta name="color-scheme" content="light dark">
<link rel="stylesheet" href="${STYLE}">
</head><body>${html}</body></html>`;

/**
 * HTML of others, shown without trusting it: a frame with no origin, no script, no form and no way out (`sandbox`), and a
 * policy under which nothing is loaded. The policy of this page holds inside as well, so that of all styles only the one of
 * previews does.
 */
import { h } from './dom.js';

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
 * Before the preview's own, which says the same: a policy is only ever narrowed by the next one. The class keeps the list of warnings
 * out, which stands above the preview; attributes of a root that comes again are not taken over.
 */
const POLICY =
  '<!doctype html><html class="warnings-beside"><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src \'unsafe-inline\'; img-src data:">';

const LINE_REM = 2.2;
const LEAST_REM = 16;
const MOST_REM = 46;

/**
 * @param {string} html
 * @param {{ title: string, lines: number }} options `lines`: about how many it shows, since nothing inside can tell
 */
export function sandboxed(html, { title, lines }) {
  const page = POLICY + html;
  const frame = h('iframe', { sandbox: '', title, class: 'preview-frame' });
  frame.style.height = `${String(Math.min(MOST_REM, Math.max(LEAST_REM, lines * LINE_REM)))}rem`;
  frame.srcdoc = policy ? policy.createHTML(page) : page;
  return frame;
}

/**
 * HTML by others: a frame without origin, script, form or navigation (`sandbox`), and a policy under which nothing is loaded.
 * The policy of this page applies inside as well, so that only the style of previews is allowed.
 */
import { h } from './dom.js';

/**
 * Not in every browser, and not in the DOM types yet; `createHTML` returns what is accepted in place of a string.
 * @typedef {object} WithTrustedTypes
 * @property {{ createPolicy(name: string, rules: Rules): Rules }} [trustedTypes]
 */
/** @typedef {{ createHTML: (html: string) => string }} Rules */

/** The only way from text to markup in this console (Trusted Types); the result goes into that frame. */
const policy = /** @type {WithTrustedTypes} */ (/** @type {unknown} */ (window)).trustedTypes?.createPolicy(
  'console-preview',
  { createHTML: (html) => html },
);

/**
 * Comes before the preview's own policy, which is the same: a later policy can only narrow it. The class hides the warnings, which
 * are shown above the preview; attributes of a second root element are ignored.
 */
const POLICY =
  '<!doctype html><html class="warnings-beside"><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src \'unsafe-inline\'; img-src data:">';

const LINE_REM = 2.2;
const LEAST_REM = 16;
const MOST_REM = 46;

/**
 * @param {string} html
 * @param {{ title: string, lines: number }} options `lines`: about how many it shows, which the frame cannot report
 */
export function sandboxed(html, { title, lines }) {
  const page = POLICY + html;
  const frame = h('iframe', { sandbox: '', title, class: 'preview-frame' });
  frame.style.height = `${String(Math.min(MOST_REM, Math.max(LEAST_REM, lines * LINE_REM)))}rem`;
  frame.srcdoc = policy ? policy.createHTML(page) : page;
  return frame;
}

/** Statuses as coloured words with an icon. */
import { h, icon } from './dom.js';

export const DOT = 'M8 3.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9Z';
export const CLOCK = 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11ZM8 5v3.2l2 1.3';
export const CHECK = 'm3.5 8.5 3 3 6-7';
export const CROSS = 'm4.5 4.5 7 7m0-7-7 7';
export const DASH = 'M4 8h8';
export const QUESTION = 'M5.8 6a2.2 2.2 0 1 1 3.2 2c-.7.4-1 .8-1 1.6M8 12v.2';
export const PAUSE = 'M6 4v8M10 4v8';

/**
 * A status in words; `about` says what it means.
 * @typedef {{ label: string, tone: 'ask' | 'go' | 'good' | 'bad' | 'over', path: string, about: string }} StatusWords
 */

/** @param {StatusWords} words */
export const badgeOf = ({ label, tone, path }) => h('span', { class: `badge ${tone}` }, icon(path), label);

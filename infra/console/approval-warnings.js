/** The warnings of an approval, most severe first: on its page, in its row and in the dialogs. */
import { h, icon } from './dom.js';
import { tickField } from './fields.js';
import { foreign } from './foreign-text.js';
import { counted } from './wording.js';

/** @import { Warning } from './payloads.d.ts' */

const SIGN = 'M8 2.5 14.5 13.5h-13ZM8 6.6v3.2M8 11.6v.1';
/** @type {Readonly<Record<Warning['severity'], string>>} */
const WORDS = { high: 'Serious', medium: 'Warning', low: 'Note' };

/** @param {readonly Warning[]} warnings */
export const warningsSection = (warnings) =>
  warnings.length === 0
    ? null
    : h(
        'section',
        { class: 'card', 'aria-labelledby': 'warnings' },
        h('h2', { id: 'warnings', tabindex: -1 }, counted(warnings.length, 'warning')),
        warningList(warnings),
      );

/** @param {readonly Warning[]} warnings */
export const warningList = (warnings) =>
  warnings.length === 0
    ? null
    : h(
        'ul',
        { class: 'warnings' },
        warnings.map(({ severity, text }) =>
          h(
            'li',
            { class: severity },
            icon(SIGN),
            h('p', null, h('strong', null, `${WORDS[severity]}: `), foreign(text)),
          ),
        ),
      );

/**
 * Their number, in the style of the most severe one.
 * @param {readonly Warning[]} warnings
 */
export function warningsMark(warnings) {
  const [worst] = warnings;
  if (worst === undefined) return null;
  return h('span', { class: `warned ${worst.severity}` }, icon(SIGN), counted(warnings.length, 'warning'));
}

/**
 * A required checkbox when there are serious warnings.
 * @param {readonly Warning[]} warnings
 */
export function secondLook(warnings) {
  const serious = warnings.filter(({ severity }) => severity === 'high').length;
  if (serious === 0) return null;
  const label =
    serious === 1
      ? 'I have looked at the serious warning'
      : `I have looked at the ${String(serious)} serious warnings`;
  return tickField('looked', label);
}

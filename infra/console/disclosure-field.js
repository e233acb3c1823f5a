/** Which sealed texts a file opens, for exports of the trail and for evidence of an approval. */
import { ApiError } from './api.js';
import { radios } from './choices.js';
import { textArea, textIn } from './fields.js';

/** @typedef {import('./names.js').Names} Names */
/** @typedef {'none' | 'people' | 'all'} Disclosure */

/**
 * @param {Names} names
 * @param {Disclosure} chosen
 */
export const disclosureField = (names, chosen) =>
  radios(
    'disclose',
    'Sealed texts, such as names, addresses and subjects',
    [
      { value: 'none', label: 'Keep them sealed', about: 'The lines are proven all the same.' },
      {
        value: 'people',
        label: 'Open what you may see',
        about: 'As on this page. Who gets the file can read it.',
      },
      ...(names.may('audit:disclose')
        ? [
            {
              value: 'all',
              label: 'Open every text, also of mailboxes that you may not read',
              about:
                'Recorded in the trail as a disclosure, with your reason. Your password may be asked for.',
              content: textArea(
                'disclosure_reason',
                'Reason',
                { maxlength: 1_000, rows: 2 },
                'Kept encrypted.',
              ),
            },
          ]
        : []),
    ],
    chosen,
  );

/**
 * `disclose` and `reason` of a query. Throws `ApiError` without the reason of a disclosure.
 * @param {FormData} values
 * @returns {Record<string, string>}
 */
export function disclosureIn(values) {
  const disclose = textIn(values, 'disclose');
  if (disclose !== 'all') return { disclose };
  const reason = textIn(values, 'disclosure_reason').trim().replaceAll(/\s+/g, ' ');
  if (reason === '') throw new ApiError('invalid_request', 'Give the reason for opening every text.');
  return { disclose, reason };
}

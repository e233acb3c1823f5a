/** How an audit file is verified: the page, the keys, the command. */
import { readKeys } from './audit-routes.js';
import { copyBlock } from './copy-field.js';
import { h } from './dom.js';
import { errorNotice } from './error-notice.js';
import { foreign } from './foreign-text.js';
import { card } from './page-parts.js';

/** @typedef {import('./main.js').ViewContext} ViewContext */

/** The page that verifies is beside this one, and not part of it: it connects to nothing. */
export const VERIFY_PAGE = 'console/verify';
const COMMAND = 'node verify-audit.mjs FILE --key keys.txt';

/** @param {ViewContext} context */
export function verifyCard({ signal }) {
  const place = h('div');
  const show = async () => {
    try {
      const keys = await readKeys(signal);
      place.replaceChildren(h('div', { class: 'stack' }, keysPart(keys)));
    } catch (error) {
      if (!signal.aborted) place.replaceChildren(errorNotice(error));
    }
  };
  void show();
  return card(
    'verify',
    'How a file is verified',
    h(
      'p',
      null,
      'Drop it on ',
      h(
        'a',
        { href: VERIFY_PAGE, target: '_blank', rel: 'noopener' },
        'the page that verifies',
        h('span', { class: 'unseen' }, ' in a new tab'),
      ),
      ', which sends it nowhere, or run the verifier where you trust it:',
    ),
    copyBlock(COMMAND, 'Command'),
    place,
    h(
      'p',
      { class: 'quiet small' },
      'Give the keys to whoever gets the file by another way than the file. A checkpoint that somebody outside keeps shows a history that was written anew.',
    ),
  );
}

/** @param {readonly import('./audit-payloads.d.ts').TrailKey[]} keys */
const keysPart = (keys) => [
  h('p', { class: 'strong small' }, 'Keys of the trail: keys.txt'),
  copyBlock(keys.map(({ vkey }) => vkey).join('\n'), 'Keys of the trail'),
  keys
    .filter(({ status }) => status === 'revoked')
    .map(({ vkey }) =>
      h(
        'p',
        { class: 'quiet small' },
        'Revoked: ',
        h('code', null, foreign(vkey)),
        '. What only it signed since then proves nothing.',
      ),
    ),
];

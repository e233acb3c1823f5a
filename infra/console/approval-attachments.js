/** The attachments of a send, as they would go out: downloaded, or shown where the gateway allows it. */
import { h } from './dom.js';
import { errorNotice } from './error-notice.js';
import { foreign, foreignLines, foreignPlain } from './foreign-text.js';
import { readAttachment } from './routes.js';
import { saveAs } from './save-as.js';

/** @import { Approval, Attachment, Manifest } from './payloads.d.ts' */

/** Types that may be shown; the gateway verifies them by the bytes. */
const SHOWN = ['text/plain', 'image/png', 'image/jpeg', 'image/gif', 'image/webp'];
/** A longer text would block the page; the file is complete. */
const MOST_CHARS = 100_000;

/**
 * @param {Pick<Approval, 'id'>} approval
 * @param {Manifest | null} manifest
 * @param {AbortSignal} signal of the view
 */
export function attachmentsSection({ id }, manifest, signal) {
  if (manifest?.kind !== 'send_draft' || manifest.attachments.length === 0) return null;
  return h(
    'section',
    { class: 'card', 'aria-labelledby': 'attachments' },
    h('h2', { id: 'attachments', tabindex: -1 }, 'Attachments'),
    h(
      'ul',
      { class: 'attachments' },
      manifest.attachments.map((attachment, index) => entryOf(attachment, { id, index, signal })),
    ),
  );
}

/** @typedef {{ id: string, index: number, signal: AbortSignal }} Place */

/**
 * @param {Attachment} attachment
 * @param {Place} place
 */
function entryOf(attachment, place) {
  const { filename, content_type: type, size } = attachment;
  const name = filename ?? `attachment ${String(place.index + 1)}`;
  const below = h('div', { 'aria-live': 'polite' });
  const save = () => kept(place, name);
  const show = () => shown(place, name);
  const button = (/** @type {string} */ label, /** @type {() => Promise<Element[]>} */ act) => {
    const element = h(
      'button',
      { type: 'button', class: 'plain' },
      label,
      h('span', { class: 'unseen' }, ` ${foreignPlain(name)}`),
    );
    element.addEventListener('click', () => void pressed(element, below, act));
    return element;
  };
  return h(
    'li',
    null,
    h(
      'div',
      { class: 'attachment' },
      h(
        'div',
        null,
        h('p', { class: 'attachment-name' }, foreign(name)),
        h('p', { class: 'quiet small' }, foreign(type), ` · ${sizeText(size)}`),
      ),
      SHOWN.includes(type.toLowerCase()) ? button('Show', show) : null,
      button('Download', save),
    ),
    below,
  );
}

/**
 * @param {HTMLButtonElement} button
 * @param {Element} below
 * @param {() => Promise<Element[]>} act
 */
async function pressed(button, below, act) {
  button.disabled = true;
  try {
    below.replaceChildren(...(await act()));
  } catch (error) {
    below.replaceChildren(errorNotice(error, { role: null }));
  } finally {
    button.disabled = false;
  }
}

/**
 * Saves it under its name, in which nothing is invisible.
 * @param {Place} place
 * @param {string} name
 */
async function kept({ id, index, signal }, name) {
  const { bytes } = await readAttachment(id, { index, disposition: 'attachment' }, signal);
  saveAs(foreignPlain(name), bytes);
  return [];
}

/**
 * @param {Place} place
 * @param {string} name
 */
async function shown({ id, index, signal }, name) {
  const { bytes, isInline } = await readAttachment(id, { index, disposition: 'inline' }, signal);
  if (!isInline)
    return [
      h(
        'p',
        { class: 'notice' },
        'Its content is not what its type says, so it is not shown. You can download it.',
      ),
    ];
  if (!bytes.type.startsWith('text/plain'))
    return [h('img', { src: await dataAddress(bytes), alt: foreignPlain(name), class: 'shown-picture' })];
  const text = await bytes.text();
  const label = `Content of ${foreignPlain(name)}`;
  return [
    h(
      'div',
      { class: 'lines', tabindex: 0, role: 'region', 'aria-label': label },
      foreignLines(text.slice(0, MOST_CHARS)),
    ),
    ...(text.length > MOST_CHARS
      ? [h('p', { class: 'notice' }, 'This is the beginning. Download the file to read all of it.')]
      : []),
  ];
}

/**
 * The policy of the page lets pictures in as `data:`.
 * @param {Blob} bytes
 * @returns {Promise<string>}
 */
function dataAddress(bytes) {
  const reader = new FileReader();
  return new Promise((resolve, reject) => {
    reader.addEventListener('load', () => {
      resolve(typeof reader.result === 'string' ? reader.result : '');
    });
    reader.addEventListener('error', () => {
      reject(reader.error ?? new Error('the picture cannot be read'));
    });
    reader.readAsDataURL(bytes);
  });
}

/** @param {number} bytes */
function sizeText(bytes) {
  if (bytes < 1_024) return bytes === 1 ? '1 byte' : `${String(bytes)} bytes`;
  const [unit, name] = bytes < 1_048_576 ? [1_024, 'KiB'] : [1_048_576, 'MiB'];
  return `${(bytes / unit).toFixed(1)} ${name}`;
}

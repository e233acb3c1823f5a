/** The page that verifies an audit file. Its content policy lets it connect to nothing, so the file stays in the browser. */
import { h } from './dom.js';
import { foreign } from './foreign-text.js';
import { sentences, verifyAudit } from './verify-audit.mjs';

/** Relative to this page, which is one folder below. */
const CONSOLE = '../console#/audit';
const VERDICTS = ['verdict good', 'verdict bad', 'verdict bad', 'verdict ask'];

const file = h('input', { id: 'file', type: 'file' });
const keys = h('textarea', { id: 'keys', rows: 3, spellcheck: 'false', autocomplete: 'off' });
const verdict = h('div', { id: 'verdict', role: 'status', 'aria-live': 'polite' });
const drop = h(
  'section',
  {
    class: 'card narrow drop',
    on: { dragover: allow, drop: (/** @type {DragEvent} */ event) => void take(event) },
  },
  h('p', { class: 'back' }, h('a', { href: CONSOLE }, '← Audit trail')),
  h('h1', { tabindex: -1 }, 'Verify an audit file'),
  h('p', null, 'The file is read here and sent nowhere. Choose it, or drop it on this card.'),
  h('div', { class: 'field' }, h('label', { for: 'file' }, 'Audit file'), file),
  h(
    'div',
    { class: 'field' },
    h('label', { for: 'keys' }, 'Keys of the gateway, one in a line'),
    keys,
    h(
      'p',
      { class: 'quiet small' },
      'Paste them, or drop their file. Take them from where you trust it, not from the audit file.',
    ),
  ),
  verdict,
  h(
    'p',
    { class: 'quiet small' },
    'This page comes from the gateway whose file it verifies. Where that matters, run a copy of the verifier that you keep: node verify-audit.mjs FILE --key keys.txt',
  ),
);

/** @type {Blob | null} */
let chosen = null;
/** Counts the files, so that only the last one shows its result. */
let round = 0;

/** @param {DragEvent} event */
function allow(event) {
  event.preventDefault();
}

/**
 * A small file in which every line is a key or a remark is one of keys; every other is the audit file.
 * @param {DragEvent} event
 */
async function take(event) {
  event.preventDefault();
  for (const dropped of event.dataTransfer?.files ?? []) {
    const start = await dropped.slice(0, 1).text();
    if (start === '{') chosen = dropped;
    else keys.value = (await dropped.text()).trim();
  }
  await verify();
}

async function verify() {
  if (chosen === null) return;
  const own = ++round;
  verdict.className = '';
  verdict.replaceChildren(h('p', null, 'Verifying …'));
  const result = await verifyAudit(chunksOf(chosen), { keys: [keys.value] });
  if (own !== round) return;
  verdict.className = VERDICTS[result.exit] ?? '';
  verdict.replaceChildren(...sentences(result).map((text) => h('p', null, foreign(text))));
}

/**
 * A stream that every browser can read in pieces.
 * @param {Blob} blob
 */
async function* chunksOf(blob) {
  const reader = blob.stream().getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
}

file.addEventListener('change', () => {
  chosen = file.files?.[0] ?? null;
  void verify();
});
keys.addEventListener('input', () => void verify());
document.querySelector('#main')?.replaceChildren(drop);

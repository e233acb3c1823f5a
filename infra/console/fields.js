/** Labelled fields of the forms. */
import { h } from './dom.js';

/** @typedef {import('./dom.js').Attributes} Attributes */

/** Attributes of the field of a person's address. */
export const EMAIL = {
  type: 'email',
  autocomplete: 'username',
  inputmode: 'email',
  maxlength: 254,
  spellcheck: 'false',
};

/**
 * @param {string} name
 * @param {import('./payloads.d.ts').Child} label
 * @param {Attributes} [attributes] of the input
 * @param {string} [hint]
 */
export function field(name, label, attributes = {}, hint) {
  const id = `field-${name}`;
  const hintId = `${id}-hint`;
  return h(
    'div',
    { class: 'field' },
    h('label', { for: id }, label),
    h('input', {
      id,
      name,
      required: true,
      'aria-describedby': hint === undefined ? null : hintId,
      ...attributes,
    }),
    hint === undefined ? null : h('p', { id: hintId, class: 'quiet small' }, hint),
  );
}

export const AFTER_WRONG_TRIES = 'After several wrong attempts you must wait before trying again.';

/**
 * A password field with a button that shows it.
 * @param {string} name
 * @param {string} label
 * @param {Attributes} attributes
 * @param {string} [hint]
 */
export function passwordField(name, label, attributes, hint) {
  const element = field(name, label, { type: 'password', maxlength: 1024, ...attributes }, hint);
  const input = element.querySelector('input');
  const word = h('span', null, 'Show');
  const button = h(
    'button',
    { type: 'button', class: 'link show', 'aria-pressed': 'false' },
    word,
    h('span', { class: 'unseen' }, ` ${label.toLowerCase()}`),
  );
  button.addEventListener('click', () => {
    if (input === null) return;
    const isShown = input.type === 'password';
    input.type = isShown ? 'text' : 'password';
    word.textContent = isShown ? 'Hide' : 'Show';
    button.setAttribute('aria-pressed', String(isShown));
  });
  input?.after(button);
  return element;
}

/**
 * Selects the password after an error, to be typed again.
 * @param {HTMLFormElement} form
 */
export function selectPassword(form) {
  const input = form.querySelector('[autocomplete$="password"]');
  if (input instanceof HTMLInputElement) input.select();
}

/** `contract.md` 18. */
const LEAST_CHARS = 15;

/**
 * A new password, typed twice; a mismatch blocks the form.
 * @param {string} name
 * @param {string} label
 */
export function newPasswordFields(name, label) {
  const isNew = { autocomplete: 'new-password', minlength: LEAST_CHARS };
  const first = passwordField(
    name,
    label,
    isNew,
    `At least ${String(LEAST_CHARS)} characters; a few words are easier to remember than symbols.`,
  );
  const again = passwordField(`${name}_again`, 'The same again', isNew);
  const [one, other] = [first.querySelector('input'), again.querySelector('input')];
  const compare = () => {
    other?.setCustomValidity(one?.value === other.value ? '' : 'The two passwords are not the same.');
  };
  for (const input of [one, other]) input?.addEventListener('input', compare);
  return [first, again];
}

/**
 * A required checkbox.
 * @param {string} name
 * @param {string} label
 */
export const tickField = (name, label) =>
  h(
    'label',
    { class: 'tick' },
    h('input', { type: 'checkbox', name, required: true }),
    h('span', null, label),
  );

/**
 * The value of a text field.
 * @param {FormData} form
 * @param {string} name
 */
export function textIn(form, name) {
  const value = form.get(name);
  return typeof value === 'string' ? value : '';
}

/**
 * @param {string} name
 * @param {string} label
 * @param {Attributes} attributes
 * @param {string} [hint]
 */
export function textArea(name, label, attributes, hint) {
  const id = `field-${name}`;
  const hintId = `${id}-hint`;
  return h(
    'div',
    { class: 'field' },
    h('label', { for: id }, label),
    h('textarea', {
      id,
      name,
      rows: 3,
      dir: 'auto',
      'aria-describedby': hint === undefined ? null : hintId,
      ...attributes,
    }),
    hint === undefined ? null : h('p', { id: hintId, class: 'quiet small' }, hint),
  );
}

/**
 * @param {string} name
 * @param {import('./payloads.d.ts').Child} label
 * @param {readonly (readonly [value: string, label: string])[]} options the first one is selected
 */
export function selectField(name, label, options) {
  const id = `field-${name}`;
  return h(
    'div',
    { class: 'field' },
    h('label', { for: id }, label),
    h(
      'select',
      { id, name },
      options.map(([value, text]) => h('option', { value }, text)),
    ),
  );
}

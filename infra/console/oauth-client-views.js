/** The pages of an application that an organisation registers or approves. */
import { keyPerRequest, newKey } from './api.js';
import { changeClient, createClient, deleteClient, readClient } from './application-routes.js';
import { NEXT } from './application-wording.js';
import { checkedIn, radios } from './choices.js';
import { copyField } from './copy-field.js';
import { ask } from './dialog.js';
import { h } from './dom.js';
import { field, textArea, textIn } from './fields.js';
import { foreign, foreignPlain } from './foreign-text.js';
import { formOf } from './form.js';
import { actionButton } from './action-button.js';
import { backTo, cancelTo, card, fact, formPage } from './page-parts.js';
import { GRANTABLE, scopeFields } from './scope-wording.js';
import { exactTime } from './times.js';

/** @import { CreatedOAuthClient, NewOAuthClient, OAuthClient } from './application-payloads.d.ts' */
/** @typedef {import('./main.js').ViewContext} ViewContext */

const ROUTE = '#/applications';

const back = () => backTo(ROUTE, 'Applications');

/**
 * `?client_id=` and `?name=` are those of an application that asks for approval, `?connect=` where its request waits.
 * @param {URLSearchParams} query
 */
export function clientNewView(query) {
  const place = h('div', { class: 'view' });
  const keyOf = keyPerRequest();
  const waiting = query.get('connect');
  /** @param {CreatedOAuthClient} created */
  const onCreated = (created) => {
    place.replaceChildren(
      createdCard(created),
      h(
        'p',
        null,
        waiting === null
          ? h('a', { class: 'button primary', href: `${ROUTE}/${created.id}` }, 'Open the application')
          : h(
              'a',
              { class: 'button primary', href: `#/connect/${encodeURIComponent(waiting)}` },
              'Return to its request',
            ),
      ),
    );
    place.querySelector('h2')?.focus();
  };
  const form = formOf(
    [
      h('section', { class: 'card' }, nameField(query.get('name') ?? ''), kindField(query.get('client_id'))),
      h('section', { class: 'card' }, limitField(null)),
    ],
    {
      button: 'Save the application',
      beside: cancelTo(waiting === null ? ROUTE : `#/connect/${encodeURIComponent(waiting)}`),
      next: NEXT,
      act: async (values) => {
        const body = newClientIn(values);
        onCreated(await createClient(body, keyOf(body)));
      },
    },
  );
  place.append(form);
  return formPage('Register or approve an application', { back: back(), content: place });
}

/** @param {string} name */
const nameField = (name) =>
  field(
    'name',
    'Name',
    { maxlength: 100, value: name, autocomplete: 'off' },
    'Members see it when they connect it.',
  );

/** @param {string | null} clientId of an application that asks for approval */
const kindField = (clientId) =>
  radios(
    'kind',
    'Which application',
    [
      {
        value: 'registered',
        label: 'Register one',
        about: 'Yours, or one that asks for a client id. Only members of this organisation can connect it.',
        content: [
          redirectsField([]),
          h(
            'label',
            { class: 'tick' },
            h('input', { type: 'checkbox', name: 'confidential' }),
            h(
              'span',
              null,
              'It runs on a server and can keep a secret',
              h('span', { class: 'quiet small about' }, 'It gets a client secret, shown once.'),
            ),
          ),
        ],
      },
      {
        value: 'approved',
        label: 'Approve one by its client id',
        about: 'One that is known by an address, or that registered itself.',
        content: field(
          'client_id',
          'Client id',
          {
            required: false,
            maxlength: 2_000,
            spellcheck: 'false',
            autocomplete: 'off',
            value: clientId ?? '',
          },
          'The https address of its metadata, or an id that begins with oac_.',
        ),
      },
    ],
    clientId === null ? 'registered' : 'approved',
  );

/** @param {readonly string[]} uris */
function redirectsField(uris) {
  const element = textArea(
    'redirect_uris',
    'Redirect addresses',
    { spellcheck: 'false', rows: 3 },
    'One in each line: https, or http on 127.0.0.1 for a program on a computer.',
  );
  const area = element.querySelector('textarea');
  if (area !== null) area.value = uris.join('\n');
  return element;
}

/** @param {readonly string[] | null} limit */
const limitField = (limit) =>
  radios(
    'which_scopes',
    'What members may allow it',
    [
      { value: 'all', label: 'Whatever they choose', about: 'Within their own rights.' },
      {
        value: 'some',
        label: 'At most these rights',
        content: scopeFields(GRANTABLE, new Set(limit ?? [])),
      },
    ],
    limit === null ? 'all' : 'some',
  );

/** @param {FormData} values */
const limitIn = (values) => (textIn(values, 'which_scopes') === 'all' ? null : checkedIn(values, 'scopes'));

/** @param {FormData} values */
const redirectsIn = (values) =>
  textIn(values, 'redirect_uris')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

/**
 * @param {FormData} values
 * @returns {NewOAuthClient}
 */
function newClientIn(values) {
  const common = { name: textIn(values, 'name').trim(), scopes: limitIn(values) };
  return textIn(values, 'kind') === 'approved'
    ? { ...common, client_id: textIn(values, 'client_id').trim() }
    : { ...common, redirect_uris: redirectsIn(values), confidential: values.has('confidential') };
}

/** @param {CreatedOAuthClient} created */
const createdCard = ({ kind, client_id: id, client_secret: secret, is_confidential: isConfidential }) =>
  h(
    'section',
    { class: 'card secret', 'aria-labelledby': 'secret' },
    h('h2', { id: 'secret', tabindex: -1 }, kind === 'approved' ? 'Approved' : 'Registered'),
    h('h3', null, 'Client id'),
    copyField(id, 'client id'),
    !isConfidential
      ? null
      : [
          h('h3', null, 'Client secret'),
          secret === undefined
            ? h(
                'p',
                null,
                'It was shown before and cannot be shown again. Delete the application, and register it again.',
              )
            : [
                h('p', null, 'Store it now where the application reads its secrets. It is shown only now.'),
                copyField(secret, 'client secret'),
              ],
        ],
  );

/**
 * @param {ViewContext} context
 * @param {string} id
 */
export async function clientView({ signal, reload, announce }, id) {
  const client = await readClient(id, signal);
  const keyOf = keyPerRequest();
  const form = formOf(
    [
      nameField(client.name),
      client.kind === 'registered' ? redirectsField(client.redirect_uris) : null,
      limitField(client.scopes),
    ],
    {
      button: 'Save the changes',
      next: NEXT,
      act: async (values) => {
        const body = {
          name: textIn(values, 'name').trim(),
          ...(client.kind === 'registered' ? { redirect_uris: redirectsIn(values) } : {}),
          scopes: limitIn(values),
        };
        await changeClient(client, body, keyOf(body));
        announce('Saved.');
        reload();
      },
    },
  );
  return formPage(foreignPlain(client.name), {
    back: back(),
    content: [factsCard(client), card('change', 'Change it', form), deleteCard(client)],
  });
}

/** @param {OAuthClient} client */
const factsCard = ({ kind, client_id: id, is_confidential: isConfidential, created_at: createdAt }) =>
  card(
    'facts',
    kind === 'approved' ? 'Approved' : 'Registered',
    copyField(id, 'client id'),
    h(
      'dl',
      { class: 'facts narrow-facts' },
      kind === 'approved'
        ? null
        : fact(
            'Secret',
            isConfidential ? 'It has one, which was shown once' : 'None: it proves itself by PKCE',
          ),
      fact('Since', exactTime(createdAt)),
    ),
    h('p', { class: 'quiet small' }, 'A change counts for what members allow from now on.'),
  );

/** @param {OAuthClient} client */
function deleteCard({ id, name, kind }) {
  const problem = h('div', { 'aria-live': 'assertive' });
  const key = newKey();
  const title = kind === 'approved' ? 'Withdraw the approval' : 'Delete the application';
  const button = actionButton(`${title}…`, {
    tone: 'danger',
    problem,
    next: NEXT,
    act: async () => {
      const isDone = await ask({
        title: `${title}?`,
        content: [
          h('p', { class: 'dialog-what' }, foreign(name)),
          h(
            'p',
            null,
            'Everybody in this organisation who connected it is disconnected at once. It cannot be undone.',
          ),
        ],
        confirm: title,
        tone: 'danger',
        next: NEXT,
        act: () => deleteClient(id, key),
      });
      if (isDone) location.hash = ROUTE;
    },
  });
  return card(
    'end',
    title,
    h('p', null, 'It ends every connection to it in this organisation.'),
    button,
    problem,
  );
}

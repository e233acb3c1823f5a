/** The page on which a person allows an application to act in their name, or refuses it (`contract.md` 18). */
import { actionButton } from './action-button.js';
import { ApiError } from './api.js';
import { readAuthorizationRequest, readInteraction, readRule } from './application-routes.js';
import { answerPlace, nameOf, plainNameOf, warningsOn } from './application-wording.js';
import { cardView } from './card.js';
import { connectForm, refuseButton } from './connect-form.js';
import { h } from './dom.js';
import { foreign } from './foreign-text.js';
import { continueIn } from './organisation-switch.js';
import { card, fact } from './page-parts.js';
import { exactTime } from './times.js';
import { counted } from './wording.js';

/** @import { AuthorizationRequest, OAuthClientRule } from './application-payloads.d.ts' */
/** @typedef {import('./main.js').ViewContext} ViewContext */
/** @typedef {import('./payloads.d.ts').Child} Child */
/** @typedef {import('./sign-in-views.js').View} View */

const PREFIX = '#/connect/';

/**
 * Whether an application waits at this address: it is kept while the person signs in, or changes who and where they are.
 * @param {string} hash
 */
export const isConnecting = (hash) => hash.startsWith(PREFIX);

/**
 * @param {ViewContext} context
 * @param {string} uid
 * @returns {Promise<View>}
 */
export async function connectView(context, uid) {
  const opened = await openRequest(uid, context.signal);
  if (opened === null) return overView();
  const { token, request } = opened;
  const rule =
    request.refusal !== null && context.names.may('org:manage') ? await readRule(context.signal) : null;
  const place = h('div', { class: 'view form-page' });
  /** @param {{ to: string, isAllowed: boolean }} decided */
  const onDecided = ({ to, isAllowed }) => {
    place.replaceChildren(...leaving(request, isAllowed));
    place.querySelector('h1')?.focus();
    location.assign(to);
  };
  place.append(
    h('h1', { tabindex: -1 }, 'Connect “', nameOf(request.application), '”?'),
    whoCard(request),
    whereCard(context, request),
    ...(request.refusal === null
      ? [connectForm({ token, request, onDecided })]
      : [refusalCard({ token, request, onDecided, rule: rule?.oauth_clients ?? null, uid })]),
  );
  return { title: `Connect ${plainNameOf(request.application)}`, content: [place] };
}

/**
 * Null when this browser has no such request. Throws `ApiError`.
 * @param {string} uid
 * @param {AbortSignal} signal
 * @returns {Promise<{ token: string, request: AuthorizationRequest } | null>}
 */
async function openRequest(uid, signal) {
  try {
    const { consent_token: token } = await readInteraction(uid, signal);
    return { token, request: await readAuthorizationRequest({ consent_token: token }, signal) };
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not_found') return null;
    throw error;
  }
}

const overView = () =>
  cardView(
    'Nothing waits here',
    h('p', null, 'An application sent you here, but its request cannot be decided in this browser.'),
    h(
      'ul',
      { class: 'reasons' },
      h('li', null, 'Its ten minutes are over, or'),
      h('li', null, 'it was decided already, or'),
      h('li', null, 'it was begun in another browser, or by somebody else.'),
    ),
    h(
      'p',
      null,
      'If you want to connect the application, go back to it and begin again in this browser. What is connected already is on ',
      h('a', { href: '#/account' }, 'your account page'),
      '.',
    ),
  );

/** @param {AuthorizationRequest} request */
function whoCard({ application, organisation, refusal }) {
  const { kind, name, host, redirect_host: to, only_loopback: isLocal } = application;
  return card(
    'who',
    'Who asks',
    kind === 'registered'
      ? h(
          'p',
          null,
          h('strong', null, nameOf(application)),
          ', registered by ',
          // No rule of an organisation refuses what it registered itself.
          refusal === null ? foreign(organisation.name) : 'another organisation',
          '.',
        )
      : h(
          'p',
          null,
          name === null
            ? 'It gives no name.'
            : ['It calls itself ', h('strong', null, foreign(name)), '. Nobody has verified that name.'],
        ),
    h(
      'dl',
      { class: 'facts' },
      host === null ? null : fact('Its own address', [h('strong', null, foreign(host)), ' (verified)']),
      fact('The answer goes to', [
        h('strong', null, answerPlace(application)),
        isLocal ? [' (', foreign(to), ')'] : null,
      ]),
    ),
    h(
      'ul',
      { class: 'warnings' },
      warningsOn(application).map((warning) => h('li', { class: 'medium' }, h('span', null, warning))),
    ),
  );
}

/**
 * @param {ViewContext} context
 * @param {AuthorizationRequest} request
 */
function whereCard({ names: { me }, reload }, { organisation, connections }) {
  const problem = h('div', { 'aria-live': 'assertive' });
  const others = me.organisations.filter(({ id, erase_at: end }) => id !== organisation.id && end === null);
  const [first] = connections;
  return card(
    'where',
    'In whose name',
    h(
      'dl',
      { class: 'facts' },
      fact('You', [foreign(me.name), ' (', foreign(me.email), ')']),
      fact('Organisation', foreign(organisation.name)),
    ),
    others.length === 0
      ? null
      : h(
          'div',
          { class: 'toolbar' },
          others.map(({ id, name }) => {
            const button = actionButton('Use ', {
              problem,
              act: async () => {
                await continueIn(id);
                reload();
              },
            });
            button.append(foreign(name), ' instead');
            return button;
          }),
        ),
    problem,
    first === undefined
      ? null
      : h(
          'p',
          { class: 'quiet small' },
          `It has ${counted(connections.length, 'connection')} of yours already, the first since `,
          exactTime(first.connected_at),
          '. A new one does not replace it; you can end the old one on ',
          h('a', { href: '#/account' }, 'your account page'),
          '.',
        ),
  );
}

/**
 * @param {object} refused
 * @param {string} refused.token
 * @param {AuthorizationRequest} refused.request
 * @param {(decided: { to: string, isAllowed: boolean }) => void} refused.onDecided
 * @param {OAuthClientRule | null} refused.rule null for those who cannot change it
 * @param {string} refused.uid
 */
function refusalCard({ token, request, onDecided, rule, uid }) {
  const { application } = request;
  const problem = h('div', { 'aria-live': 'assertive' });
  const { id, name } = application;
  const query = new URLSearchParams({ client_id: id, name: name ?? '', connect: uid });
  return card(
    'refusal',
    'It cannot be connected here',
    h('p', { class: 'notice bad' }, foreign(request.refusal ?? '')),
    rule === 'approved' && application.kind !== 'registered'
      ? h(
          'p',
          null,
          h('a', { href: `#/applications/new?${query.toString()}` }, 'Approve this application'),
          ' as an owner of the organisation; then you return here.',
        )
      : null,
    rule === 'registered' && application.kind !== 'registered'
      ? h(
          'p',
          null,
          'You are an owner: ',
          h('a', { href: '#/applications' }, 'change that rule or register it'),
          '.',
        )
      : null,
    problem,
    h('div', { class: 'buttons' }, refuseButton({ token, request, onDecided, problem })),
  );
}

/**
 * @param {AuthorizationRequest} request
 * @param {boolean} isAllowed
 * @returns {HTMLElement[]}
 */
const leaving = ({ application }, isAllowed) => [
  h('h1', { tabindex: -1 }, isAllowed ? 'Connected' : 'Refused'),
  h(
    'p',
    { class: 'notice', role: 'status' },
    'Your browser returns to ',
    answerPlace(application),
    '. If nothing happens, you can close this page.',
  ),
];

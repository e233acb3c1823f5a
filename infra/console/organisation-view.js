/** The organisation of this session: its name, the way out, and its end; and the form of a new one. */
import { actionButton } from './action-button.js';
import { keyPerRequest } from './api.js';
import { askTyped } from './dialog.js';
import { h } from './dom.js';
import { field, textIn } from './fields.js';
import { foreign } from './foreign-text.js';
import { formOf } from './form.js';
import { installation } from './installation.js';
import { continueIn } from './organisation-switch.js';
import { backTo, cancelTo, card, fact, formPage } from './page-parts.js';
import { leave } from './people-member-view.js';
import { changeOrganisation, createOrganisation, deleteOrganisation, readOrganisation } from './people-routes.js'; // prettier-ignore
import { NEXT, aboutRole, roleLabel } from './people-wording.js';
import { exactText, exactTime } from './times.js';

/** @import { Organisation, Role } from './people-payloads.d.ts' */
/** @typedef {import('./main.js').ViewContext} ViewContext */

/** @param {ViewContext} context */
export async function organisationView(context) {
  const organisation = await readOrganisation(context.signal);
  const { names } = context;
  const isOwner = names.may('org:manage');
  return {
    title: 'Organisation',
    content: [
      h(
        'div',
        { class: 'heading' },
        h('h1', { tabindex: -1 }, foreign(organisation.name)),
        installation.isOpen || isOwner
          ? h('a', { class: 'button plain', href: '#/organisation/new' }, 'New organisation')
          : null,
      ),
      h(
        'div',
        { class: 'view form-page' },
        factsCard(context, organisation),
        isOwner ? nameCard(context, organisation) : null,
        leaveCard(context),
        isOwner ? endCard(context, organisation) : null,
      ),
    ],
  };
}

/**
 * @param {ViewContext} context
 * @param {Organisation} organisation
 */
function factsCard({ names }, { members, created_at: createdAt }) {
  const role = /** @type {Role} */ (names.session.role);
  const people = String(members);
  return h(
    'section',
    { class: 'card' },
    h(
      'dl',
      { class: 'facts' },
      fact('Your role', [
        h('strong', null, roleLabel(role)),
        h('p', { class: 'quiet small' }, aboutRole(role)),
      ]),
      fact('Members', names.may('members:manage') ? h('a', { href: '#/people' }, people) : people),
      fact('Since', exactTime(createdAt)),
    ),
  );
}

/**
 * @param {ViewContext} context
 * @param {Organisation} organisation
 */
const nameCard = ({ reload }, { name }) =>
  h(
    'section',
    { class: 'card' },
    formOf([field('org_name', 'Name', { autocomplete: 'off', maxlength: 100, value: name })], {
      button: 'Save the name',
      next: NEXT,
      act: async (values) => {
        await changeOrganisation({ name: textIn(values, 'org_name') });
        reload();
      },
    }),
  );

/** @param {ViewContext} context */
function leaveCard(context) {
  const problem = h('div', { 'aria-live': 'assertive' });
  const button = actionButton('Leave…', {
    tone: 'danger',
    problem,
    next: NEXT,
    act: () => leave(context),
  });
  return card(
    'leave',
    'Leave the organisation',
    h('p', null, 'You are told first what ends. Your account stays.'),
    button,
    problem,
  );
}

/**
 * @param {ViewContext} context
 * @param {Organisation} organisation
 */
function endCard(context, { name }) {
  const problem = h('div', { 'aria-live': 'assertive' });
  const end = actionButton('Delete the organisation…', {
    tone: 'danger',
    problem,
    act: async () => {
      await askTyped({
        title: 'Delete this organisation?',
        about:
          'Everybody is signed out, every token ends, and its mailboxes are read no more. For 7 days an owner can restore it; then it is erased.',
        wanted: name,
        confirm: 'Delete organisation',
        next: NEXT,
        act: async (typed) => {
          const { erase_at: until } = await deleteOrganisation({ name: typed });
          context.leave(
            `The organisation is deleted. An owner who signs in until ${exactText(until)} can restore it.`,
          );
        },
      });
    },
  });
  return card(
    'end',
    'Delete the organisation',
    h('p', null, 'For everybody in it. It can be restored for 7 days.'),
    end,
    problem,
  );
}

/** @param {ViewContext} context */
export function organisationNewView({ reload }) {
  const keyOf = keyPerRequest();
  const form = formOf(
    [
      h(
        'section',
        { class: 'card' },
        field(
          'new_org_name',
          'Name',
          { autocomplete: 'organization', maxlength: 100 },
          'You become its owner, and this tab goes on there.',
        ),
      ),
    ],
    {
      button: 'Create the organisation',
      beside: cancelTo('#/organisation'),
      act: async (values) => {
        const body = { name: textIn(values, 'new_org_name') };
        const { id } = await createOrganisation(body, keyOf(body));
        await continueIn(id);
        history.replaceState(null, '', '#/organisation');
        reload();
      },
    },
  );
  return formPage('New organisation', { back: backTo('#/organisation', 'Organisation'), content: form });
}

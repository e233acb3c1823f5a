/** One member: the role, what hangs on the membership, and its end. */
import { ask } from './dialog.js';
import { radios } from './choices.js';
import { h } from './dom.js';
import { selectField, textIn } from './fields.js';
import { foreign, foreignPlain } from './foreign-text.js';
import { formOf } from './form.js';
import { actionButton } from './action-button.js';
import { backTo, card, fact } from './page-parts.js';
import { changeMember, listMembers, readMember, readOwnConsequences, removeMember } from './people-routes.js';
import { NEXT, roleLabel, rolesGivenBy, whatEnds } from './people-wording.js';
import { exactTime } from './times.js';
import { counted } from './wording.js';

/** @import { Member, Role } from './people-payloads.d.ts' */
/** @typedef {import('./main.js').ViewContext} ViewContext */

/**
 * @param {ViewContext} context
 * @param {string} id
 */
export async function memberView(context, id) {
  const member = await readMember(id, context.signal);
  const { names } = context;
  const isMe = names.isMe(id);
  const problem = h('div', { 'aria-live': 'assertive' });
  const mayChange = names.session.role === 'owner' || member.role !== 'owner';
  const end = actionButton(isMe ? 'Leave…' : 'Remove…', {
    tone: 'danger',
    problem,
    next: NEXT,
    act: async () => {
      if ((await endMembership(context, member)) && !isMe) location.hash = '#/people';
    },
  });
  return {
    title: foreignPlain(member.name),
    content: [
      backTo('#/people', 'People'),
      h('h1', { tabindex: -1 }, foreign(member.name), isMe ? ' (you)' : ''),
      problem,
      h(
        'div',
        { class: 'view form-page' },
        factsCard(member),
        mayChange ? roleCard(context, member) : null,
        mayChange ? endCard(isMe, end) : null,
      ),
    ],
  };
}

/** @param {Member} member */
const factsCard = ({ email, role, joined_at: joinedAt, consequences: { agents, tokens, grants } }) =>
  card(
    'about',
    'About',
    h(
      'dl',
      { class: 'facts' },
      fact('Address', foreign(email)),
      fact('Role', roleLabel(role)),
      fact('Member since', exactTime(joinedAt)),
      fact('Mailboxes', grants === 0 ? 'None' : counted(grants, 'mailbox', 'mailboxes')),
      fact('Tokens', tokens === 0 ? 'None' : counted(tokens, 'token')),
      fact(
        'Agents',
        agents.length === 0
          ? 'None'
          : agents.map(({ name }, index) => [index === 0 ? '' : ', ', foreign(name)]),
      ),
    ),
  );

/**
 * @param {ViewContext} context
 * @param {Member} member
 */
function roleCard({ names, reload }, { id, role }) {
  const isMe = names.isMe(id);
  const choices = rolesGivenBy(names.session.role);
  const form = formOf(
    [
      radios('role', 'Role', choices.map(([value, label, about]) => ({ value, label, about })), role), // prettier-ignore
      h('p', { class: 'quiet small' }, 'A narrower role holds at once: wider tokens of the person end, and votes still waiting do not count.'), // prettier-ignore
    ],
    {
      button: isMe ? 'Change your role' : 'Change the role',
      next: NEXT,
      act: async (values) => {
        const chosen = textIn(values, 'role');
        if (chosen !== role) await changeMember(id, { role: /** @type {Role} */ (chosen) });
        reload();
      },
    },
  );
  return h('section', { class: 'card' }, form);
}

/**
 * @param {boolean} isMe
 * @param {HTMLElement} button
 */
const endCard = (isMe, button) =>
  card(
    'end',
    isMe ? 'Leave the organisation' : 'Remove from the organisation',
    h('p', null, isMe ? 'You are told first what ends. Your account stays.' : 'You are told first what ends. The person’s account stays.'), // prettier-ignore
    button,
  );

/**
 * The person of this session leaves, if they still want to when they know what ends.
 * @param {ViewContext} context
 */
export async function leave(context) {
  const { names, signal } = context;
  const { id, name } = names.me;
  const { consequences } = names.may('members:manage')
    ? await readMember(id, signal)
    : { consequences: { ...(await readOwnConsequences(id, signal)), grants: names.grants } };
  await endMembership(context, { id, name, consequences });
}

/**
 * Asks first, and says what ends. Resolves with true when the membership has ended.
 * @param {ViewContext} context
 * @param {Pick<Member, 'id' | 'name' | 'consequences'>} member
 */
async function endMembership({ names, signal, leave: leaveSaying }, member) {
  const { id, name, consequences } = member;
  const isMe = names.isMe(id);
  const heirs =
    consequences.agents.length > 0 && names.may('members:manage')
      ? (await listMembers(signal)).filter((other) => other.id !== id)
      : [];
  return await ask({
    title: isMe ? 'Leave the organisation?' : 'Remove this person?',
    content: [
      isMe ? null : h('p', { class: 'dialog-what' }, foreign(name)),
      h(
        'ul',
        null,
        whatEnds(consequences).map((line) => h('li', null, line)),
      ),
      agentsPart(consequences.agents, heirs),
    ],
    confirm: isMe ? 'Leave' : 'Remove',
    tone: 'danger',
    next: NEXT,
    act: async (form) => {
      const heir = textIn(form, 'agents_to_id');
      await removeMember(id, heir === '' ? {} : { agents_to_id: heir });
      if (isMe) leaveSaying('You have left the organisation.');
    },
  });
}

/**
 * @param {Member['consequences']['agents']} agents
 * @param {readonly Member[]} heirs
 */
function agentsPart(agents, heirs) {
  if (agents.length === 0) return null;
  const told = agents.map(({ name }, index) => [index === 0 ? '' : ', ', foreign(name)]);
  if (heirs.length === 0) return h('p', null, 'Deleted with their tokens: ', told, '.');
  return [
    h('p', null, agents.length === 1 ? 'This agent stays only with someone else: ' : 'These agents stay only with someone else: ', told, '.'), // prettier-ignore
    selectField('agents_to_id', 'Agents', [
      ['', 'Delete them'],
      ...heirs.map(({ id, name }) => /** @type {const} */ ([id, `Hand them to ${foreignPlain(name)}`])),
    ]),
    h('p', { class: 'quiet small' }, 'Their tokens end in either case; the new owner issues new ones.'),
  ];
}

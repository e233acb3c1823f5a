/** The people of the organisation, and the invites that nobody has accepted yet. */
import { actionButton } from './action-button.js';
import { ask } from './dialog.js';
import { h } from './dom.js';
import { foreign, foreignPlain } from './foreign-text.js';
import { byMail } from './installation.js';
import { keepFresh } from './keep-fresh.js';
import { entryRow, whenChanged } from './live-list.js';
import { listInvites, listMembers, resendInvite, withdrawInvite } from './people-routes.js';
import { NEXT, roleLabel } from './people-wording.js';
import { countdown, pastTime } from './times.js';
import { counted } from './wording.js';

/** @import { Invite, Member } from './people-payloads.d.ts' */
/** @typedef {import('./main.js').ViewContext} ViewContext */

/** @param {ViewContext} context */
export async function peopleView(context) {
  const page = new PeoplePage(context);
  await page.refresh();
  keepFresh(context.signal, page.stale, () => page.refresh());
  return { title: 'People', content: page.content };
}

class PeoplePage {
  /** @type {ViewContext} */
  #context;
  stale = h('div');
  #problem = h('div', { 'aria-live': 'assertive' });
  #members = h('ul', { class: 'entries', 'aria-label': 'Members' });
  #invites = h('div', { class: 'stack' });

  /** @param {ViewContext} context */
  constructor(context) {
    this.#context = context;
  }

  get content() {
    return [
      h(
        'div',
        { class: 'heading' },
        h('h1', { tabindex: -1 }, 'People'),
        h('a', { class: 'button primary', href: '#/people/invite' }, 'Invite someone'),
      ),
      this.stale,
      this.#problem,
      this.#members,
      this.#invites,
    ];
  }

  async refresh() {
    const { signal } = this.#context;
    const [members, invites] = await Promise.all([listMembers(signal), listInvites(signal)]);
    this.#draw({ members, invites });
  }

  #draw = whenChanged((/** @type {{ members: Member[], invites: Invite[] }} */ { members, invites }) => {
    const { names } = this.#context;
    this.#members.replaceChildren(...members.map((member) => memberRow(member, names.isMe(member.id))));
    this.#invites.replaceChildren(...this.#invitesOf(invites, members));
  });

  /**
   * @param {readonly Invite[]} invites
   * @param {readonly Member[]} members
   */
  #invitesOf(invites, members) {
    if (invites.length === 0) return [];
    const inviter = (/** @type {Invite} */ { created_by: id }) =>
      members.find((member) => member.id === id)?.name ?? 'someone who left';
    return [
      h('h2', { id: 'invites' }, 'Invited, not here yet'),
      h(
        'ul',
        { class: 'entries', 'aria-labelledby': 'invites' },
        invites.map((invite) => this.#inviteRow(invite, inviter(invite))),
      ),
    ];
  }

  /**
   * @param {Invite} invite
   * @param {string} inviter
   */
  #inviteRow(invite, inviter) {
    const { id, email, role, expires_at: expiresAt, mailbox_grants: grants } = invite;
    const about = `the invite of ${foreignPlain(email)}`;
    const [problem, next] = [this.#problem, NEXT];
    return h(
      'li',
      { class: 'entry', 'data-id': id },
      h(
        'div',
        { class: 'entry-what' },
        h('p', { class: 'strong' }, foreign(email)),
        h(
          'p',
          { class: 'quiet small' },
          `${roleLabel(role)} · `,
          grants.length === 0 ? '' : `${counted(grants.length, 'mailbox', 'mailboxes')} · `,
          'by ',
          foreign(inviter),
          ' · ',
          Date.parse(expiresAt) > Date.now() ? [countdown(expiresAt), ' left'] : 'expired',
        ),
      ),
      h(
        'div',
        { class: 'entry-state toolbar' },
        actionButton('Send again', { about, problem, next, act: () => this.#resend(invite) }),
        actionButton('Withdraw…', { about, problem, next, act: () => this.#withdraw(invite) }),
      ),
    );
  }

  /** @param {Invite} invite */
  async #resend({ id, email }) {
    await resendInvite(id);
    await this.refresh();
    this.#tell([
      byMail(['A new link is on its way to ', foreign(email), '.']),
      ' The one sent before stopped working.',
    ]);
  }

  /** @param {Invite} invite */
  async #withdraw({ id, email }) {
    const isDone = await ask({
      title: 'Withdraw the invite?',
      content: [
        h('p', { class: 'dialog-what' }, foreign(email)),
        h('p', null, 'Its link stops working at once.'),
      ],
      confirm: 'Withdraw invite',
      tone: 'danger',
      next: NEXT,
      act: () => withdrawInvite(id),
    });
    if (!isDone) return;
    await this.refresh();
    this.#tell(['The invite of ', foreign(email), ' is withdrawn.']);
  }

  /** @param {import('./payloads.d.ts').Child} text */
  #tell(text) {
    const notice = h('p', { class: 'notice', role: 'status', tabindex: -1 }, text);
    this.#problem.replaceChildren(notice);
    notice.focus();
  }
}

/**
 * @param {Member} member
 * @param {boolean} isMe
 */
const memberRow = ({ id, name, email, role, joined_at: joinedAt }, isMe) =>
  entryRow({
    id,
    href: `#/people/${id}`,
    title: [foreign(name), isMe ? ' (you)' : ''],
    about: [[foreign(email), ' · joined ', pastTime(joinedAt)]],
    state: h('span', { class: 'badge' }, roleLabel(role)),
  });

/** The REST routes of people, invites, accounts and organisations, with their types (`contract.md` 17). */
import { listAgents, listTokens } from './agent-routes.js';
import { all, call } from './api.js';

/** @import { SignedIn, Page } from './payloads.d.ts' */
/** @import { Consequences, Invite, InviteLink, InviteSettings, Me, Member, NotificationLevel, OpenSession, Organisation, Role } from './people-payloads.d.ts' */

/**
 * @param {{ email: string, password: string, name: string, org_name: string }} body
 * @returns {Promise<unknown>}
 */
export const signUp = (body) => call('POST', '/auth/signup', { body });

/**
 * @param {{ token: string }} body
 * @returns {Promise<unknown>}
 */
export const verifyAddress = (body) => call('POST', '/auth/verify', { body });

/**
 * @param {{ email: string }} body
 * @returns {Promise<unknown>}
 */
export const resendVerification = (body) => call('POST', '/auth/verify/resend', { body });

/**
 * @param {{ email: string }} body
 * @returns {Promise<unknown>}
 */
export const forgotPassword = (body) => call('POST', '/auth/password/forgot', { body });

/**
 * @param {{ token: string }} body
 * @returns {Promise<InviteLink>}
 */
export const readInviteLink = (body) => call('POST', '/auth/invites/accept/link', { body });

/**
 * `name` and `password` of a new person.
 * @param {{ token: string, name?: string, password?: string }} body
 * @returns {Promise<unknown>}
 */
export const acceptInvite = (body) => call('POST', '/auth/invites/accept', { body });

/** @returns {Promise<Me>} */
export const readMe = () => call('GET', '/users/me');

/**
 * @param {{ name?: string, notifications?: NotificationLevel }} body
 * @returns {Promise<Me>}
 */
export const changeMe = (body) => call('PATCH', '/users/me', { body });

/** @returns {Promise<unknown>} */
export const deleteMe = () => call('DELETE', '/users/me');

/** @typedef {{ audit: Page<unknown> }} Exported */

const MOST_EXPORTED_PAGES = 1_000;

/**
 * Everything held about the person, with all pages of the trail in one.
 * @returns {Promise<Exported>}
 */
export async function exportMe() {
  let { audit, ...held } = await exportedPage('');
  for (let page = 1; page < MOST_EXPORTED_PAGES && audit.page.next_cursor !== null; page += 1) {
    const { audit: more } = await exportedPage(
      `?${new URLSearchParams({ cursor: audit.page.next_cursor }).toString()}`,
    );
    audit = { ...more, items: [...audit.items, ...more.items] };
  }
  return { ...held, audit };
}

/**
 * @param {string} query
 * @returns {Promise<Exported>}
 */
const exportedPage = (query) => call('GET', `/users/me/export${query}`);

/**
 * @param {{ old: string, new: string }} body
 * @returns {Promise<unknown>}
 */
export const changePassword = (body) => call('POST', '/auth/password/change', { body });

/**
 * @param {AbortSignal} signal
 * @returns {Promise<OpenSession[]>}
 */
export const listSessions = (signal) => all('/auth/sessions', signal);

/**
 * @param {string} id
 * @returns {Promise<unknown>}
 */
export const endSession = (id) => call('DELETE', `/auth/sessions/${encodeURIComponent(id)}`);

/** @returns {Promise<unknown>} */
export const endAllSessions = () => call('POST', '/auth/sessions/revoke-all');

/**
 * @param {string} id
 * @returns {Promise<SignedIn>}
 */
export const switchOrganisation = (id) => call('POST', '/auth/switch-org', { body: { org_id: id } });

/**
 * @param {AbortSignal} [signal]
 * @returns {Promise<Organisation>}
 */
export const readOrganisation = (signal) => call('GET', '/org', signal === undefined ? {} : { signal });

/**
 * @param {{ name: string } | { restore: true }} body
 * @returns {Promise<Organisation>}
 */
export const changeOrganisation = (body) => call('PATCH', '/org', { body });

/**
 * @param {{ name: string }} body
 * @param {string} key
 * @returns {Promise<Organisation>}
 */
export const createOrganisation = (body, key) => call('POST', '/org', { body, key });

/**
 * @param {{ name: string }} body
 * @returns {Promise<{ erase_at: string }>}
 */
export const deleteOrganisation = (body) => call('DELETE', '/org', { body });

/** @param {string} id */
const memberPath = (id) => `/members/${encodeURIComponent(id)}`;

/**
 * @param {AbortSignal} signal
 * @returns {Promise<Member[]>}
 */
export const listMembers = (signal) => all('/members', signal);

/**
 * @param {string} id
 * @param {AbortSignal} signal
 * @returns {Promise<Member>}
 */
export const readMember = (id, signal) => call('GET', memberPath(id), { signal });

/**
 * @param {string} id
 * @param {{ role: Role }} body
 * @returns {Promise<Member>}
 */
export const changeMember = (id, body) => call('PATCH', memberPath(id), { body });

/**
 * Without another member to hand them to, the person's agents are deleted.
 * @param {string} id
 * @param {{ agents_to_id?: string }} body
 * @returns {Promise<unknown>}
 */
export const removeMember = (id, body) => call('DELETE', memberPath(id), { body });

/**
 * @param {AbortSignal} signal
 * @returns {Promise<Invite[]>}
 */
export const listInvites = (signal) => all('/invites', signal);

/**
 * @param {InviteSettings} body
 * @param {string} key
 * @returns {Promise<Invite>}
 */
export const createInvite = (body, key) => call('POST', '/invites', { body, key });

/** @param {string} id */
const invitePath = (id) => `/invites/${encodeURIComponent(id)}`;

/**
 * @param {string} id
 * @returns {Promise<Invite>}
 */
export const resendInvite = (id) => call('POST', `${invitePath(id)}/resend`, { body: {} });

/**
 * @param {string} id
 * @returns {Promise<unknown>}
 */
export const withdrawInvite = (id) => call('DELETE', invitePath(id));

/**
 * What hangs on the membership of the person of this session, who may not manage members.
 * @param {string} id of the person
 * @param {AbortSignal} signal
 * @returns {Promise<Omit<Consequences, 'grants'>>}
 */
export async function readOwnConsequences(id, signal) {
  const [agents, tokens] = await Promise.all([listAgents(signal), listTokens(signal)]);
  const own = agents.filter(({ owner_id: ownerId }) => ownerId === id);
  const principals = new Set([id, ...own.map((agent) => agent.id)]);
  const live = tokens.filter(({ principal, status }) => status === 'active' && principals.has(principal.id));
  return { agents: own, tokens: live.length };
}

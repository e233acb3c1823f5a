/** Who an id is, as far as this person may know; an id that is nobody known stands for itself. */
import { ApiError } from './api.js';
import { listMailboxes, readIdentity, readSession } from './routes.js';

/** @import { Identity, Session } from './payloads.d.ts' */

/** Roles with `approvals:decide` (`contract.md` 3). */
const APPROVERS = ['owner', 'admin', 'approver'];

export class Names {
  /** @type {Map<string, string>} */
  #names = new Map();
  /** @type {Map<string, string>} */
  #mailboxes = new Map();
  /** @type {Session} */
  session;
  /** @type {Identity} */
  #identity;

  /**
   * @param {Session} session
   * @param {Identity} identity
   */
  constructor(session, identity) {
    this.session = session;
    this.#identity = identity;
    this.#names.set(session.user.id, session.user.name);
    for (const { id, email } of identity.mailboxes) this.#mailboxes.set(id, email);
  }

  /**
   * What an answer tells of names.
   * @param {Record<string, string>} told
   */
  learn(told) {
    for (const [id, name] of Object.entries(told)) this.#names.set(id, name);
  }

  /** @param {string} id */
  nameOf(id) {
    return this.#names.get(id) ?? id;
  }

  /** @param {string} mailboxId */
  mailboxOf(mailboxId) {
    return this.#mailboxes.get(mailboxId) ?? mailboxId;
  }

  /** @param {string} id */
  isMe(id) {
    return id === this.session.user.id;
  }

  /** Whether this person's role decides; who may decide a check in particular the gateway knows. */
  get mayDecide() {
    return APPROVERS.includes(this.session.role);
  }

  /**
   * Whether this person holds a scope on a mailbox.
   * @param {string} scope
   * @param {string} mailboxId
   */
  holds(scope, mailboxId) {
    return this.#identity.mailboxes.some(({ id, scopes }) => id === mailboxId && scopes.includes(scope));
  }

  /** Who is signed in, and the mailboxes that this person may list. */
  static async load() {
    const [session, identity, mailboxes] = await Promise.all([
      readSession(),
      readIdentity(),
      orNone(listMailboxes()),
    ]);
    const names = new Names(session, identity);
    for (const { id, email } of mailboxes) names.#mailboxes.set(id, email);
    return names;
  }
}

/**
 * What the person may not list has no names here.
 * @template Item
 * @param {Promise<import('./payloads.d.ts').Page<Item>>} listed
 * @returns {Promise<Item[]>}
 */
async function orNone(listed) {
  try {
    return (await listed).items;
  } catch (error) {
    if (error instanceof ApiError && error.code === 'insufficient_scope') return [];
    throw error;
  }
}

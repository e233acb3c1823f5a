/** The signed-in person, and the names of ids that answers have provided; an unknown id is shown itself. */
import { readIdentity, readSession } from './routes.js';

/** @import { Identity, Session } from './payloads.d.ts' */

/** Roles with `approvals:decide` (`contract.md` 3), the least first. */
const APPROVERS = ['approver', 'admin', 'owner'];

export class Names {
  /** @type {Session} */
  session;
  /** @type {Identity} */
  #identity;
  /** @type {Map<string, string>} */
  #names = new Map();

  /**
   * @param {Session} session
   * @param {Identity} identity
   */
  constructor(session, identity) {
    this.session = session;
    this.#identity = identity;
    this.#names.set(session.user.id, session.user.name);
    for (const { id, email } of identity.mailboxes) this.#names.set(id, email);
  }

  static async load() {
    const [session, identity] = await Promise.all([readSession(), readIdentity()]);
    return new Names(session, identity);
  }

  /**
   * Remembers the names of an answer.
   * @param {Record<string, string>} told
   */
  learn(told) {
    for (const [id, name] of Object.entries(told)) this.#names.set(id, name);
  }

  /** @param {string} id */
  nameOf(id) {
    return this.#names.get(id) ?? id;
  }

  /** @param {string} id */
  isMe(id) {
    return id === this.session.user.id;
  }

  /**
   * Whether this person's role is at least that one.
   * @param {string} least of `APPROVERS`
   */
  hasRole(least) {
    const role = APPROVERS.indexOf(this.session.role);
    return role >= 0 && role >= APPROVERS.indexOf(least);
  }

  /**
   * Whether this person holds a scope on a mailbox.
   * @param {string} scope
   * @param {string} mailboxId
   */
  holds(scope, mailboxId) {
    return this.#identity.mailboxes.some(({ id, scopes }) => id === mailboxId && scopes.includes(scope));
  }

  /**
   * Whether this person's role has a scope of the organisation.
   * @param {string} scope
   */
  may(scope) {
    return this.#identity.token.scopes.includes(scope);
  }

  /**
   * The mailboxes on which this person holds a scope.
   * @param {string} scope
   */
  mailboxesWith(scope) {
    return this.#identity.mailboxes.filter(({ scopes }) => scopes.includes(scope));
  }
}

/** Who is signed in, and who or what an id is as far as answers told; an id nobody named stands for itself. */
import { readIdentity, readSession } from './routes.js';

/** @import { Identity, Session } from './payloads.d.ts' */

/** Roles with `approvals:decide` (`contract.md` 3). */
const APPROVERS = ['owner', 'admin', 'approver'];

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
  }

  static async load() {
    const [session, identity] = await Promise.all([readSession(), readIdentity()]);
    return new Names(session, identity);
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
}

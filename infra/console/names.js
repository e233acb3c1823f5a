/** The signed-in person, and the names of ids that answers have provided; an unknown id is shown itself. */
import { listAgents } from './agent-routes.js';
import { foreignPlain } from './foreign-text.js';
import { listMembers, readMe } from './people-routes.js';
import { readIdentity, readSession } from './routes.js';
import { isRoadDone } from './start-road.js';

/** @import { Identity, Session } from './payloads.d.ts' */
/** @import { Me } from './people-payloads.d.ts' */

/** Roles with `approvals:decide` (`contract.md` 3), the least first. */
const APPROVERS = ['approver', 'admin', 'owner'];

export class Names {
  /** @type {Session} */
  session;
  /** @type {Me} */
  me;
  /** @type {Identity} */
  #identity;
  /** @type {Map<string, string>} */
  #names = new Map();
  /** @type {readonly (readonly [id: string, name: string])[]} */
  #agents = [];
  /** @type {readonly (readonly [id: string, name: string])[]} */
  #members = [];
  /** Whether an agent works here already; otherwise getting started is the first page of those who can do it. */
  isRoadDone;

  /**
   * @param {Session} session
   * @param {Identity} identity
   * @param {Me} me
   */
  constructor(session, identity, me) {
    this.session = session;
    this.me = me;
    this.#identity = identity;
    this.#names.set(session.user.id, session.user.name);
    for (const { id, email } of identity.mailboxes) this.#names.set(id, email);
    // Until `learnRoad`: whoever has a mailbox is past the beginning.
    this.isRoadDone = !this.may('mailboxes:manage') || identity.mailboxes.length > 0;
  }

  static async load() {
    const [session, identity, me] = await Promise.all([readSession(), readIdentity(), readMe()]);
    return new Names(session, identity, me);
  }

  /**
   * Reads how far the road is. Resolves with whether it is otherwise than it was taken to be. Throws `ApiError`.
   * @param {AbortSignal} signal
   */
  async learnRoad(signal) {
    const taken = this.isRoadDone;
    if (this.may('mailboxes:manage')) this.isRoadDone = await isRoadDone(signal);
    return this.isRoadDone !== taken;
  }

  /** Reads again what this person may do, after a change of it. */
  async refresh() {
    this.#identity = await readIdentity();
    for (const { id, email } of this.#identity.mailboxes) this.#names.set(id, email);
  }

  /**
   * Reads the names of agents and, where the role includes them, of members. Throws `ApiError`.
   * @param {AbortSignal} signal
   */
  async learnPrincipals(signal) {
    const [agents, members] = await Promise.all([
      listAgents(signal),
      this.may('members:manage') ? listMembers(signal) : [],
    ]);
    for (const { id, name } of [...agents, ...members]) this.#names.set(id, name);
    this.#agents = agents.map(({ id, name }) => [id, foreignPlain(name)]);
    this.#members = members.map(({ id, name }) => [id, foreignPlain(name)]);
  }

  /**
   * Who can be given a grant: the agents, then the members.
   * @returns {readonly (readonly [id: string, label: string])[]}
   */
  principals() {
    const { id, name } = this.session.user;
    const members =
      this.#members.length > 0 ? this.#members : [/** @type {const} */ ([id, foreignPlain(name)])];
    return [
      ...this.#agents.map(([agent, label]) => /** @type {const} */ ([agent, `${label} (agent)`])),
      ...members,
    ];
  }

  /** The agents, as `learnPrincipals` read them, each as the label of a choice. */
  get agents() {
    return this.#agents;
  }

  /** The members, likewise; empty without the right to see them. */
  get members() {
    return this.#members;
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

  /** How many mailboxes this person has a grant on. */
  get grants() {
    return this.#identity.mailboxes.length;
  }

  /**
   * The mailboxes on which this person holds a scope.
   * @param {string} scope
   */
  mailboxesWith(scope) {
    return this.#identity.mailboxes.filter(({ scopes }) => scopes.includes(scope));
  }
}

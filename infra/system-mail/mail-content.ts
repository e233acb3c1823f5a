/** What a mail says and to whom, from what is true when it is sent; or why it is not sent. */
import { z } from 'zod';
import { emailKey, emailReservation } from '../../commands/accounts/account.ts';
import { deviceInWords } from '../../commands/accounts/device-in-words.ts';
import { UNSUBSCRIBE_PATH, unsubscribeToken } from '../../commands/accounts/unsubscribe.ts';
import { noticeFact, type NoticeFact } from '../../commands/approver-notices/notice-facts.ts';
import { loadAggregate } from '../../commands/kernel/decide-and-append.ts';
import { membershipsOf } from '../../commands/kernel/membership.ts';
import { describeApplication } from '../../commands/oauth/application-payload.ts';
import type { PersonEntry } from '../../commands/ports/directory.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import type { OutgoingMail } from '../../commands/ports/system-mailer.ts';
import type {
  SkipReason,
  SystemMailKind,
  SystemMailRequest,
} from '../../commands/system-mail/system-mail.ts';
import { linkTo, type Link, type MailText, plainName, tokenLink } from './mail-parts.ts';
import { approvalsWaiting } from './approval-notice.ts';
import * as templates from './templates.ts';

export type ContentPorts = Pick<
  Ports,
  'directory' | 'events' | 'ids' | 'links' | 'personal' | 'server' | 'clock'
>;

export interface Addressed {
  readonly to: string;
  readonly recipientId: string | null;
  readonly mail: MailText;
  readonly headers: OutgoingMail['headers'];
}

/** A mail as it was requested. */
export interface RequestedMail {
  readonly orgId: string | null;
  readonly requestedAt: string;
  readonly request: SystemMailRequest;
}

type Content = Addressed | SkipReason;

interface Given extends RequestedMail {
  readonly ports: ContentPorts;
}

export const contentOf = (ports: ContentPorts, requested: RequestedMail): Promise<Content> =>
  CONTENTS[requested.request.kind]({ ports, ...requested });

/** The account that owns the address, or the newest that claims it. */
async function accountsOf(ports: ContentPorts, email: string) {
  const { state } = await loadAggregate(ports.events, emailReservation, emailKey(ports, email));
  return state;
}

/** The address under the mail's own key; null when it has none, or it was erased. */
const sealedAddress = async ({ ports, request: { to } }: Given): Promise<string | null> =>
  to === null ? null : await ports.personal.open(to);

const personOf = ({ ports, request: { user_id } }: Given): PersonEntry | undefined =>
  ports.directory.state.people.get(user_id ?? '');

/** Of the account it goes to, else the one that was given with the request. */
const addressOf = async (given: Given): Promise<string | null> =>
  personOf(given)?.email ?? (await sealedAddress(given));

const signInLink = ({ ports }: Given): Link => linkTo(ports.server.baseUrl, '/console');

interface WantedLink {
  readonly purpose: 'reset' | 'verify' | 'invite';
  readonly subject: string;
  readonly orgId: string | null;
  readonly endsAt?: Date;
}

/** A fresh link; it replaces those that earlier attempts made. */
async function newLink({ ports }: Given, { purpose, subject, orgId, endsAt }: WantedLink): Promise<Link> {
  const token = await ports.links.make(purpose, subject, orgId, endsAt);
  return tokenLink(ports.server.baseUrl, purpose, token);
}

const orgOf = ({ ports }: Given, userId: string): string | null =>
  membershipsOf(ports.directory.state, userId)[0]?.orgId ?? null;

const orgName = ({ ports }: Pick<Given, 'ports'>, orgId: string | null): string =>
  plainName(ports.directory.state.organisations.get(orgId ?? '')?.name ?? '');

const addressed = (to: string, recipientId: string | null, mail: MailText): Addressed => ({
  ...{ to, recipientId, mail },
  headers: [],
});

/** A mail to the person it names, at the address of the account. */
const toPerson =
  (write: (given: Given, person: PersonEntry) => MailText | SkipReason | Promise<MailText | SkipReason>) =>
  async (given: Given): Promise<Content> => {
    const person = personOf(given);
    if (person === undefined) return 'no_account';
    const mail = await write(given, person);
    return typeof mail === 'string' ? mail : addressed(person.email, person.id, mail);
  };

async function passwordReset(given: Given): Promise<Content> {
  const { ports, request } = given;
  const email = await addressOf(given);
  if (email === null) return 'no_account';
  const ownerId = request.user_id ?? (await accountsOf(ports, email)).ownerId;
  const owner = ports.directory.state.people.get(ownerId ?? '');
  // The links of an account that is being erased may have been withdrawn already.
  if (owner === undefined || owner.isBeingErased) return 'no_account';
  const href = await newLink(given, { purpose: 'reset', subject: owner.id, orgId: orgOf(given, owner.id) });
  return addressed(owner.email, owner.id, templates.passwordReset(href));
}

/** To an address with an owner nobody else gets a link; the owner learns that the account exists. */
async function verifyEmail(given: Given): Promise<Content> {
  const { ports, request } = given;
  const email = await addressOf(given);
  if (email === null) return 'no_account';
  const { people } = ports.directory.state;
  const { ownerId, claimantId } = await accountsOf(ports, email);
  const person = people.get(request.user_id ?? claimantId ?? '');
  if (person?.isVerified === true && person.id === request.user_id) return 'no_longer_true';
  // An owner who is not verified yet was interrupted in between, and gets another link.
  if (ownerId !== null && people.get(ownerId)?.isVerified === true)
    return addressed(email, ownerId, templates.addressHasAccount(signInLink(given)));
  return person === undefined ? 'no_account' : await askToVerify(given, person);
}

async function askToVerify(given: Given, { id, email, name }: PersonEntry): Promise<Content> {
  const orgId = orgOf(given, id);
  const organisation = orgName(given, orgId);
  const href = await newLink(given, { purpose: 'verify', subject: id, orgId });
  return addressed(email, id, templates.verifyEmail({ name: plainName(name), organisation }, href));
}

async function invite(given: Given): Promise<Content> {
  const { ports, request } = given;
  const { state } = ports.directory;
  const entry = state.invites.get(request.invite_id ?? '');
  const isOver = (until: string): boolean => Date.parse(until) <= ports.clock.now().getTime();
  if (entry?.acceptedBy !== null || isOver(entry.expiresAt)) return 'no_longer_true';
  const href = await newLink(given, {
    ...{ purpose: 'invite', subject: entry.id, orgId: entry.orgId },
    endsAt: new Date(entry.expiresAt),
  });
  const { role, expiresAt } = entry;
  const facts = {
    ...{ role, expiresAt },
    organisation: orgName(given, entry.orgId),
    inviter: plainName(state.people.get(entry.createdBy)?.name ?? ''),
  };
  return addressed(entry.email, entry.id, templates.invite(facts, href));
}

/** As `Clients.seal` writes it. */
const Client = z.object({ ip: z.string(), user_agent: z.string() });

async function newSignIn(given: Given): Promise<MailText | SkipReason> {
  const { ports, request } = given;
  const session = ports.directory.state.sessions.get(request.subject_session_id ?? '');
  if (session === undefined) return 'no_longer_true';
  const text = session.client === null ? null : await ports.personal.open(session.client);
  const client = text === null ? null : Client.parse(JSON.parse(text));
  const device = client && { ip: plainAddress(client.ip), browser: deviceInWords(client.user_agent) };
  return templates.newSignIn(
    { at: session.startedAt, device },
    linkTo(ports.server.baseUrl, '/console#/account'),
  );
}

/** The gateway wrote it from the connection, or from what a proxy says. */
const plainAddress = (ip: string): string => ip.replaceAll(/[^0-9a-f.:]/gi, '').slice(0, 45);

const organisationDeleted = (given: Given): MailText | SkipReason => {
  const { ports, orgId } = given;
  const eraseAt = ports.directory.state.organisations.get(orgId ?? '')?.eraseAt ?? null;
  if (eraseAt === null) return 'no_longer_true';
  return templates.organisationDeleted(
    { organisation: orgName(given, given.orgId), eraseAt },
    signInLink(given),
  );
};

function applicationConnected(given: Given): MailText | SkipReason {
  const { state } = given.ports.directory;
  const grant = state.oauthGrants.get(given.request.oauth_grant_id ?? '');
  if (grant?.revokedAt !== null) return 'no_longer_true';
  const { name, clientId, clientKind, redirectUri } = grant;
  const asked = { id: clientId, kind: clientKind, name, redirectUri };
  const { host, redirect_host: redirectHost, only_loopback: onlyLoopback } = describeApplication(asked);
  const facts = {
    name: name === '' ? null : plainName(name),
    host,
    redirectHost,
    onlyLoopback,
    organisation: orgName(given, given.orgId),
  };
  return templates.applicationConnected(
    { ...facts, at: grant.createdAt },
    linkTo(given.ports.server.baseUrl, '/console#/account'),
  );
}

const agentsHandedOver = (given: Given, { id }: PersonEntry): MailText | SkipReason => {
  const { ports, request } = given;
  const agents = (request.agent_ids ?? []).flatMap((agentId) => {
    const agent = ports.directory.state.agents.get(agentId);
    return agent?.ownerId === id ? [plainName(agent.name)] : [];
  });
  if (agents.length === 0) return 'no_longer_true';
  return templates.agentsHandedOver({ organisation: orgName(given, given.orgId), agents }, signInLink(given));
};

/** Only what waits for this person now is named. */
async function approvalsWaitingFor(given: Given): Promise<Content> {
  const { ports, orgId, request } = given;
  const person = personOf(given);
  if (person === undefined || orgId === null) return 'no_account';
  if (person.notifications === 'off') return 'not_wanted';
  const facts: NoticeFact[] = [];
  for (const approvalId of request.approval_ids ?? []) {
    const fact = await noticeFact(ports, { orgId, userId: person.id, approvalId });
    if (fact !== null) facts.push(fact);
  }
  if (facts.length === 0) return 'no_longer_true';
  const { baseUrl } = ports.server;
  const token = unsubscribeToken(ports.ids, { orgId, userId: person.id });
  const unsubscribe = linkTo(baseUrl, `${UNSUBSCRIBE_PATH}/${token}`);
  const notice = {
    facts,
    remindedIds: request.reminded_ids ?? [],
    organisation: orgName(given, given.orgId),
  };
  return {
    ...addressed(person.email, person.id, approvalsWaiting(notice, { baseUrl, unsubscribe })),
    // RFC 8058 3.1
    headers: [
      { name: 'List-Unsubscribe', value: `<${unsubscribe}>` },
      { name: 'List-Unsubscribe-Post', value: 'List-Unsubscribe=One-Click' },
    ],
  };
}

/** The account is gone, so the address is sealed under the mail's own key. */
async function accountErased(given: Given): Promise<Content> {
  const email = await sealedAddress(given);
  return email === null ? 'no_account' : addressed(email, given.request.user_id, templates.accountErased());
}

const CONTENTS: Readonly<Record<SystemMailKind, (given: Given) => Promise<Content>>> = {
  verify_email: verifyEmail,
  password_reset: passwordReset,
  password_changed: toPerson((given) => templates.passwordChanged(given.requestedAt, signInLink(given))),
  new_sign_in: toPerson(newSignIn),
  invite,
  member_removed: toPerson((given) => templates.memberRemoved(orgName(given, given.orgId))),
  agents_handed_over: toPerson(agentsHandedOver),
  organisation_deleted: toPerson(organisationDeleted),
  account_erased: accountErased,
  application_connected: toPerson(applicationConnected),
  approvals_waiting: approvalsWaitingFor,
};

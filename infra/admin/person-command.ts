/** `admin person`: adds a person or resets a password by a link that can be used once, or erases an account. */
import { isEmailAddress } from '../../commands/accounts/credentials.ts';
import {
  addPerson,
  passwordLink,
  type PersonPorts,
  personWith,
} from '../../commands/organisation/add-person.ts';
import { lossOfAccount } from '../../commands/organisation/account-loss.ts';
import { eraseAccount, type ErasurePorts } from '../../commands/organisation/erase-account.ts';
import { recordRefusal } from '../../commands/kernel/access-events.ts';
import { holdsAgainst } from '../../commands/kernel/legal-holds.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import { GatewayError } from '../../commands/values/errors.ts';
import { type Role, ROLES } from '../../commands/values/scopes.ts';
import { adminAuthor, organisationNamed } from './call-command.ts';

type ErasingPorts = ErasurePorts & Pick<Ports, 'accessLog' | 'log'>;

export interface PersonArguments {
  readonly verb: string;
  readonly email: string;
  readonly role: string | undefined;
  /** Absent = the e-mail address. */
  readonly name: string | undefined;
  /** Required only when there are several organisations. */
  readonly org: string | undefined;
}

/** Returns text for the terminal. Throws one sentence. */
export async function personCommand(
  ports: PersonPorts & ErasingPorts,
  given: PersonArguments,
): Promise<string> {
  if (given.verb === 'add') return await add(ports, given);
  if (given.verb === 'reset') return await reset(ports, given);
  if (given.verb === 'erase') return await erase(ports, given);
  throw new Error('Say what to do with the person: add, reset or erase.');
}

async function add(
  ports: PersonPorts,
  { email, role: word, name = email, org }: PersonArguments,
): Promise<string> {
  const role = ROLES.find((known) => known === word);
  if (role === undefined) throw new Error(`Say what the person is with --role: ${ROLES.join(', ')}.`);
  if (!isEmailAddress(email)) throw new Error(`${email} is not an e-mail address.`);
  const orgId = organisationNamed(ports.directory.state, org);
  const userId = await addPerson(ports, adminAuthor(ports, orgId), { orgId, email, name, role });
  return await linkFor(ports, userId, `${email} is ${article(role)} ${role} now.`);
}

async function reset(ports: PersonPorts, { email }: PersonArguments): Promise<string> {
  const userId = await personWith(ports, email);
  return await linkFor(ports, userId, `${email} keeps the old password until the new one is set.`);
}

async function erase(ports: PersonPorts & ErasingPorts, { email }: PersonArguments): Promise<string> {
  const userId = await personWith(ports, email);
  try {
    await eraseAccount(ports, adminAuthor(ports, null), userId);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    if (error.code === 'legal_hold') throw await refused(ports, userId, error);
    if (error.code !== 'index_building' || !isBegun(ports, userId)) throw error;
  }
  return isBegun(ports, userId)
    ? `The erasure of the account of ${email} has begun; a running gateway finishes it.`
    : `The account of ${email} is erased; the trail names it ${userId}.`;
}

const isBegun = ({ directory }: ErasingPorts, userId: string): boolean =>
  directory.state.people.get(userId)?.isBeingErased === true;

/** Recorded in the organisation of each hold. The refusal itself where the holds cannot be named. */
async function refused(ports: ErasingPorts, userId: string, refusal: GatewayError): Promise<Error> {
  const loss = await lossOfAccount(ports, userId).catch(() => null);
  if (loss === null) return refusal;
  const holds = holdsAgainst(ports.directory.state, loss);
  for (const { orgId } of holds) {
    const line = { capability: 'delete_me', code: 'legal_hold', mailboxId: null };
    await recordRefusal(ports, adminAuthor(ports, orgId), line);
  }
  return new Error(
    `A legal hold keeps ${userId} from being erased: ${holds.map(({ id }) => id).join(', ')}.`,
  );
}

const article = (role: Role): string => (/^[aeiou]/.test(role) ? 'an' : 'a');

const linkFor = async (ports: PersonPorts, userId: string, sentence: string): Promise<string> =>
  `${sentence}\nThe password is set with this link, once, within 24 hours:\n${await passwordLink(ports, userId)}`;

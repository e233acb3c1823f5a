/** People signed in at a test gateway: real links, passwords and sessions, stepped up for 15 minutes. */
import { addPerson, passwordLink, personWith } from '../../../commands/organisation/add-person.ts';
import type { Role } from '../../../commands/values/scopes.ts';
import { systemAuthor } from '../../../commands/kernel/decide-and-append.ts';
import { type Answer, type CallOptions, callRest, type TestGateway, untilAvailable } from './gateway.ts';

export const PERSON_PASSWORD = 'a long enough passphrase';

export interface SignedInPerson {
  readonly userId: string;
  readonly email: string;
  readonly sessionId: string;
  /** The `mgs_` bearer. */
  readonly bearer: string;
  /** A call of the REST adapter in this session. */
  rest(method: string, path: string, body?: unknown, options?: CallOptions): Promise<Answer>;
}

/** The owner of the bootstrap. */
export async function signInOwner(gateway: TestGateway): Promise<SignedInPerson> {
  const email = 'owner@example.com';
  await setPassword(gateway, await personWith(gateway.gateway.ports, email));
  return await signInWith(gateway.baseUrl, email);
}

/** A new person in a role. */
export async function signInNew(
  gateway: TestGateway,
  role: Role,
  email = `${role}@example.com`,
): Promise<SignedInPerson> {
  const { ports } = gateway.gateway;
  const { orgId } = gateway.tokens;
  const person = { orgId, email, name: `Ms ${role}`, role };
  await setPassword(gateway, await addPerson(ports, systemAuthor(ports, orgId), person));
  return await signInWith(gateway.baseUrl, email);
}

/** Another session of a person whose password is known. */
export async function signInWith(
  baseUrl: string,
  email: string,
  password = PERSON_PASSWORD,
): Promise<SignedInPerson> {
  const answer = await untilAvailable(
    () => callRest(baseUrl, ['POST', '/auth/login', { email, password }], {}),
    ({ status }) => status,
  );
  if (answer.status !== 200) throw new Error(`${email} could not sign in: ${JSON.stringify(answer.body)}`);
  const { session_token: bearer, session } = answer.body as {
    session_token: string;
    session: { id: string; user: { id: string } };
  };
  return {
    userId: session.user.id,
    email,
    sessionId: session.id,
    bearer,
    rest: (method, path, sent, options = {}) =>
      callRest(baseUrl, [method, path, sent], { token: bearer, ...options }),
  };
}

async function setPassword({ gateway, baseUrl }: TestGateway, userId: string): Promise<void> {
  const link = await passwordLink(gateway.ports, userId);
  const reset = { token: link.slice(link.indexOf('#reset=') + '#reset='.length), password: PERSON_PASSWORD };
  const answer = await callRest(baseUrl, ['POST', '/auth/password/reset', reset], {});
  if (answer.status !== 204) throw new Error(`no password could be set: ${JSON.stringify(answer.body)}`);
}

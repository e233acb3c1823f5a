/** Every REST route, called by a person with every role and grant but an address that is not verified. */
import { expect } from 'chai';
import type { Access, Capability } from '../../commands/kernel/capability.ts';
import { decideAndAppend, systemAuthor } from '../../commands/kernel/decide-and-append.ts';
import { WITHHELD_UNVERIFIED } from '../../commands/kernel/membership.ts';
import { addMember, organisation } from '../../commands/organisation/organisation.ts';
import { MAILBOX_SCOPES, type Scope } from '../../commands/values/scopes.ts';
import { capabilities } from '../../read-api/capabilities.ts';
import { errorCodesOf } from '../../read-api/http/openapi.ts';
import { verifies } from '../support/suite/verifies.ts';
import { callRest, startTestGateway, type TestGateway } from '../support/worlds/gateway.ts';
import { PERSON_PASSWORD, type SignedInPerson, signInOwner, signInWith } from '../support/worlds/sign-in.ts';

const EMAIL = 'una@example.com';
const NOWHERE = { host: '127.0.0.1', port: 1, security: 'none' };
const MESSAGES = { message_ids: ['msg_1'] };
const ON_MESSAGES = { type: 'message_actions', select: MESSAGES, actions: [{ type: 'archive' }] };

type Fields = Readonly<Record<string, unknown>>;

/** Bodies, where the scopes depend on the input or the input is read before its mailbox is looked at. */
const BODIES: Readonly<Record<string, readonly Fields[]>> = {
  email_act: [
    { operation: ON_MESSAGES },
    { operation: ON_MESSAGES, authorization: { mode: 'request_approval' } },
    { operation: { type: 'draft_send', draft_id: 'drf_1' } },
    { operation: { type: 'draft_discard', draft_id: 'drf_1' } },
  ],
  email_requests: [
    { action: 'list' },
    { action: 'cancel', approval_id: 'chk_1' },
    { action: 'commit', approval_id: 'chk_1', content_hash: 'x' },
  ],
  email_await: [{ for: 'approval', approval_ids: ['chk_1'], timeout_seconds: 0 }],
  monitor_inbox: [{ timeout_seconds: 0 }],
  update_mailbox: [{ display_name: 'Box' }],
  put_mailbox_credentials: [{ password: 'secret' }],
  start_provider_authorization: [{ provider: 'google' }],
  wants_to_move: [{ ...MESSAGES, folder: 'archive' }],
  wants_to_copy: [{ ...MESSAGES, folder: 'archive' }],
  wants_to_expunge: [{ ...MESSAGES, reason: 'so' }],
  update_member: [{ role: 'member' }],
};
/** Their own membership is everybody's to end, so what they need is decided with the member. */
const ABOUT_MEMBERS = ['update_member', 'delete_member'];
/** They end the session, or the account. */
const LAST = ['sign_out', 'revoke_sessions', 'delete_me', 'delete_organisation'];

const isWithheld = (scope: Scope): boolean => WITHHELD_UNVERIFIED.has(scope);

/** As the registry declares it. */
function needsVerification({ name, access, input: schema }: Capability, input: Fields): boolean {
  if (ABOUT_MEMBERS.includes(name)) return true;
  if (typeof access === 'string') return false;
  const { any, needs } = access as Access<unknown>;
  const parsed = schema.safeParse(input);
  return any.every(isWithheld) || (parsed.success && (needs?.(parsed.data) ?? []).some(isWithheld));
}

describe('a person whose address is not verified', function () {
  this.timeout(120_000);
  let gateway: TestGateway;
  let una: SignedInPerson;
  let params: Readonly<Record<string, string>>;

  before(async () => {
    gateway = await startTestGateway({ env: { SIGNUP: 'open' } });
    const owner = await signInOwner(gateway);
    const named = { email: EMAIL, password: PERSON_PASSWORD, name: 'Una', org_name: 'Own Ltd' };
    const made = await callRest(gateway.baseUrl, ['POST', '/auth/signup', named], {});
    expect(made.status).to.equal(202);
    const { userId } = await signInWith(gateway.baseUrl, EMAIL);
    const { ports } = gateway.gateway;
    const { orgId } = gateway.tokens;
    const { position } = await decideAndAppend(ports, systemAuthor(ports, orgId), organisation, {
      id: orgId,
      decide: (state) => addMember(state, { userId, role: 'owner', by: 'operator' }),
    });
    await ports.directory.waitFor(position ?? 0n);
    const auth = { type: 'password', username: 'box', password: 'secret' };
    const box = { email: 'box@example.com', imap: NOWHERE, smtp: NOWHERE, auth };
    const { body: mailbox } = await owner.rest('POST', '/mailboxes', box);
    const grant = { principal_id: userId, scopes: MAILBOX_SCOPES };
    const given = await owner.rest('POST', `/mailboxes/${mailbox.id as string}/grants`, grant);
    expect(given.status, JSON.stringify(given.body)).to.equal(201);
    params = { mailbox_id: mailbox.id as string, user_id: owner.userId };
  });
  after(() => gateway.stop());

  /** In the organisation where there is something to reach. */
  const arrive = async (): Promise<SignedInPerson> => {
    const person = await signInWith(gateway.baseUrl, EMAIL);
    if ((await person.rest('GET', '/org')).body.name === 'First') return person;
    const { orgId: org_id } = gateway.tokens;
    const { body } = await person.rest('POST', '/auth/switch-org', { org_id });
    const token = body.session_token as string;
    return {
      ...person,
      rest: (method, path, sent) => callRest(gateway.baseUrl, [method, path, sent], { token }),
    };
  };

  const paramsOf = ({ rest }: Capability): Readonly<Record<string, string>> =>
    Object.fromEntries(
      [...(rest?.path ?? '').matchAll(/:(\w+)/g)].map(([, name = '']) => [name, params[name] ?? 'unknown_1']),
    );

  /** `403 email_unverified`, or the status alone. */
  const answerTo = async (capability: Capability, body: Fields): Promise<string> => {
    const { method, path, deleteBody } = capability.rest ?? { method: 'get', path: '' };
    const values = paramsOf(capability);
    const to = path.replace(/:(\w+)/g, (_, name: string) => values[name] ?? '');
    const hasBody = method !== 'get' && (method !== 'delete' || deleteBody === true);
    const answer = await una.rest(method.toUpperCase(), to, hasBody ? body : undefined);
    if (answer.status < 300 && capability.effect === 'write') una = await arrive();
    const code = String(answer.body?.error?.code ?? '');
    return code === 'email_unverified' ? `${String(answer.status)} ${code}` : String(answer.status);
  };

  it(`gets email_unverified from every route that needs a withheld scope, and from no other ${verifies('contract:18:unverified')}`, async () => {
    una = await arrive();
    const routes = capabilities
      .filter(({ rest }) => rest)
      .toSorted((a, b) => LAST.indexOf(a.name) - LAST.indexOf(b.name));
    const wrong: string[] = [];
    let refused = 0;
    for (const capability of routes) {
      for (const body of BODIES[capability.name] ?? [{}]) {
        const needs = needsVerification(capability, { ...paramsOf(capability), ...body });
        const answer = await answerTo(capability, body);
        if (needs) refused += 1;
        const isRight = needs ? answer === '403 email_unverified' : !answer.includes('email_unverified');
        const asked = `${capability.name} ${JSON.stringify(body)}`;
        if (!isRight)
          wrong.push(`${asked}: ${answer}, ${needs ? 'needs' : 'does not need'} a verified address`);
        const told = errorCodesOf(capability, capability.errors).get(403) ?? [];
        if (needs && !told.includes('email_unverified'))
          wrong.push(`${asked}: its description does not name email_unverified`);
        // Then the credential was gone, and nothing is shown.
        if (answer === '401') wrong.push(`${asked}: ${answer}`);
      }
    }
    expect(wrong).to.deep.equal([]);
    expect(refused).to.be.above(25);
    expect((await una.rest('GET', '/users/me')).body).to.include({ is_verified: false, email: EMAIL });
  });
});

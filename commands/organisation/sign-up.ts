/**
 * POST /auth/signup: a new account with an organisation of its own, or a member by an invite. Nobody looks at who owns the
 * address: the account claims it, and has it once it is verified (docs/adr/0113).
 */
import { z } from 'zod';
import { account, claimEmail, emailKey, emailReservation, registerAccount } from '../accounts/account.ts';
import { storePassword } from '../accounts/change-password.ts';
import { NewEmail, NewPassword, personAuthor } from '../accounts/credentials.ts';
import { refuseWeakPassword } from '../accounts/new-password.ts';
import { mayNameAgain } from '../accounts/stranger-mail.ts';
import { Nothing } from '../kernel/capability.ts';
import { decideAndAppend } from '../kernel/decide-and-append.ts';
import { definePublicRoute, type PublicContext } from '../kernel/public-route.ts';
import type { HashedPassword } from '../ports/sign-in-port.ts';
import type { ServerInfo } from '../ports/ports.ts';
import { requestMail } from '../system-mail/system-mail.ts';
import { GatewayError, invalidField } from '../values/errors.ts';
import { lineOfText } from '../values/input-fields.ts';
import { acceptInvite } from './accept-invite.ts';
import { createOrganisation, organisation } from './organisation.ts';

const Input = z.strictObject({
  email: NewEmail,
  password: NewPassword,
  name: lineOfText(100),
  org_name: lineOfText(100).optional().describe('The organisation to found; you become its owner.'),
  invite_token: z.string().min(1).max(200).optional().describe('The token of an invite, instead.'),
});
type Input = z.output<typeof Input>;

export const signUp = definePublicRoute<Input, Nothing>({
  name: 'sign_up',
  title: 'Sign up',
  summary:
    'Creates an account with an organisation, or by an invite; the answer is the same for every address.',
  description:
    'A link to verify the address is mailed to it. Until then the account can sign in, but neither send, invite nor approve. If ' +
    'the address has an account already, its person gets a mail about that instead. SIGNUP decides who may sign up.',
  rest: { method: 'post', path: '/auth/signup', status: 202 },
  errors: ['invalid_credentials', 'operation_unsupported', 'conflict'],
  input: Input,
  output: Nothing,
  handle: async (input, context) => {
    const { email, name, password } = input;
    const terms = termsOf(context.ports.server, input);
    if (terms.token !== undefined) await acceptInvite(context, { token: terms.token, email, name, password });
    else await found(context, { email, name, password, orgName: terms.orgName });
    return {};
  },
});

type Founding = Pick<Input, 'email' | 'password' | 'name'> & { readonly orgName: string };

async function found(context: PublicContext, input: Founding): Promise<void> {
  const { ports, source } = context;
  const about = [input.email, input.name, input.orgName];
  await refuseWeakPassword(ports, input.password, { path: 'password', about });
  const key = emailKey(ports, input.email);
  // Accounts cost memory for as long as the gateway runs, so the pauses of a source grow with each.
  await ports.attempts.attempt({ account: `sign-up from ${source}`, source: null }, async () => {
    const hashed = await ports.secrets.hashPassword(input.password);
    const newcomer = { ...input, hashed, key };
    if (await mayNameAgain(ports, `sign-up of ${key}`)) await register(context, newcomer);
    return null;
  });
}

/** What to make: an organisation, or a member by an invite. Throws as `SIGNUP` says. */
function termsOf(
  { signUp: mode }: Pick<ServerInfo, 'signUp'>,
  { org_name: orgName, invite_token: token }: Input,
): { readonly token: string } | { readonly token?: never; readonly orgName: string } {
  if (mode === 'closed') {
    throw new GatewayError(
      'operation_unsupported',
      'Sign-up is closed here; ask the operator for an account.',
    );
  }
  if (token !== undefined && orgName !== undefined) {
    throw invalidField('org_name', 'Give either the organisation to found or an invite, not both.');
  }
  if (token !== undefined) return { token };
  if (mode === 'invite') {
    throw invalidField('invite_token', 'Signing up here needs an invite; ask a member for one.');
  }
  if (orgName === undefined) throw invalidField('org_name', 'Name the organisation to found.');
  return { orgName };
}

interface Newcomer extends Pick<Input, 'email' | 'name'> {
  readonly orgName: string;
  readonly hashed: HashedPassword;
  /** The name of the reservation of the address. */
  readonly key: string;
}

/** The claim is the last step but one: an account that was not finished is never found. */
async function register(context: PublicContext, newcomer: Newcomer): Promise<void> {
  const { ports } = context;
  const [userId, orgId] = [ports.ids.newId('usr'), ports.ids.newId('org')];
  const author = await personAuthor(context, { userId, orgId });
  const terms = {
    email: await ports.personal.seal(userId, newcomer.email.trim()),
    name: await ports.personal.seal(userId, newcomer.name),
    isVerified: false,
  };
  await decideAndAppend(ports, author, account, {
    id: userId,
    decide: (state) => registerAccount(state, terms),
  });
  await storePassword(ports, author, { userId, hashed: newcomer.hashed, by: 'setup' });
  const { position } = await decideAndAppend(ports, author, organisation, {
    id: orgId,
    decide: (state) => createOrganisation(state, { name: newcomer.orgName, ownerId: userId }),
  });
  if (position !== null) await ports.directory.waitFor(position);
  await decideAndAppend(ports, author, emailReservation, {
    id: newcomer.key,
    decide: (state) => claimEmail(state, userId),
  });
  const mail = { kind: 'verify_email', user_id: userId, to: null } as const;
  await requestMail(ports, author, ports.ids.newUuid(), mail);
}

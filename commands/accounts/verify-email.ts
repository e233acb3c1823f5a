/** A person shows that the address of an account is theirs, with the link that was mailed to it (`contract.md` 18). */
import { z } from 'zod';
import { Nothing } from '../kernel/capability.ts';
import { decideAndAppend } from '../kernel/decide-and-append.ts';
import { definePublicRoute, type PublicContext } from '../kernel/public-route.ts';
import type { PersonEntry } from '../ports/directory.ts';
import { GatewayError } from '../values/errors.ts';
import {
  account,
  type AccountState,
  emailKey,
  emailReservation,
  reserveEmail,
  verifyEmail,
} from './account.ts';
import { GivenEmail, invalidLink, memberOf, personAuthor } from './credentials.ts';
import { requestStrangersMail } from './stranger-mail.ts';

const VerifyInput = z.strictObject({ token: z.string().min(1).max(200) });

export const verifyAddress = definePublicRoute<z.output<typeof VerifyInput>, Nothing>({
  name: 'verify_address',
  title: 'Verify an e-mail address',
  summary: 'Verifies the address of an account with the token of the link that was mailed to it.',
  description:
    'From then on the account may send, invite and approve as far as its rights go. Uses the link up. 409 when another account ' +
    'has verified the same address meanwhile.',
  rest: { method: 'post', path: '/auth/verify', status: 204 },
  errors: ['invalid_credentials', 'conflict'],
  input: VerifyInput,
  output: Nothing,
  handle: async ({ token }, context) => {
    const { ports, source } = context;
    const on = { account: `link ${source}`, source: null };
    const link = await ports.attempts.attempt(on, () => ports.links.find('verify', token));
    const person = ports.directory.state.people.get(link?.subject ?? '');
    if (person !== undefined) await verify(context, person);
    // Last, so that a request that was interrupted can be repeated; of two at once one gets the link.
    const taken = person && (await ports.links.take('verify', token));
    if (!taken) {
      ports.accessLog.countRefusal('invalid_credentials', source);
      throw invalidLink('verify');
    }
    return {};
  },
});

/** Throws `conflict` when another account has the address. */
async function verify(context: PublicContext, { id, email }: PersonEntry): Promise<void> {
  const { ports } = context;
  const orgId = memberOf(ports.directory.state, id)?.orgId ?? null;
  const author = await personAuthor(context, { userId: id, orgId });
  await decideAndAppend(ports, author, emailReservation, {
    id: emailKey(ports, email),
    decide: (state) => {
      if (state.ownerId !== null && state.ownerId !== id) throw takenMeanwhile();
      return reserveEmail(state, id);
    },
  });
  const { position } = await decideAndAppend(ports, author, account, {
    id,
    decide: (state: AccountState) => verifyEmail(state),
  });
  context.notePosition(position);
  if (position !== null) await ports.directory.waitFor(position);
}

const takenMeanwhile = (): GatewayError =>
  new GatewayError(
    'conflict',
    'Another account has verified this e-mail address already. Sign in to that one; POST /auth/password/forgot sets a new password for it.',
  );

const ResendInput = z.strictObject({ email: GivenEmail });

export const resendVerification = definePublicRoute<z.output<typeof ResendInput>, Nothing>({
  name: 'resend_verification',
  title: 'Ask for another verification link',
  summary: 'Mails a new link to verify an address; the answer is the same for every address.',
  description:
    'The mail goes to the address if an account waits for it to be verified. A repeat within five minutes sends no other mail. ' +
    'The newest link replaces earlier ones.',
  rest: { method: 'post', path: '/auth/verify/resend', status: 202 },
  input: ResendInput,
  output: Nothing,
  handle: async ({ email }, context) => {
    await requestStrangersMail(context, 'verify_email', email);
    return {};
  },
});

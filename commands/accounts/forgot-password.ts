/** POST /auth/password/forgot: asks for a link to set a new password (`contract.md` 18). */
import { z } from 'zod';
import { Nothing } from '../kernel/capability.ts';
import { definePublicRoute } from '../kernel/public-route.ts';
import { GivenEmail } from './credentials.ts';
import { requestStrangersMail } from './stranger-mail.ts';

const Input = z.strictObject({ email: GivenEmail });

export const forgotPassword = definePublicRoute<z.output<typeof Input>, Nothing>({
  name: 'forgot_password',
  title: 'Ask for a link to set a password',
  summary: 'Mails a link to set a new password; the answer is the same for every address.',
  description:
    'The mail goes to the address if it is the verified address of an account. The link is valid for 30 minutes. A repeat within ' +
    'five minutes sends no other mail.',
  rest: { method: 'post', path: '/auth/password/forgot', status: 202 },
  input: Input,
  output: Nothing,
  handle: async ({ email }, context) => {
    await requestStrangersMail(context, 'password_reset', email);
    return {};
  },
});

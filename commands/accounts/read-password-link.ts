/** POST /auth/password/reset/link: whose password a one-time link sets, told to whoever holds it, so that nobody sets another's. */
import { z } from 'zod';
import { definePublicRoute } from '../kernel/public-route.ts';
import { invalidLink } from './credentials.ts';
import { memberOf } from './anonymous-author.ts';

const Input = z.strictObject({ token: z.string().min(1).max(200) });

const PasswordLink = z.object({
  user: z.object({ name: z.string(), email: z.string() }),
  org: z.object({ name: z.string() }).nullable().describe('Null for a person who is of none.'),
});
type PasswordLink = z.output<typeof PasswordLink>;

export const readPasswordLink = definePublicRoute<z.output<typeof Input>, PasswordLink>({
  name: 'read_password_link',
  title: 'Read a password link',
  summary: 'Returns the person and the organisation of a one-time link for a password, without using it up.',
  description:
    'Returns for whom the link was made. The token is in the body, so that no log contains it, and stays valid until a password is set with it.',
  rest: { method: 'post', path: '/auth/password/reset/link', status: 200 },
  input: Input,
  output: PasswordLink,
  handle: async ({ token }, { ports, source }) => {
    const on = { account: `link ${source}`, source: null };
    const link = await ports.attempts.attempt(on, () => ports.links.find('password', token));
    const { state } = ports.directory;
    const user = state.people.get(link?.subject ?? '');
    if (user === undefined) {
      ports.accessLog.countRefusal('invalid_credentials', source);
      throw invalidLink();
    }
    const org = state.organisations.get(memberOf(state, user.id)?.orgId ?? '');
    return { user: { name: user.name, email: user.email }, org: org ? { name: org.name } : null };
  },
});

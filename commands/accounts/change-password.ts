/** A password by a one-time link (public), or another one by whoever knows the old one. */
import { z } from 'zod';
import { defineCapability } from '../kernel/capability.ts';
import { type Author, decideAndAppend } from '../kernel/decide-and-append.ts';
import { Nothing, replayNothing } from '../kernel/nothing.ts';
import type { Ports } from '../kernel/ports.ts';
import { definePublicRoute } from '../kernel/public-route.ts';
import { requireSession } from '../kernel/step-up.ts';
import { account, setPassword } from './account.ts';
import { confirmPassword } from './confirm-password.ts';
import { endSessions, openSessionsOf } from './end-sessions.ts';
import { invalidLink } from './invalid-credentials.ts';
import { GivenPassword, NewPassword } from './password-field.ts';
import { memberOf, personAuthor } from './person-at-the-door.ts';

const ResetInput = z.strictObject({ token: z.string().min(1).max(200), password: NewPassword });
const ChangeInput = z.strictObject({ old: GivenPassword, new: NewPassword });

export const resetPassword = definePublicRoute<z.output<typeof ResetInput>, Nothing>({
  name: 'reset_password',
  title: 'Set a password by a link',
  summary: 'Sets a password with the token of a one-time link.',
  description:
    'Uses the token of a one-time link up and sets the password of the person it was made for. Every session of that person ' +
    'ends; nobody is signed in by it.',
  rest: { method: 'post', path: '/auth/password/reset', status: 204 },
  input: ResetInput,
  output: Nothing,
  handle: async ({ token, password }, context) => {
    const { ports, source } = context;
    const attempt = await ports.attempts.admit({ account: `link ${source}`, source: null });
    const userId = (await ports.links.take('password', token))?.subject ?? null;
    if (userId === null) {
      await attempt.failed();
      ports.accessLog.countRefusal('invalid_credentials', source);
      throw invalidLink();
    }
    await attempt.succeeded();
    const orgId = memberOf(ports.directory.state, userId)?.orgId ?? null;
    const author = await personAuthor(context, { userId, orgId });
    await storePassword(ports, author, { userId, password, by: 'link' });
    const sessions = openSessionsOf(ports.directory, userId);
    context.notePosition(await endSessions(ports, author, sessions, 'password_changed'));
    return {};
  },
});

export const changePassword = defineCapability<z.output<typeof ChangeInput>, Nothing>({
  name: 'change_password',
  title: 'Change the password',
  summary: 'Sets another password; your other sessions end.',
  description: 'Sets another password. This session stays, every other session of yours ends.',
  effect: 'write',
  access: 'session',
  rest: { method: 'post', path: '/auth/password/change', status: 204 },
  tool: null,
  idempotency: { kind: 'claim', replay: replayNothing },
  input: ChangeInput,
  output: Nothing,
  handle: async (input, context) => {
    const { caller, ports, author } = context;
    const own = requireSession(caller);
    await confirmPassword(context, input.old);
    await context.claim('req');
    await storePassword(ports, author, { userId: caller.principal.id, password: input.new, by: 'change' });
    const others = openSessionsOf(ports.directory, caller.principal.id).filter(({ id }) => id !== own.id);
    context.notePosition(await endSessions(ports, author, others, 'password_changed'));
    return {};
  },
});

/** The hash goes to the vault, the fact to the log. Cut off between the two, the password holds and the trail lacks the line. */
export async function storePassword(
  ports: Pick<Ports, 'events' | 'ids' | 'clock' | 'secrets'>,
  author: Author,
  {
    userId,
    password,
    by,
  }: { readonly userId: string; readonly password: string; readonly by: 'setup' | 'link' | 'change' },
): Promise<void> {
  await ports.secrets.savePassword(userId, password);
  await decideAndAppend(ports, author, account, { id: userId, decide: (state) => setPassword(state, by) });
}

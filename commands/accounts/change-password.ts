/** A password by a one-time link (public), or another one by whoever knows the old one. */
import { z } from 'zod';
import { defineCapability } from '../kernel/capability.ts';
import { type Author, decideAndAppend } from '../kernel/decide-and-append.ts';
import { Nothing, replayNothing } from '../values/empty-response.ts';
import type { Ports } from '../ports/ports.ts';
import { definePublicRoute } from '../kernel/public-route.ts';
import type { HashedPassword } from '../ports/sign-in-port.ts';
import { requireSession } from '../kernel/step-up.ts';
import { account, type AccountState, setPassword } from './account.ts';
import { confirmPassword, GivenPassword, invalidLink, NewPassword } from './credentials.ts';
import { endSessions, openSessionsOf } from './end-sessions.ts';
import { memberOf, personAuthor } from './anonymous-author.ts';

const ResetInput = z.strictObject({ token: z.string().min(1).max(200), password: NewPassword });
const ChangeInput = z.strictObject({ old: GivenPassword, new: NewPassword });

export const resetPassword = definePublicRoute<z.output<typeof ResetInput>, Nothing>({
  name: 'reset_password',
  title: 'Set a password by a link',
  summary: 'Sets a password with the token of a one-time link.',
  description:
    'Uses up the token of a one-time link and sets the password of the person it was made for. Every session of that person ' +
    'ends; this does not sign in.',
  rest: { method: 'post', path: '/auth/password/reset', status: 204 },
  input: ResetInput,
  output: Nothing,
  handle: async ({ token, password }, context) => {
    const { ports, source } = context;
    const on = { account: `link ${source}`, source: null };
    const link = await ports.attempts.attempt(on, () => ports.links.find('password', token));
    // Whatever can fail comes before the link is used up.
    const hashed = link && (await ports.secrets.hashPassword(password));
    const taken = hashed && (await ports.links.takeForPassword(token, hashed));
    if (taken === null) {
      ports.accessLog.countRefusal('invalid_credentials', source);
      throw invalidLink();
    }
    const { userId } = taken;
    const orgId = memberOf(ports.directory.state, userId)?.orgId ?? null;
    const author = await personAuthor(context, { userId, orgId });
    await notePasswordSet(ports, author, { userId, by: 'link' });
    const sessions = openSessionsOf(ports.directory, userId);
    context.notePosition(await endSessions(ports, author, sessions, 'password_changed'));
    return {};
  },
});

export const changePassword = defineCapability<z.output<typeof ChangeInput>, Nothing>({
  name: 'change_password',
  title: 'Change the password',
  summary: 'Sets a new password; your other sessions end.',
  description: 'Sets a new password. This session stays; all your other sessions end.',
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
    const userId = caller.principal.id;
    const hashed = await ports.secrets.hashPassword(input.new);
    await context.claim('req');
    await storePassword(ports, author, { userId, hashed, by: 'change' });
    const others = openSessionsOf(ports.directory, userId).filter(({ id }) => id !== own.id);
    context.notePosition(await endSessions(ports, author, others, 'password_changed'));
    return {};
  },
});

export interface NewPasswordOf {
  readonly userId: string;
  readonly hashed: HashedPassword;
  readonly by: SetBy;
}
type SetBy = 'setup' | 'link' | 'change';
type PasswordPorts = Pick<Ports, 'events' | 'ids' | 'clock' | 'directory'>;

/** The hash goes to the vault, the fact to the log. Cut off between the two, the password holds and the trail lacks the line. */
export async function storePassword(
  ports: PasswordPorts & Pick<Ports, 'secrets'>,
  author: Author,
  { userId, hashed, by }: NewPasswordOf,
): Promise<void> {
  await ports.secrets.savePassword(userId, hashed);
  await notePasswordSet(ports, author, { userId, by });
}

/** Resolves when the directory knows of every session that began, anywhere, before the password was set. */
async function notePasswordSet(
  ports: PasswordPorts,
  author: Author,
  { userId, by }: Pick<NewPasswordOf, 'userId' | 'by'>,
): Promise<void> {
  const decide = (state: AccountState) => setPassword(state, by);
  const { position } = await decideAndAppend(ports, author, account, { id: userId, decide });
  if (position !== null) await ports.directory.waitFor(position);
}

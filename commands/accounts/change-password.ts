/** A password set with a one-time link (public), or changed by the person who knows the old one. */
import { z } from 'zod';
import { defineCapability, Nothing, replayNothing } from '../kernel/capability.ts';
import { type Author, decideAndAppend } from '../kernel/decide-and-append.ts';
import type { Ports } from '../ports/ports.ts';
import { definePublicRoute } from '../kernel/public-route.ts';
import type { HashedPassword, OneTimeLink } from '../ports/sign-in-port.ts';
import { requireSession } from '../kernel/live-caller.ts';
import { account, type AccountState, setPassword } from './account.ts';
import {
  confirmPassword,
  GivenPassword,
  invalidLink,
  memberOf,
  NewPassword,
  personAuthor,
} from './credentials.ts';
import { aboutPerson, refuseWeakPassword } from './new-password.ts';
import { requestNotice } from './security-notice.ts';
import { endableSessionsOf, endSessions } from './session.ts';

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
    const link = await ports.attempts.attempt(on, () => findLink(ports, token));
    const about = aboutPerson(ports.directory.state, link?.subject ?? '');
    if (link !== null) await refuseWeakPassword(ports, password, { path: 'password', about });
    // Every step that can fail comes before the link is used up.
    const hashed = link && (await ports.secrets.hashPassword(password));
    const taken = hashed && (await ports.links.takeForPassword(token, hashed));
    if (taken === null) {
      ports.accessLog.countRefusal('invalid_credentials', source);
      throw invalidLink('password');
    }
    const { userId } = taken;
    const orgId = memberOf(ports.directory.state, userId)?.orgId ?? null;
    const author = await personAuthor(context, { userId, orgId });
    await notePasswordSet(ports, author, { userId, by: 'link' });
    const sessions = endableSessionsOf(ports.directory, userId);
    context.notePosition(await endSessions(ports, author, sessions, 'password_changed'));
    await requestNotice(ports, author, userId, { kind: 'password_changed' });
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
  whileDeleted: true,
  rest: { method: 'post', path: '/auth/password/change', status: 204 },
  tool: null,
  idempotency: { kind: 'claim', replay: replayNothing },
  input: ChangeInput,
  output: Nothing,
  handle: async (input, context) => {
    const { caller, ports, author } = context;
    const own = requireSession(caller);
    const userId = caller.principal.id;
    await confirmPassword(context, input.old);
    const about = aboutPerson(ports.directory.state, userId);
    await refuseWeakPassword(ports, input.new, { path: 'new', about });
    const hashed = await ports.secrets.hashPassword(input.new);
    await context.claim('req');
    await storePassword(ports, author, { userId, hashed, by: 'change' });
    const others = endableSessionsOf(ports.directory, userId).filter(({ id }) => id !== own.id);
    context.notePosition(await endSessions(ports, author, others, 'password_changed'));
    await requestNotice(ports, author, userId, { kind: 'password_changed' });
    return {};
  },
});

/** Links of both kinds set a password; the use of either ends the other. */
const findLink = async ({ links }: Pick<Ports, 'links'>, token: string): Promise<OneTimeLink | null> =>
  (await links.find('password', token)) ?? (await links.find('reset', token));

interface NewPasswordOf {
  readonly userId: string;
  readonly hashed: HashedPassword;
  readonly by: SetBy;
}
type SetBy = 'setup' | 'link' | 'change';
type PasswordPorts = Pick<Ports, 'events' | 'ids' | 'clock' | 'directory'>;

/** The hash goes to the vault, the fact to the log. After an interruption between the two the password is valid without an event. */
export async function storePassword(
  ports: PasswordPorts & Pick<Ports, 'secrets'>,
  author: Author,
  { userId, hashed, by }: NewPasswordOf,
): Promise<void> {
  await ports.secrets.savePassword(userId, hashed);
  await notePasswordSet(ports, author, { userId, by });
}

/** Resolves when the directory contains every session that began, in any process, before the password was set. */
async function notePasswordSet(
  ports: PasswordPorts,
  author: Author,
  { userId, by }: Pick<NewPasswordOf, 'userId' | 'by'>,
): Promise<void> {
  const decide = (state: AccountState) => setPassword(state, by);
  const { position } = await decideAndAppend(ports, author, account, { id: userId, decide });
  if (position !== null) await ports.directory.waitFor(position);
}

const LinkInput = z.strictObject({ token: z.string().min(1).max(200) });

const PasswordLink = z.object({
  user: z.object({ name: z.string(), email: z.string() }),
  org: z.object({ name: z.string() }).nullable().describe('Null for a person who is of none.'),
});
type PasswordLink = z.output<typeof PasswordLink>;

/** POST /auth/password/reset/link: shows whose password the link sets, so that its holder does not set another person's. */
export const readPasswordLink = definePublicRoute<z.output<typeof LinkInput>, PasswordLink>({
  name: 'read_password_link',
  title: 'Read a password link',
  summary: 'Returns the person and the organisation of a one-time link for a password, without using it up.',
  description:
    'Returns for whom the link was made. The token is in the body, so that no log contains it, and stays valid until a password is set with it.',
  rest: { method: 'post', path: '/auth/password/reset/link', status: 200 },
  input: LinkInput,
  output: PasswordLink,
  handle: async ({ token }, { ports, source }) => {
    const on = { account: `link ${source}`, source: null };
    const link = await ports.attempts.attempt(on, () => findLink(ports, token));
    const { state } = ports.directory;
    const user = state.people.get(link?.subject ?? '');
    if (user === undefined) {
      ports.accessLog.countRefusal('invalid_credentials', source);
      throw invalidLink('password');
    }
    const org = state.organisations.get(memberOf(state, user.id)?.orgId ?? '');
    return { user: { name: user.name, email: user.email }, org: org ? { name: org.name } : null };
  },
});

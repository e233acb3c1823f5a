/** Ending sessions: logout, one of them, all of them. */
import { z } from 'zod';
import { type Context, defineCapability, Nothing } from '../kernel/capability.ts';
import type { SessionEntry } from '../ports/directory.ts';
import { notFound } from '../values/errors.ts';
import { requireSession } from '../kernel/live-caller.ts';
import { type EndReason, endableSessionsOf, endSessions } from './session.ts';

const NoInput = z.strictObject({});
type NoInput = z.output<typeof NoInput>;
const Named = z.strictObject({ session_id: z.string().min(1).max(64) });

const ENDING = {
  effect: 'write',
  access: 'session',
  whileDeleted: true,
  tool: null,
  idempotency: { kind: 'none' },
  output: Nothing,
} as const;

export const signOut = defineCapability<NoInput, Nothing>({
  name: 'sign_out',
  title: 'Sign out',
  summary: 'Ends this session.',
  description: 'Ends this session; every token made from it ends with it.',
  rest: { method: 'post', path: '/auth/logout', status: 204 },
  ...ENDING,
  input: NoInput,
  handle: (_, context) => end(context, [requireSession(context.caller)], 'logout'),
});

export const deleteSession = defineCapability<z.output<typeof Named>, Nothing>({
  name: 'delete_session',
  title: 'End a session',
  summary: 'Ends one of your sessions.',
  description: 'Ends one of your sessions, also this one: later requests with it are refused.',
  rest: { method: 'delete', path: '/auth/sessions/:session_id', status: 204 },
  ...ENDING,
  input: Named,
  handle: async ({ session_id }, context) => {
    const entry = context.ports.directory.state.sessions.get(session_id);
    if (entry?.userId !== context.caller.principal.id) throw notFound('session');
    return await end(context, [entry], 'revoked');
  },
});

export const revokeSessions = defineCapability<NoInput, Nothing>({
  name: 'revoke_sessions',
  title: 'End all sessions',
  summary: 'Ends all your sessions, including this one.',
  description: 'Ends all your sessions, including this one; tokens issued to you stay.',
  rest: { method: 'post', path: '/auth/sessions/revoke-all', status: 204 },
  ...ENDING,
  input: NoInput,
  handle: (_, context) =>
    end(context, endableSessionsOf(context.ports.directory, context.caller.principal.id), 'revoked'),
});

async function end(
  context: Context,
  sessions: readonly Pick<SessionEntry, 'id'>[],
  reason: EndReason,
): Promise<Nothing> {
  context.notePosition(await endSessions(context.ports, context.author, sessions, reason));
  return {};
}

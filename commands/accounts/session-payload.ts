/** A session as its person sees it; the bearer is told once, at sign-in. */
import { z } from 'zod';
import type { DirectoryState, SessionEntry } from '../ports/directory.ts';
import { ROLES } from '../values/scopes.ts';

export const Session = z.object({
  id: z.string(),
  user: z.object({ id: z.string(), name: z.string(), email: z.string() }),
  org: z.object({ id: z.string(), name: z.string() }),
  role: z.enum(ROLES),
  started_at: z.string(),
  expires_at: z.string().describe('At the latest; half an hour without use ends it sooner.'),
  stepped_up_until: z
    .string()
    .nullable()
    .describe('Null = the password has to be given again (POST /auth/step-up).'),
});
export type Session = z.output<typeof Session>;

/** Null for a person who is no longer of the organisation. */
export function describeSession(state: DirectoryState, entry: SessionEntry, now: Date): Session | null {
  const user = state.people.get(entry.userId);
  const org = state.organisations.get(entry.orgId);
  const role = state.roles.get(`${entry.orgId}/${entry.userId}`);
  if (!user || !org || !role) return null;
  const isFresh = entry.steppedUpUntil !== null && Date.parse(entry.steppedUpUntil) > now.getTime();
  return {
    id: entry.id,
    user: { id: user.id, name: user.name, email: user.email },
    org: { id: org.id, name: org.name },
    role,
    started_at: entry.startedAt,
    expires_at: entry.expiresAt,
    stepped_up_until: isFresh ? entry.steppedUpUntil : null,
  };
}

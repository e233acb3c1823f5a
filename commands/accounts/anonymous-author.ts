/** A person without a session yet, as the author of events. */
import type { Author } from '../kernel/decide-and-append.ts';
import type { DirectoryState } from '../ports/directory.ts';
import type { PublicContext } from '../kernel/public-route.ts';

export interface Member {
  readonly userId: string;
  readonly orgId: string;
}

/** The oldest organisation of the person (ids are UUIDv7); null = none. */
export function memberOf({ roles }: DirectoryState, userId: string): Member | null {
  const [key] = [...roles.keys()].filter((role) => role.endsWith(`/${userId}`)).sort();
  return key === undefined ? null : { userId, orgId: key.slice(0, key.indexOf('/')) };
}

/** `orgId` is null for a person without an organisation. */
export async function personAuthor(
  { requestId, surface, sealClient }: PublicContext,
  { userId, orgId }: { readonly userId: string; readonly orgId: string | null },
  sessionId: string | null = null,
): Promise<Author> {
  return {
    orgId,
    actor: {
      type: 'person',
      id: userId,
      token_id: null,
      session_id: sessionId,
      client: await sealClient(userId),
    },
    surface,
    requestId,
    correlationId: requestId,
    causationId: requestId,
  };
}

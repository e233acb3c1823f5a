/** The end of what is stored to log in to a mailbox: taken back at the provider first, then erased here. */
import type { Ports } from '../ports/ports.ts';

/**
 * Erases credentials and what was asked of a provider, whatever the provider says. True when the provider knows. A
 * renewal under way ends before, so that no token survives.
 */
export async function forgetCredentials(
  { secrets, providerAuthorizations }: Pick<Ports, 'secrets' | 'providerAuthorizations'>,
  mailboxId: string,
): Promise<boolean> {
  await providerAuthorizations.forget(mailboxId);
  let isRevoked = false;
  await secrets.changeMailCredentials(mailboxId, async (stored) => {
    if (stored.kind === 'oauth2' && stored.refreshToken !== null) {
      isRevoked = await providerAuthorizations.revoke(stored.provider, stored.refreshToken);
    }
    return null;
  });
  await secrets.eraseMailCredentials(mailboxId);
  return isRevoked;
}

/** Verifies and stores a provider's tokens. */
import { type Caller, callerInSession, callerOf } from '../kernel/access.ts';
import { authorize } from '../kernel/authorize.ts';
import { isSessionId } from '../values/event.ts';
import { type Author, decideAndAppend, loadAggregate } from '../kernel/decide-and-append.ts';
import type { DirectoryState } from '../ports/directory.ts';
import { GatewayError } from '../values/errors.ts';
import { type AuthorizationRequest, type GrantedTokens, PROVIDER_NAMES } from '../ports/mail-logins.ts';
import type { Ports } from '../ports/ports.ts';
import { startProviderAuthorization } from './authorize-provider.ts';
import { authorizeProvider } from './decide-connection.ts';
import { mailbox, type MailboxRecord } from './mailbox.ts';

/**
 * The requester's right is required until the end: a token revoked meanwhile connects nothing. Throws
 * `insufficient_scope`, `not_found`.
 */
export function assertStillAllowed(
  { directory, clock }: Ports,
  { requester, mailboxId }: AuthorizationRequest,
): void {
  const now = clock.now();
  const caller = callerBy(directory.state, requester.tokenId, now);
  if (caller === null) {
    throw new GatewayError('insufficient_scope', 'The requester may no longer do this.', {
      details: { required: ['mailboxes:manage'] },
    });
  }
  authorize(caller, directory.state, startProviderAuthorization, { mailbox_id: mailboxId });
}

/** The requester, while that token or session is valid. */
function callerBy(state: DirectoryState, tokenId: string, now: Date): Caller | null {
  const isAhead = (expiresAt: string): boolean => Date.parse(expiresAt) > now.getTime();
  if (isSessionId(tokenId)) {
    const session = state.sessions.get(tokenId);
    return session?.endedAt === null && isAhead(session.expiresAt)
      ? callerInSession(state, session, now)
      : null;
  }
  const token = state.tokens.get(tokenId);
  return token?.revokedAt === null && isAhead(token.expiresAt) ? callerOf(state, token, now) : null;
}

/**
 * Stores the tokens and connects the mailbox. For another account than the mailbox's, and for a mailbox that
 * changed since, it revokes the tokens at the provider and throws `conflict`.
 */
export async function keepTokens(
  ports: Ports,
  request: AuthorizationRequest,
  { addresses, tokens }: GrantedTokens,
  author: Author,
): Promise<void> {
  const { provider, mailboxId, email, hosts } = request;
  const account = await ports.personal.seal(mailboxId, email);
  const decide = (state: MailboxRecord) => authorizeProvider(state, { provider, account, hosts });
  try {
    if (!addresses.some((address) => isSameAddress(address, email))) throw otherAccount(request);
    decide((await loadAggregate(ports.events, mailbox, mailboxId)).state);
  } catch (error) {
    await ports.providerAuthorizations.revoke(provider, tokens.refreshToken);
    throw error;
  }
  // Stored before the event, like passwords. If the hosts change in between, the tokens stay bound to the old
  // hosts and are never sent.
  await ports.secrets.saveMailCredentials(mailboxId, {
    kind: 'oauth2',
    provider,
    username: email,
    hosts,
    ...tokens,
  });
  const { position } = await decideAndAppend(ports, author, mailbox, { id: mailboxId, decide });
  if (position !== null) await ports.directory.waitFor(position);
}

/** RFC 5321 leaves the case of a local part to its host; no provider here distinguishes accounts by it. */
const isSameAddress = (one: string, other: string): boolean =>
  one.normalize('NFC').toLowerCase() === other.normalize('NFC').toLowerCase();

const otherAccount = ({ email, provider }: AuthorizationRequest): GatewayError =>
  new GatewayError(
    'conflict',
    `You signed in at ${PROVIDER_NAMES[provider]} with another account than ${email}, so nothing was connected.`,
    { details: { reason: 'other_account' } },
  );

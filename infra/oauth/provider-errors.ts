/** What a failure at a provider's authorization server means to a mailbox. Its texts stay out: they may hold addresses. */
import { AuthorizationResponseError, ResponseBodyError } from 'openid-client';
import { GatewayError } from '../../commands/values/errors.ts';

/**
 * RFC 6749 5.2 and OpenID Connect Core 3.1.2.6: the account itself has to agree again. Anything else, a wrong client secret too, says
 * nothing about the mailbox.
 */
const DEFINITE: ReadonlySet<string> = new Set(['invalid_grant', 'interaction_required', 'consent_required']);

const RETRY_SECONDS = 10;

/** `mailbox_auth_failed` when the provider refuses the authorization for good, else `mailbox_unavailable`. */
export function providerError(error: unknown, providerName: string): GatewayError {
  const own = ownError(error);
  if (own) return own;
  const said = error instanceof ResponseBodyError || error instanceof AuthorizationResponseError;
  if (said && DEFINITE.has(error.error)) return authorizationRefused(error);
  const refused = error instanceof ResponseBodyError && error.status < 500;
  return new GatewayError(
    'mailbox_unavailable',
    refused
      ? `${providerName} refuses this gateway's requests; an operator has to check its OAuth settings.`
      : `${providerName} does not answer as expected; try again.`,
    {
      details: { reason: refused ? 'provider_settings' : 'provider_unavailable' },
      retryAfterSeconds: RETRY_SECONDS,
      cause: error,
    },
  );
}

export const authorizationRefused = (cause?: unknown): GatewayError =>
  new GatewayError(
    'mailbox_auth_failed',
    'The provider no longer accepts the authorization of this mailbox; authorize it again.',
    { details: { reason: 'authorization_refused' }, cause },
  );

/** The library wraps what its `fetch` throws. */
function ownError(error: unknown): GatewayError | null {
  if (error instanceof GatewayError) return error;
  return error instanceof Error && error.cause !== undefined ? ownError(error.cause) : null;
}

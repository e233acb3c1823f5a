/**
 * The answer of a provider, delivered by a person's browser (`contract.md` 18): shown first, accepted only
 * when the person confirms. No sign-in is required: the state, known only to that browser, identifies the
 * request.
 */
import { credentialIds } from '../values/event.ts';
import { recordRefusal } from '../kernel/access-events.ts';
import type { Author } from '../kernel/decide-and-append.ts';
import { ERROR_TABLE, GatewayError, notFound } from '../values/errors.ts';
import { type AuthorizationRequest, PROVIDER_NAMES } from '../ports/mail-logins.ts';
import type { Ports } from '../ports/ports.ts';
import type { Sealed } from '../values/sealed.ts';
import { startProviderAuthorization } from './authorize-provider.ts';
import { assertStillAllowed, keepTokens } from './keep-tokens.ts';

/** The contents of the page before the person confirms. */
export interface AuthorizationSummary {
  readonly provider: string;
  readonly organisation: string;
  readonly email: string;
  readonly requester: string;
  /** Mail servers that will receive the access tokens. */
  readonly hosts: readonly string[];
}

/** The provider's answer as the browser delivered it. */
export interface ProviderAnswer {
  readonly state: string;
  /** `code` with other parameters, or `error`. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Seals address and user agent of the browser under the given principal's key. */
  readonly sealClient: (principalId: string) => Promise<Sealed>;
}

/**
 * Reads without consuming, because mail scanners open links too. Throws `not_found` for a state that is
 * unknown, used or expired, and `mailbox_auth_failed` when the provider reports a refusal.
 */
export async function describeAuthorization(
  ports: Ports,
  answer: ProviderAnswer,
): Promise<AuthorizationSummary> {
  const request = await ports.providerAuthorizations.find(answer.state);
  if (request === null) throw unknownState();
  return await recordingRefusal(ports, request, answer, () => {
    assertGiven(answer.parameters);
    return Promise.resolve(summaryOf(ports, request));
  });
}

/**
 * Consumes the answer, once: exchanges it, verifies that the account is the mailbox's, stores the tokens and
 * connects the mailbox. Throws like `describeAuthorization`, `conflict` for another account or a changed
 * mailbox, and `insufficient_scope` or `not_found` when the requester lost the right.
 */
export async function finishAuthorization(
  ports: Ports,
  answer: ProviderAnswer,
): Promise<AuthorizationSummary> {
  const taken = await ports.providerAuthorizations.take(answer.state);
  if (taken === null) throw unknownState();
  const { request } = taken;
  return await recordingRefusal(ports, request, answer, async () => {
    assertGiven(answer.parameters);
    assertStillAllowed(ports, request);
    const granted = await ports.providerAuthorizations.redeem(taken, answer.parameters);
    await keepTokens(ports, request, granted, await authorOf(ports, request, answer));
    await ports.mail.disconnect(request.mailboxId);
    return summaryOf(ports, request);
  });
}

/** RFC 6749 4.1.2.1: `access_denied` is the person's refusal. */
function assertGiven(parameters: ProviderAnswer['parameters']): void {
  if (parameters['code'] !== undefined) return;
  const isDenied = parameters['error'] === 'access_denied';
  throw new GatewayError(
    'mailbox_auth_failed',
    isDenied
      ? 'You did not agree at the provider, so nothing was connected.'
      : 'The provider did not give its permission, so nothing was connected.',
    { details: { reason: isDenied ? 'access_denied' : 'provider_refused' } },
  );
}

function summaryOf({ directory }: Ports, request: AuthorizationRequest): AuthorizationSummary {
  const { state } = directory;
  const entry = state.mailboxes.get(request.mailboxId);
  const organisation = state.organisations.get(request.orgId);
  const { principalId } = request.requester;
  const requester = state.people.get(principalId) ?? state.agents.get(principalId);
  if (!entry || !organisation || !requester) throw notFound('mailbox');
  return {
    provider: PROVIDER_NAMES[request.provider],
    organisation: organisation.name,
    email: request.email,
    requester: requester.name,
    hosts: [...new Set([entry.imap.host, ...(entry.smtp ? [entry.smtp.host] : [])])],
  };
}

/** From here on the organisation is known, so a refusal is recorded in its audit trail. */
async function recordingRefusal<T>(
  ports: Ports,
  request: AuthorizationRequest,
  answer: ProviderAnswer,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isRefusal = error instanceof GatewayError && ERROR_TABLE[error.code].status < 500;
    if (isRefusal) {
      await recordRefusal(ports, authorOf(ports, request, answer), {
        capability: startProviderAuthorization.name,
        code: error.code,
        mailboxId: request.mailboxId,
      });
    }
    throw error;
  }
}

async function authorOf(
  { ids }: Ports,
  { orgId, requester }: AuthorizationRequest,
  { sealClient }: ProviderAnswer,
): Promise<Author> {
  return {
    orgId,
    actor: {
      type: requester.actor,
      id: requester.principalId,
      ...credentialIds(requester.tokenId),
      client: await sealClient(requester.principalId),
    },
    surface: 'console',
    requestId: ids.newId('req'),
    correlationId: requester.requestId,
    causationId: requester.requestId,
  };
}

const unknownState = (): GatewayError =>
  new GatewayError(
    'not_found',
    'This link was used already, has expired or never existed. If you have just connected the mailbox, nothing is wrong.',
  );

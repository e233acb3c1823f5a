/** One provider's authorization server: discovery, the code grant with PKCE, refresh, revocation. And the registered providers. */
import * as oidc from 'openid-client';
import {
  type MailProvider,
  PROVIDER_CALLBACK_PATH,
  PROVIDER_NAMES,
} from '../../commands/ports/mail-logins.ts';
import type { Clock } from '../../commands/ports/ports.ts';
import { ANSWER_TIMEOUT_MS, createOAuthGuard, guardedFetch } from './guarded-fetch.ts';
import { type OAuthSettings, PROVIDERS } from './providers.ts';
import { AuthorizationResponseError, ResponseBodyError } from 'openid-client';
import { GatewayError } from '../../commands/values/errors.ts';

export interface ProviderClientOptions {
  readonly provider: MailProvider;
  readonly issuer: URL;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUri: string;
  readonly fetch: oidc.CustomFetch;
  readonly clock: Clock;
}

/** Proves that an answer belongs to a request: only this gateway knows all of it. */
export interface Proof {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

export interface Tokens {
  /** Null when the provider issued no new one: the old one stays valid. */
  readonly refreshToken: string | null;
  readonly accessToken: string;
  readonly accessTokenExpiresAt: Date;
}

/** Endpoints and keys change rarely; the library fetches unknown keys automatically. */
const METADATA_TTL_MS = 60 * 60_000;
/** RFC 6749 5.1 makes `expires_in` optional; without it, tokens are renewed often. */
const UNTOLD_LIFETIME_S = 300;
/** Clocks of provider and gateway may differ by this much in the claims of an ID token. */
const CLOCK_TOLERANCE_S = 60;

export const newProof = (): Proof => ({
  state: oidc.randomState(),
  nonce: oidc.randomNonce(),
  codeVerifier: oidc.randomPKCECodeVerifier(),
});

export class ProviderClient {
  readonly #options: ProviderClientOptions;
  #metadata: { readonly until: number; readonly loaded: Promise<oidc.Configuration> } | null = null;

  constructor(options: ProviderClientOptions) {
    this.#options = options;
  }

  /** The page where a person signs in. Throws `mailbox_unavailable` when the provider's metadata cannot be fetched. */
  authorizeUrl({ state, nonce, codeVerifier }: Proof, loginHint: string): Promise<string> {
    const { provider, redirectUri } = this.#options;
    const { scope, parameters } = PROVIDERS[provider];
    return this.#asked(async (configuration) => {
      const url = oidc.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope,
        state,
        nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
        login_hint: loginHint,
        ...parameters,
      });
      return url.href;
    });
  }

  /**
   * Exchanges a code; the ID token's signature, issuer, audience, nonce and times are checked. Throws
   * `mailbox_auth_failed` when the provider refuses it, `mailbox_unavailable` when it does not answer.
   */
  redeem(
    answer: Readonly<Record<string, string>>,
    { state, nonce, codeVerifier }: Proof,
  ): Promise<{ readonly tokens: Tokens; readonly addresses: readonly string[] }> {
    const { provider, redirectUri } = this.#options;
    return this.#asked(async (configuration) => {
      const askedAt = this.#now();
      const url = new URL(redirectUri);
      for (const [name, value] of Object.entries({ ...answer, state })) url.searchParams.set(name, value);
      const granted = await oidc.authorizationCodeGrant(configuration, url, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: codeVerifier,
        idTokenExpected: true,
      });
      const named = PROVIDERS[provider].addressesOf(granted.claims() ?? {});
      const addresses = named.filter((address) => typeof address === 'string');
      return { tokens: tokensOf(granted, askedAt), addresses };
    });
  }

  /** Throws like `redeem`. */
  refresh(refreshToken: string): Promise<Tokens> {
    const { scope, refreshesWithScope } = PROVIDERS[this.#options.provider];
    return this.#asked(async (configuration) => {
      const askedAt = this.#now();
      const parameters = refreshesWithScope ? { scope } : {};
      return tokensOf(await oidc.refreshTokenGrant(configuration, refreshToken, parameters), askedAt);
    });
  }

  /** RFC 7009. False when the provider offers no revocation. Throws `mailbox_unavailable`. */
  revoke(refreshToken: string): Promise<boolean> {
    return this.#asked(async (configuration) => {
      if (configuration.serverMetadata().revocation_endpoint === undefined) return false;
      await oidc.tokenRevocation(configuration, refreshToken, { token_type_hint: 'refresh_token' });
      return true;
    });
  }

  async #asked<T>(work: (configuration: oidc.Configuration) => Promise<T>): Promise<T> {
    try {
      return await work(await this.#configuration());
    } catch (error) {
      throw providerError(error, PROVIDER_NAMES[this.#options.provider]);
    }
  }

  #configuration(): Promise<oidc.Configuration> {
    if (this.#metadata && this.#metadata.until > this.#now()) return this.#metadata.loaded;
    const { issuer, clientId, clientSecret, fetch } = this.#options;
    const loaded = oidc.discovery(
      issuer,
      clientId,
      { client_secret: clientSecret, [oidc.clockTolerance]: CLOCK_TOLERANCE_S },
      oidc.ClientSecretPost(clientSecret),
      {
        [oidc.customFetch]: fetch,
        timeout: ANSWER_TIMEOUT_MS / 1_000,
        execute: [
          oidc.enableNonRepudiationChecks,
          // eslint-disable-next-line @typescript-eslint/no-deprecated -- marked so only to be seen; the guard lets plain requests go to this machine only
          ...(issuer.protocol === 'http:' ? [oidc.allowInsecureRequests] : []),
        ],
      },
    );
    this.#metadata = { until: this.#now() + METADATA_TTL_MS, loaded };
    loaded.catch(() => {
      this.#metadata = null;
    });
    return loaded;
  }

  #now(): number {
    return this.#options.clock.now().getTime();
  }
}

/** The lifetime counts from before the request, so that it ends early rather than late, independent of the server's clock. */
const tokensOf = (answer: oidc.TokenEndpointResponse, askedAt: number): Tokens => ({
  refreshToken: answer.refresh_token ?? null,
  accessToken: answer.access_token,
  accessTokenExpiresAt: new Date(askedAt + (answer.expires_in ?? UNTOLD_LIFETIME_S) * 1_000),
});

/**
 * RFC 6749 5.2 and OpenID Connect Core 3.1.2.6: the account has to consent again. Any other error, even a wrong client
 * secret, says nothing about the mailbox.
 */
const DEFINITE: ReadonlySet<string> = new Set(['invalid_grant', 'interaction_required', 'consent_required']);

const RETRY_SECONDS = 10;

/**
 * `mailbox_auth_failed` when the provider refuses the authorization permanently, else `mailbox_unavailable`. The provider's
 * texts stay out: they may contain addresses.
 */
export function providerError(error: unknown, providerName: string): GatewayError {
  const own = ownError(error);
  if (own) return own;
  const isAnswer = error instanceof ResponseBodyError || error instanceof AuthorizationResponseError;
  if (isAnswer && DEFINITE.has(error.error)) return authorizationRefused(error);
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

/** The library wraps errors of its `fetch`. */
function ownError(error: unknown): GatewayError | null {
  if (error instanceof GatewayError) return error;
  return error instanceof Error && error.cause !== undefined ? ownError(error.cause) : null;
}

/** The providers this gateway is registered at, by its settings. */
export interface ProviderClients {
  /** Throws `operation_unsupported` naming the settings that are missing. */
  of(provider: MailProvider): ProviderClient;
}

/** A client is created on first use, and reads its metadata then. */
export function createProviderClients(
  settings: OAuthSettings,
  { baseUrl, clock }: { readonly baseUrl: string; readonly clock: Clock },
): ProviderClients {
  const named = Object.values(settings).flatMap(({ issuer }) => (issuer === null ? [] : [new URL(issuer)]));
  const fetch = guardedFetch(createOAuthGuard(named));
  const clients = new Map<MailProvider, ProviderClient>();
  return {
    of: (provider) => {
      const { clientId, clientSecret, issuer } = settings[provider];
      if (clientId === null || clientSecret === null) throw notRegistered(provider, clientId === null);
      const known = clients.get(provider);
      if (known) return known;
      const client = new ProviderClient({
        provider,
        clientId,
        clientSecret,
        issuer: new URL(issuer ?? PROVIDERS[provider].issuer),
        redirectUri: `${baseUrl}${PROVIDER_CALLBACK_PATH}`,
        fetch,
        clock,
      });
      clients.set(provider, client);
      return client;
    },
  };
}

function notRegistered(provider: MailProvider, withoutId: boolean): GatewayError {
  const missing = `OAUTH_${provider.toUpperCase()}_CLIENT_${withoutId ? 'ID' : 'SECRET'}`;
  return new GatewayError(
    'operation_unsupported',
    `This gateway is not registered at ${PROVIDER_NAMES[provider]}: an operator has to set ${missing}.`,
    { details: { reason: 'setting_missing', setting: missing } },
  );
}

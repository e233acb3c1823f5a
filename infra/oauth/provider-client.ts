/** One provider's authorization server: discovery, the code grant with PKCE, refreshing, revoking. */
import * as oidc from 'openid-client';
import { type MailProvider, PROVIDER_NAMES } from '../../commands/ports/mail-logins.ts';
import type { Clock } from '../../commands/ports/ports.ts';
import { ANSWER_TIMEOUT_MS } from './guarded-fetch.ts';
import { providerError } from './provider-errors.ts';
import { PROVIDERS } from './providers.ts';

export interface ProviderClientOptions {
  readonly provider: MailProvider;
  readonly issuer: URL;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUri: string;
  readonly fetch: oidc.CustomFetch;
  readonly clock: Clock;
}

/** What proves that an answer belongs to a request: only this gateway knows all of it. */
export interface Proof {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

export interface Tokens {
  /** Null when the provider gave no new one: the old one stays good. */
  readonly refreshToken: string | null;
  readonly accessToken: string;
  readonly accessTokenExpiresAt: Date;
}

/** Endpoints and keys move rarely; the library fetches unknown keys by itself. */
const METADATA_TTL_MS = 60 * 60_000;
/** RFC 6749 5.1 leaves `expires_in` to the server; one that does not tell is asked often. */
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

  /** Where a person signs in. Throws `mailbox_unavailable` when the provider's metadata cannot be had. */
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

/** The lifetime counts from before the question, so that it ends early rather than late, whatever the server's clock says. */
const tokensOf = (answer: oidc.TokenEndpointResponse, askedAt: number): Tokens => ({
  refreshToken: answer.refresh_token ?? null,
  accessToken: answer.access_token,
  accessTokenExpiresAt: new Date(askedAt + (answer.expires_in ?? UNTOLD_LIFETIME_S) * 1_000),
});

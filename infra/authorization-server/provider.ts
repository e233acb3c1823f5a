/**
 * The configuration of oidc-provider: OAuth 2.1 for public and confidential clients, with codes, PKCE and rotated refresh
 * tokens for one resource. What is not needed is off.
 */
import { timingSafeEqual } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import Provider, {
  type Configuration,
  errors,
  interactionPolicy,
  type KoaContextWithOIDC,
} from 'oidc-provider';
import { GRANTABLE_SCOPES } from '../../commands/oauth/oauth-grant.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import { Clients } from '../../read-api/http/clients.ts';
import { pathOf } from '../../read-api/http/oauth-metadata.ts';
import type { GuardedFetch } from '../oauth/guarded-fetch.ts';
import type { SigningKey } from '../security/vault.ts';
import { askedScopes } from './authorization-requests.ts';
import { MOST_DOCUMENT_BYTES } from './client-documents.ts';
import { isDocumentAddress } from './client-metadata.ts';
import { mindAnswer, RESUME_COOKIE, sendPage } from './library-answers.ts';
import { failurePage } from './oauth-pages.ts';
import { outageTold, storedModels, type StoredModelsOptions } from './stored-models.ts';

export interface ProviderOptions extends StoredModelsOptions {
  readonly ports: Pick<Ports, 'attempts' | 'directory' | 'ids' | 'log' | 'personal' | 'server' | 'tokens'>;
  readonly signingKey: SigningKey;
  /** Fetches metadata documents (`client-documents.ts`). */
  readonly fetch: GuardedFetch;
  readonly selfRegistration: boolean;
}

/** `contract.md` 18. */
const ACCESS_TOKEN_SECONDS = 10 * 60;
const CODE_SECONDS = 60;
/** How long a person has to decide. */
const INTERACTION_SECONDS = 10 * 60;
const HOUR_SECONDS = 60 * 60;

const off = { enabled: false };

/** The provider, without routes of its own in the gateway (`oauth-router.ts`). */
export function createProvider(options: ProviderOptions): Provider {
  const { ports, records } = options;
  const { baseUrl } = ports.server;
  const clients = new Clients(ports);
  const consentPages = `${baseUrl}/console#/connect/`;
  const provider = new Provider(baseUrl, {
    ...tokens(options),
    ...clientRules(options),
    adapter: storedModels(options),
    routes: {
      authorization: '/authorize',
      token: '/token',
      registration: '/register',
      revocation: '/revoke',
      jwks: '/jwks',
    },
    cookies: {
      short: { httpOnly: true, sameSite: 'lax', path: `${pathOf(baseUrl)}/oauth` },
      names: { session: '_none', interaction: '_interaction', resume: RESUME_COOKIE },
    },
    // The grant that the person just gave; an earlier one of the same application is another connection.
    loadExistingGrant: async ({ oidc }) => {
      const id = oidc.result?.consent?.grantId;
      return id === undefined ? undefined : await oidc.provider.Grant.find(id);
    },
    findAccount: (_, id) =>
      ports.directory.state.people.has(id) ? { accountId: id, claims: () => ({ sub: id }) } : undefined,
    extraTokenClaims: async ({ oidc }) => {
      const grant = await records.live(oidc.entities.Grant?.jti ?? '');
      if (grant === null) throw new errors.InvalidGrant('the permission has ended');
      return { tid: grant.id, org: grant.orgId };
    },
    interactions: { policy: consentPolicy(), url: (_, { uid }) => `${consentPages}${uid}` },
    renderError: (ctx, { error, error_description: told }) => {
      const description = typeof told === 'string' ? told : 'The request is not valid.';
      const requestId = String(ctx.res.getHeader('Request-Id'));
      sendPage(ctx, failurePage({ code: error, description, requestId }));
    },
    features: features(options, clients),
  });
  provider.proxy = true;
  provider.Client.prototype.compareClientSecret = matchesHash(ports.tokens);
  noteProblems(provider, ports.log);
  provider.use(async (ctx, next) => {
    await next();
    await mindAnswer({ ports, clients, consentPages }, ctx);
  });
  return provider;
}

const epochSeconds = (): number => Math.floor(Date.now() / 1_000);

const tokens = ({ signingKey: { privateKey, kid } }: ProviderOptions): Configuration => ({
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid, alg: 'ES256', use: 'sig' }] },
  enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
  scopes: [],
  claims: {},
  subjectTypes: ['public'],
  expiresWithSession: () => false,
  issueRefreshToken: () => true,
  rotateRefreshToken: true,
  revokeGrantPolicy: () => true,
  acceptQueryParamAccessTokens: false,
  ttl: {
    AccessToken: ACCESS_TOKEN_SECONDS,
    AuthorizationCode: CODE_SECONDS,
    Interaction: INTERACTION_SECONDS,
    Grant: HOUR_SECONDS,
    Session: CODE_SECONDS,
    // As long as what the person allowed.
    RefreshToken: (ctx) => Math.max(1, (ctx.oidc.grant?.exp ?? 0) - epochSeconds()),
  },
});

const clientRules = ({ fetch }: ProviderOptions): Configuration => ({
  responseTypes: ['code'],
  clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post'],
  clientDefaults: {
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    id_token_signed_response_alg: 'ES256',
  },
  pkce: { required: () => true },
  allowOmittingSingleRegisteredRedirectUri: false,
  enableHttpPostMethods: false,
  fetch: fetch as typeof globalThis.fetch,
  fetchResponseBodyLimits: {
    'client_id metadata document': MOST_DOCUMENT_BYTES,
    jwks_uri: 0,
    sector_identifier_uri: 0,
  },
});

/** Every request is decided by a person. `login` and `select_account` may be asked for, and change nothing: the console signs in. */
function consentPolicy(): interactionPolicy.Prompt[] {
  const { Prompt, Check } = interactionPolicy;
  const decided = new Check('decision_needed', 'a person has to decide', 'consent_required', (ctx) => {
    const { oidc } = ctx;
    requireGrantable(ctx.query['scope']);
    // An organisation may have removed it since the request arrived. Nothing is sent there then.
    if (oidc.client?.redirectUriAllowed(String(oidc.params?.['redirect_uri'])) !== true)
      throw new errors.InvalidRedirectUri();
    const id = oidc.result?.consent?.grantId;
    if (id === undefined) return Check.REQUEST_PROMPT;
    const isLive = oidc.account !== undefined && oidc.entities.Grant?.jti === id;
    if (!isLive) throw new errors.AccessDenied('The permission has ended.');
    return Check.NO_NEED_TO_PROMPT;
  });
  return [
    new Prompt({ name: 'login', requestable: true }),
    new Prompt({ name: 'select_account', requestable: true }),
    new Prompt({ name: 'consent', requestable: true }, decided),
  ];
}

/** As it arrives: the library removes `offline_access`. */
function requireGrantable(scope: unknown): void {
  if (typeof scope === 'string' && askedScopes(scope).length === 0)
    throw new errors.InvalidScope('No application may hold what was asked for.', scope);
}

function features(
  { resource, ports, selfRegistration }: ProviderOptions,
  clients: Clients,
): NonNullable<Configuration['features']> {
  const { attempts, ids } = ports;
  return {
    devInteractions: off,
    dPoP: off,
    rpInitiatedLogout: off,
    pushedAuthorizationRequests: off,
    userinfo: off,
    claimsParameter: off,
    clientCredentials: off,
    deviceFlow: off,
    introspection: off,
    registrationManagement: off,
    registration: {
      enabled: selfRegistration,
      idFactory: () => ids.newId('oac'),
      initialAccessToken: false,
      issueRegistrationAccessToken: false,
    },
    revocation: { enabled: true, allowedPolicy: (_, client, token) => token.clientId === client.clientId },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, id) => {
        if (id !== resource) throw new errors.InvalidTarget();
        return {
          scope: GRANTABLE_SCOPES.join(' '),
          audience: resource,
          accessTokenFormat: 'jwt',
          accessTokenTTL: ACCESS_TOKEN_SECONDS,
          jwt: { sign: { alg: 'ES256' } },
        };
      },
    },
    clientIdMetadataDocument: {
      enabled: true,
      ack: 'draft-02',
      cacheDuration: { min: HOUR_SECONDS, max: 24 * HOUR_SECONDS },
      // Counted, because the host that is asked is named by a stranger.
      allowFetch: async (ctx, id) => {
        if (!isDocumentAddress(id)) return false;
        const on = { account: `oauth document from ${clients.networkOf(ctx.req)}`, source: null };
        await outageTold(() => attempts.attempt(on, () => Promise.resolve({})));
        return true;
      },
      allowClient: () => true,
    },
  };
}

/** The client's secret is kept as its SHA-256. */
const matchesHash = (tokens: Ports['tokens']) =>
  function (this: { readonly clientSecret?: string }, given: string): boolean {
    const hash = tokens.hashClientSecret(given);
    const stored = this.clientSecret;
    if (hash === null || stored === undefined) return false;
    return stored.length === hash.length && timingSafeEqual(Buffer.from(stored), Buffer.from(hash));
  };

function noteProblems(provider: Provider, log: Ports['log']): void {
  const refused = (ctx: KoaContextWithOIDC, error: errors.OIDCProviderError): void => {
    log.info('oauth: request refused', {
      request_id: ctx.res.getHeader('Request-Id'),
      error: error.message,
      reason: error.error_detail ?? error.error_description,
    });
  };
  provider.on('server_error', (ctx, error) => {
    log.error('oauth: request failed', {
      request_id: ctx.res.getHeader('Request-Id'),
      error: error.stack ?? String(error),
    });
  });
  // What is thrown outside the library's own handling.
  const emitter = provider as unknown as EventEmitter;
  emitter.on('error', (error: Error) => {
    log.error('oauth: request failed', { error: error.stack ?? String(error) });
  });
  provider.on('authorization.error', refused);
  provider.on('grant.error', refused);
  provider.on('revocation.error', refused);
  provider.on('registration_create.error', refused);
}

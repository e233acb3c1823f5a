/** How an MCP client finds the authorization server: the documents of RFC 9728 and RFC 8414. */
import express, { type RequestHandler, type Router } from 'express';
import { GRANTABLE_SCOPES } from '../../commands/oauth/oauth-grant.ts';
import { PRESETS, type Scope } from '../../commands/values/scopes.ts';

export interface OAuthMetadataOptions {
  readonly baseUrl: string;
  readonly selfRegistration: boolean;
}

/** What an application is advised to ask for: common work with mail, without what cannot be undone. The person narrows it. */
export const ADVISED_SCOPES: readonly Scope[] = PRESETS.operator.filter(
  (scope) => GRANTABLE_SCOPES.includes(scope) && scope !== 'messages:expunge',
);

const RESOURCE = 'oauth-protected-resource';
const SERVER = 'oauth-authorization-server';
/** Where settings change, clients see it soon. */
const CACHED = 'public, max-age=300';

/** The path of `BASE_URL`, without a slash at its end. */
export const pathOf = (baseUrl: string): string => new URL(baseUrl).pathname.replace(/\/$/, '');

/** The address of the metadata of `/mcp`: the well-known part is inserted before the path (RFC 9728 3.1). */
export const resourceMetadataUrl = (baseUrl: string): string =>
  `${new URL(baseUrl).origin}/.well-known/${RESOURCE}${pathOf(baseUrl)}/mcp`;

/** RFC 9728 2. */
const resourceMetadata = ({ baseUrl }: OAuthMetadataOptions): object => ({
  resource: `${baseUrl}/mcp`,
  resource_name: 'Mailbox Gateway',
  authorization_servers: [baseUrl],
  scopes_supported: ADVISED_SCOPES,
  bearer_methods_supported: ['header'],
});

const AUTH_METHODS = ['none', 'client_secret_basic', 'client_secret_post'];

/** RFC 8414 2, RFC 9207 3. */
const serverMetadata = ({ baseUrl, selfRegistration }: OAuthMetadataOptions): object => ({
  issuer: baseUrl,
  authorization_endpoint: `${baseUrl}/oauth/authorize`,
  token_endpoint: `${baseUrl}/oauth/token`,
  revocation_endpoint: `${baseUrl}/oauth/revoke`,
  ...(selfRegistration && { registration_endpoint: `${baseUrl}/oauth/register` }),
  jwks_uri: `${baseUrl}/oauth/jwks`,
  scopes_supported: GRANTABLE_SCOPES,
  response_types_supported: ['code'],
  response_modes_supported: ['query'],
  grant_types_supported: ['authorization_code', 'refresh_token'],
  token_endpoint_auth_methods_supported: AUTH_METHODS,
  revocation_endpoint_auth_methods_supported: AUTH_METHODS,
  code_challenge_methods_supported: ['S256'],
  authorization_response_iss_parameter_supported: true,
  client_id_metadata_document_supported: true,
});

/**
 * A router for `/.well-known`. Each document is at the root, and at the path of what it describes: with the path of `BASE_URL`,
 * and without, as a proxy passes it on that removes that path.
 */
export function oauthMetadata(options: OAuthMetadataOptions): Router {
  const path = pathOf(options.baseUrl);
  const router = express.Router({ caseSensitive: true, strict: true });
  const serve = (name: string, suffixes: readonly string[], document: object): void => {
    router.all(
      [...new Set(suffixes)].map((suffix) => `/${name}${suffix}`),
      told(document),
    );
  };
  serve(RESOURCE, ['', '/mcp', path, `${path}/mcp`], resourceMetadata(options));
  serve(SERVER, ['', path], serverMetadata(options));
  return router;
}

const told =
  (document: object): RequestHandler =>
  (request, response, next) => {
    response.set({ 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': 'Request-Id' });
    if (request.method === 'OPTIONS') {
      response.set({ 'Access-Control-Allow-Methods': 'GET', 'Access-Control-Allow-Headers': '*' });
      response.writeHead(204).end();
    } else if (request.method === 'GET' || request.method === 'HEAD') {
      response.set('Cache-Control', CACHED).json(document);
    } else next();
  };

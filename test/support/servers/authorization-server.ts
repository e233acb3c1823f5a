/** An authorization server on loopback like Google's and Microsoft's: codes, rotated tokens, revocation. */
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { Provider } from 'oidc-provider';

export const CLIENT_ID = 'the-gateway';
export const CLIENT_SECRET = 'a-secret-of-the-gateway';

export interface AuthorizationServerOptions {
  /** The gateway's callback. */
  readonly redirectUri: string;
  readonly accessTokenSeconds?: number;
  /** The provider's claims about the signed-in account; the login is its address. */
  readonly claimsOf?: (login: string) => Readonly<Record<string, unknown>>;
}

/** The fault of the token endpoint instead of an answer. */
export type TokenFault = 'server_error' | 'hang-up' | 'hang-up-after' | 'hold-after' | null;

export class AuthorizationServer {
  readonly issuer: string;
  /** Grants requested at the token endpoint, oldest first. */
  readonly grants: string[] = [];
  fault: TokenFault = null;
  /** Answers that `hold-after` withholds; the provider's work is done. */
  held = 0;
  /** Delay of the token endpoint. */
  delayMs = 0;
  readonly #provider: Provider;
  readonly #server: http.Server;

  constructor(server: http.Server, issuer: string, options: AuthorizationServerOptions) {
    this.#server = server;
    this.issuer = issuer;
    this.#provider = new Provider(issuer, configurationOf(options));
    const answer = this.#provider.callback();
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      if (request.url === '/dovecot') void this.#introspect(request, response);
      else if (request.url === '/token') void this.#token(request, response, answer);
      else void answer(request, response);
    });
  }

  /** For Dovecot: the owner of a token, if it is valid. */
  get introspectionUrl(): string {
    return `${this.issuer}/dovecot`;
  }

  get refreshes(): number {
    return this.grants.filter((grant) => grant === 'refresh_token').length;
  }

  /** The address this access token belongs to; null when it is invalid or has ended. */
  async accountOf(accessToken: string): Promise<string | null> {
    const token = await this.#provider.AccessToken.find(accessToken);
    return token?.accountId ?? null;
  }

  /** An access token without a sign-in. */
  async issueAccessToken(login: string): Promise<string> {
    const client = await this.#provider.Client.find(CLIENT_ID);
    if (!client) throw new Error('the gateway is no client');
    const grant = new this.#provider.Grant({ accountId: login, clientId: CLIENT_ID });
    const grantId = await grant.save();
    const token = new this.#provider.AccessToken({
      accountId: login,
      client,
      grantId,
      gty: 'authorization_code',
      scope: 'openid',
    });
    return await token.save();
  }

  /** Ends one access token early, as a provider may. */
  async endAccessToken(accessToken: string): Promise<void> {
    await (await this.#provider.AccessToken.find(accessToken))?.destroy();
  }

  /** True while the refresh token is valid. */
  async knowsRefreshToken(refreshToken: string): Promise<boolean> {
    return (await this.#provider.RefreshToken.find(refreshToken)) !== undefined;
  }

  /** Revocation by the account's owner, in the account's settings. */
  async revokeGrantOf(refreshToken: string): Promise<void> {
    const token = await this.#provider.RefreshToken.find(refreshToken);
    const grantId = token?.grantId;
    if (grantId === undefined) throw new Error('the refresh token is unknown');
    await this.#provider.RefreshToken.revokeByGrantId(grantId);
    await this.#provider.AccessToken.revokeByGrantId(grantId);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #token(
    request: IncomingMessage,
    response: ServerResponse,
    answer: ReturnType<Provider['callback']>,
  ): Promise<void> {
    const body = await text(request);
    this.grants.push(new URLSearchParams(body).get('grant_type') ?? '');
    await sleep(this.delayMs);
    if (this.fault === 'hang-up') {
      request.socket.destroy();
    } else if (this.fault === 'server_error') {
      response.writeHead(503, { 'content-type': 'application/json' }).end('{"error":"server_error"}');
    } else {
      // The provider has done its work when the answer is lost.
      if (this.fault === 'hang-up-after') response.end = () => response.destroy();
      if (this.fault === 'hold-after') response.end = () => this.#hold(response);
      await answer(Object.assign(request, { body: Object.fromEntries(new URLSearchParams(body)) }), response);
    }
  }

  #hold(response: ServerResponse): ServerResponse {
    this.held += 1;
    return response;
  }

  async #introspect(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const token = new URLSearchParams(await text(request)).get('token') ?? '';
    const username = await this.accountOf(token);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(username === null ? { active: false } : { active: true, username }));
  }
}

/** Starts a server on a free port of loopback. */
export async function startAuthorizationServer(
  options: AuthorizationServerOptions,
): Promise<AuthorizationServer> {
  const server = http.createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return new AuthorizationServer(server, `http://127.0.0.1:${String(port)}`, options);
}

const defaultClaims = (login: string): Readonly<Record<string, unknown>> => ({
  email: login,
  email_verified: true,
  preferred_username: login,
});

function configurationOf({
  redirectUri,
  accessTokenSeconds = 3_600,
  claimsOf = defaultClaims,
}: AuthorizationServerOptions): ConstructorParameters<typeof Provider>[1] {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  return {
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'one', use: 'sig', alg: 'RS256' }] },
    cookies: { keys: ['a-key-of-the-test'] },
    scopes: ['openid', 'offline_access', 'email', 'profile', 'https://mail.google.com/'],
    claims: { email: ['email', 'email_verified'], profile: ['preferred_username'] },
    conformIdTokenClaims: false,
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...claimsOf(id) }) }),
    issueRefreshToken: () => true,
    rotateRefreshToken: true,
    pkce: { required: () => true },
    features: { devInteractions: { enabled: true }, revocation: { enabled: true } },
    ttl: {
      AccessToken: accessTokenSeconds,
      RefreshToken: 86_400,
      Grant: 86_400,
      Session: 3_600,
      Interaction: 600,
      IdToken: 600,
      AuthorizationCode: 60,
    },
  };
}

/** An application that connects by plain HTTP, and the person and browser at its side. */
import { createHash, randomBytes } from 'node:crypto';
import { systemAuthor, decideAndAppend } from '../../../../commands/kernel/decide-and-append.ts';
import { giveOAuthGrant, oauthGrant } from '../../../../commands/oauth/oauth-grant.ts';
import type { Ports } from '../../../../commands/ports/ports.ts';
import type { Scope } from '../../../../commands/values/scopes.ts';
import type { TestGateway } from '../gateway.ts';

export const REDIRECT = 'http://127.0.0.1:51234/callback';

/** The fields of the answers that tests read; an answer has some of them. */
export interface OAuthJson {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly scope: string;
  readonly error: string;
  readonly error_description: string;
  readonly client_id: string;
  readonly client_name: string;
  readonly redirect_uris: readonly string[];
  readonly token_endpoint_auth_method: string;
  readonly consent_token: string;
  readonly resource: string;
  readonly authorization_servers: readonly [string];
  readonly scopes_supported: readonly string[];
  readonly issuer: string;
  readonly registration_endpoint: string;
  readonly jwks_uri: string;
  readonly keys: readonly [object];
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly location: string | null;
  readonly text: string;
  readonly json: OAuthJson;
}

/** One request without following redirects; JSON is parsed. */
export async function ask(url: string, init: RequestInit = {}): Promise<Reply> {
  const answer = await fetch(url, { redirect: 'manual', ...init });
  const text = await answer.text();
  const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true;
  return {
    status: answer.status,
    headers: answer.headers,
    location: answer.headers.get('location'),
    text,
    json: (isJson ? JSON.parse(text) : {}) as OAuthJson,
  };
}

export const form = (fields: Readonly<Record<string, string>>): RequestInit => ({
  method: 'POST',
  body: new URLSearchParams(fields),
});

/** What a browser keeps of a redirect to the console. */
export interface Begun {
  readonly uid: string;
  readonly cookie: string;
}

export interface Decision {
  readonly userId: string;
  readonly orgId: string;
  readonly scopes?: readonly Scope[];
}

export const newVerifier = (): string => randomBytes(32).toString('base64url');

export const challengeOf = (verifier: string): string =>
  createHash('sha256').update(verifier).digest('base64url');

/** A client of the authorization server at `address`; `issuer` is how that server calls itself. */
export class OAuthClient {
  readonly address: string;
  readonly issuer: string;
  clientId: string;
  verifier = newVerifier();

  constructor(
    address: string,
    { issuer = address, clientId = '' }: { issuer?: string; clientId?: string } = {},
  ) {
    this.address = address;
    this.issuer = issuer;
    this.clientId = clientId;
  }

  register(metadata: object): Promise<Reply> {
    return ask(`${this.address}/oauth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(metadata),
    });
  }

  /** Registers, and from then on is that client. */
  async becomeDynamic(name = 'A tool'): Promise<void> {
    const { status, json } = await this.register({ client_name: name, redirect_uris: [REDIRECT] });
    if (status !== 201) throw new Error(`not registered: ${String(status)}`);
    this.clientId = json.client_id;
  }

  /** A new client that has registered itself. */
  static async dynamic(address: string): Promise<OAuthClient> {
    const client = new OAuthClient(address);
    await client.becomeDynamic();
    return client;
  }

  parameters(changes: Readonly<Record<string, string | null>> = {}): URLSearchParams {
    const usual = {
      response_type: 'code',
      client_id: this.clientId,
      redirect_uri: REDIRECT,
      scope: 'messages:read mailboxes:read',
      state: 'the-state',
      code_challenge: challengeOf(this.verifier),
      code_challenge_method: 'S256',
      resource: `${this.issuer}/mcp`,
      ...changes,
    };
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries<string | null>(usual))
      if (value !== null) parameters.set(name, value);
    return parameters;
  }

  authorize(changes: Readonly<Record<string, string | null>> = {}, address = this.address): Promise<Reply> {
    return ask(`${address}/oauth/authorize?${this.parameters(changes).toString()}`);
  }

  /** The browser arrives at the console. */
  async begin(changes: Readonly<Record<string, string | null>> = {}): Promise<Begun> {
    const { location, headers, status, text } = await this.authorize(changes);
    const [, uid] = /#\/connect\/([\w-]+)$/.exec(location ?? '') ?? [];
    if (uid === undefined) throw new Error(`no redirect to the console: ${String(status)} ${text}`);
    const cookie = headers
      .getSetCookie()
      .map((each) => each.split(';', 1)[0])
      .join('; ');
    return { uid, cookie };
  }

  /** The consent token, as the console reads it in that browser. */
  async consentToken({ uid, cookie }: Begun): Promise<string> {
    const { json } = await ask(`${this.address}/oauth/authorize/${uid}/interaction`, { headers: { cookie } });
    return json.consent_token;
  }

  /** Goes on with the address that the decision returned. */
  resume(redirectTo: string, { cookie }: Pick<Begun, 'cookie'>, address = this.address): Promise<Reply> {
    return ask(redirectTo.replace(this.issuer, address), { headers: { cookie } });
  }

  /** From the request to the code, allowed by the person. */
  async code(
    ports: Ports,
    decision: Decision,
    changes: Readonly<Record<string, string | null>> = {},
  ): Promise<{ readonly code: string; readonly grantId: string; readonly answer: URL }> {
    const begun = await this.begin(changes);
    const { redirectTo, grantId } = await allow(ports, await this.consentToken(begun), decision);
    const { location, text } = await this.resume(redirectTo, begun);
    if (location === null) throw new Error(`no code: ${text}`);
    const answer = new URL(location);
    return { code: answer.searchParams.get('code') ?? '', grantId, answer };
  }

  exchange(
    code: string,
    changes: Readonly<Record<string, string>> = {},
    init: RequestInit = {},
  ): Promise<Reply> {
    const usual = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: REDIRECT,
      client_id: this.clientId,
      code_verifier: this.verifier,
    };
    return this.token({ ...usual, ...changes }, init);
  }

  refresh(refreshToken: string, changes: Readonly<Record<string, string>> = {}): Promise<Reply> {
    const usual = { grant_type: 'refresh_token', refresh_token: refreshToken, client_id: this.clientId };
    return this.token({ ...usual, ...changes });
  }

  token(
    fields: Readonly<Record<string, string>>,
    init: RequestInit = {},
    address = this.address,
  ): Promise<Reply> {
    return ask(`${address}/oauth/token`, { ...form(fields), ...init });
  }

  revoke(token: string, changes: Readonly<Record<string, string>> = {}): Promise<Reply> {
    return ask(`${this.address}/oauth/revoke`, form({ token, client_id: this.clientId, ...changes }));
  }

  /** One call of `/mcp`; null = without a token. */
  mcp(token: string | null, address = this.address): Promise<Reply> {
    return ask(`${address}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(token !== null && { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: {
          protocolVersion: '2025-11-25',
          capabilities: {},
          clientInfo: { name: 'test', version: '1' },
        },
      }),
    });
  }
}

/** The person's decision, taken through the port: the grant is given, then the request is answered. */
export async function allow(
  ports: Ports,
  consentToken: string,
  { userId, orgId, scopes }: Decision,
): Promise<{ readonly redirectTo: string; readonly grantId: string }> {
  const request = await ports.authorizationRequests.find(consentToken);
  if (request === null) throw new Error('there is no such request');
  const { id, client } = request;
  const given = scopes ?? request.scopes;
  const grantId = ports.ids.newId('oag');
  const terms = {
    user_id: userId,
    client_id: client.id,
    client_name: client.name ?? 'unnamed',
    client_kind: client.kind,
    redirect_uri: client.redirectUri,
    scopes: [...given],
    mailbox_ids: null,
    expires_at: new Date(ports.clock.now().getTime() + 30 * 24 * 60 * 60_000).toISOString(),
  };
  const { position } = await decideAndAppend(ports, systemAuthor(ports, orgId), oauthGrant, {
    id: grantId,
    decide: (state) => giveOAuthGrant(state, terms),
  });
  if (position !== null) await ports.directory.waitFor(position);
  const decision = { allowed: true, userId, grantId, scopes: given } as const;
  const redirectTo = await ports.authorizationRequests.decide(id, decision);
  if (redirectTo === null) throw new Error('the request is over');
  return { redirectTo, grantId };
}

/** The owner of a test gateway, as the one who decides. */
export function ownerOf({ gateway: { ports }, tokens }: TestGateway): Decision {
  const [member] = [...ports.directory.state.members.values()].filter(({ orgId }) => orgId === tokens.orgId);
  if (member === undefined) throw new Error('the organisation has no member');
  return { userId: member.userId, orgId: member.orgId };
}

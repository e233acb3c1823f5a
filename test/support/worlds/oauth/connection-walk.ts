/** One application from its registration to the end of its connection, with a person who allows it, on processes that die. */
import { expect } from 'chai';
import { BASE_URL } from '../replica-set.ts';
import type { KilledAmid } from './killed-amid.ts';
import { ask, type Begun, OAuthClient, type OAuthJson, REDIRECT, type Reply } from './oauth-client.ts';
import type { Deciding } from './person-deciding.ts';

export const STEPS = ['register', 'authorize', 'decide', 'resume', 'exchange', 'refresh', 'revoke'] as const;
type Step = (typeof STEPS)[number];

/** It registers itself, or the organisation registers it. */
export type WalkKind = 'dynamic' | 'registered';

export interface WalkOptions {
  readonly kill: KilledAmid;
  readonly owner: Deciding;
  readonly kind: WalkKind;
  /** Before this step it waits for all others. */
  readonly stopsAt: Step;
}

/** One kill can interrupt an application once. */
const MOST_ATTEMPTS = 2;

export class ConnectionWalk {
  readonly #options: WalkOptions;
  #hasMet = false;
  #client = new OAuthClient('');
  attempts = 0;
  metAt = 0;
  /** Every access token that it got, and the grant that it names. */
  readonly held: { readonly token: string; readonly grantId: string }[] = [];

  constructor(options: WalkOptions) {
    this.#options = options;
  }

  /** Connects, beginning again where it has to, and disconnects. */
  async finish(): Promise<void> {
    const clientId = await this.#register();
    this.#client = new OAuthClient('', { issuer: BASE_URL, clientId });
    let tokens: OAuthJson | null = null;
    while (tokens === null) {
      expect(this.attempts, 'it begins again in vain').to.be.below(MOST_ATTEMPTS);
      this.attempts += 1;
      tokens = await this.#connect();
    }
    const { access_token: token, refresh_token: refreshToken } = tokens;
    expect((await this.#do(null, (client) => client.mcp(token))).status).to.equal(200);
    const revoked = await this.#do('revoke', (client) => client.revoke(refreshToken));
    expect(revoked.status, revoked.text).to.equal(200);
    expect((await this.#do(null, (client) => client.refresh(refreshToken))).json.error).to.equal(
      'invalid_grant',
    );
  }

  async #register(): Promise<string> {
    const { kind, owner } = this.#options;
    const metadata = { redirect_uris: [REDIRECT] };
    const reply = await this.#do('register', (client) =>
      kind === 'dynamic'
        ? client.register({ client_name: 'A tool', ...metadata })
        : post(`${client.address}/api/v1/org/oauth-clients`, owner, { name: 'Own tool', ...metadata }),
    );
    expect(reply.status, reply.text).to.equal(201);
    return reply.json.client_id;
  }

  /** To tokens that were refreshed once. Null where the connection is over and the application has to begin again. */
  async #connect(): Promise<OAuthJson | null> {
    const code = await this.#code();
    if (code === null) return null;
    const first = this.#tokensOf(await this.#do('exchange', (client) => client.exchange(code)));
    if (first === null) return null;
    return this.#tokensOf(await this.#do('refresh', (client) => client.refresh(first.refresh_token)));
  }

  async #code(): Promise<string | null> {
    const { owner } = this.#options;
    const asked = await this.#do('authorize', (client) => client.authorize());
    const uid = asked.location?.split('/').at(-1) ?? '';
    const [cookie = ''] = asked.headers.getSetCookie().map((each) => each.split(';', 1)[0] ?? '');
    const begun: Begun = { uid, cookie };
    const told = await this.#do(null, (client) =>
      ask(`${client.address}/oauth/authorize/${uid}/interaction`, { headers: { cookie } }),
    );
    const body = {
      consent_token: told.json.consent_token,
      org_id: owner.orgId,
      decision: 'allow',
      scopes: ['mailboxes:read'],
      mailbox_ids: null,
    };
    const decided = await this.#do('decide', ({ address }) =>
      post(`${address}/api/v1/auth/authorization-requests`, owner, body),
    );
    expect(decided.status, decided.text).to.equal(200);
    const { redirect_to: redirectTo } = decided.json as unknown as { redirect_to: string };
    const { location } = await this.#do('resume', (client) => client.resume(redirectTo, begun));
    return location === null ? null : new URL(location).searchParams.get('code');
  }

  #tokensOf({ status, json, text }: Reply): OAuthJson | null {
    if (status !== 200) {
      expect([status, json.error], text).to.deep.equal([400, 'invalid_grant']);
      return null;
    }
    const [, claims = ''] = json.access_token.split('.');
    const { tid } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { tid: string };
    this.held.push({ token: json.access_token, grantId: tid });
    return json;
  }

  async #do(step: Step | null, request: (client: OAuthClient) => Promise<Reply>): Promise<Reply> {
    const { kill, stopsAt } = this.#options;
    if (step === stopsAt && !this.#hasMet) {
      this.#hasMet = true;
      await kill.meet();
      this.metAt = performance.now();
    }
    return await kill.send((address) => {
      const { clientId, verifier } = this.#client;
      const client = new OAuthClient(address, { issuer: BASE_URL, clientId });
      client.verifier = verifier;
      return request(client);
    });
  }
}

const post = (url: string, { bearer }: Deciding, body: object): Promise<Reply> =>
  ask(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

/** What an application holds is what the person chose, and nothing else that is in its hands widens it. */
import { expect } from 'chai';
import type { TestGateway } from '../support/worlds/gateway.ts';
import { verifies } from '../support/suite/verifies.ts';
import { callOf, openSession, rawMcp } from '../support/worlds/mcp/raw-mcp.ts';
import { ask, form, type OAuthClient, REDIRECT } from '../support/worlds/oauth/oauth-client.ts';
import {
  dynamicClient,
  openOAuthStage,
  type OAuthStage,
  registeredClient,
} from '../support/worlds/oauth/oauth-stage.ts';
import { codeOf, connect, decide, type Deciding } from '../support/worlds/oauth/person-deciding.ts';

const REVISION = '2025-06-18';
const ELSEWHERE = 'https://elsewhere.example/mcp';

interface Identity {
  readonly scopes: readonly string[];
  readonly mailboxes: readonly { readonly id: string; readonly scopes: readonly string[] }[];
}

describe('what a connected application holds', function () {
  this.timeout(90_000);
  let stage: OAuthStage;
  let gateway: TestGateway;
  let owner: Deciding;
  let client: OAuthClient;

  before(async () => {
    stage = await openOAuthStage();
    ({ gateway, owner } = stage);
    client = await dynamicClient(stage);
  });
  after(() => gateway.stop());

  const tool = async (bearer: string, name: string, args: object = {}) => {
    const url = `${gateway.baseUrl}/mcp`;
    const headers = await openSession(url, REVISION, bearer);
    const { body, status, headers: told } = await rawMcp(url, { body: callOf(name, args), headers, bearer });
    const { result } = (body ?? {}) as { result?: { structuredContent: unknown; isError?: boolean } };
    return { status, result, challenge: told.get('www-authenticate') ?? '' };
  };

  const identity = async (bearer: string): Promise<Identity> =>
    (await tool(bearer, 'get_identity')).result?.structuredContent as Identity;

  const addMailbox = async (email: string): Promise<string> => {
    const nowhere = { host: '127.0.0.1', port: 1, security: 'none' };
    const auth = { type: 'password', username: 'nobody', password: 'nothing' };
    const sent = { email, imap: nowhere, smtp: nowhere, auth };
    const { status, body } = await gateway.rest('POST', '/mailboxes', sent);
    expect(status).to.equal(201);
    return body.id as string;
  };

  it(`is the mailboxes that were chosen, or all of the person, also later ones ${verifies('contract:20:oauth-grant-scopes')}`, async () => {
    const chosen = await addMailbox('chosen@example.com');
    const limited = await connect(client, owner, { mailbox_ids: [chosen] });
    const whole = await connect(client, owner);
    const later = await addMailbox('later@example.com');
    const ids = async (bearer: string) => (await identity(bearer)).mailboxes.map(({ id }) => id);
    expect(await ids(limited.tokens.access_token)).to.deep.equal([chosen]);
    expect(await ids(whole.tokens.access_token)).to.include.members([chosen, later]);
    const next = await client.refresh(limited.tokens.refresh_token);
    expect(await ids(next.json.access_token)).to.deep.equal([chosen]);
    const strange = await decide(owner, gateway.baseUrl, await client.consentToken(await client.begin()), {
      mailbox_ids: ['mbx_00000000000000000000000000'],
    });
    expect(strange.status).to.equal(404);
  });

  it('is the scopes that were chosen, also for a tool that needs another', async () => {
    const { tokens } = await connect(client, owner, { scopes: ['messages:read', 'mailboxes:read'] });
    const { mailboxes } = await identity(tokens.access_token);
    for (const { scopes } of mailboxes) expect(scopes).to.deep.equal(['messages:read']);
    const acted = await tool(tokens.access_token, 'email_act', {
      operation: {
        type: 'message_actions',
        select: { mailbox_id: mailboxes[0]?.id, folder: 'inbox' },
        actions: [{ type: 'archive' }],
      },
      idempotency_key: 'beyond',
    });
    expect(JSON.stringify(acted)).to.include('insufficient_scope');
    expect(acted.status === 403 || acted.result?.isError === true).to.equal(true);
  });

  it('is for /mcp alone: no other resource is given at any step', async () => {
    const code = async () => (await codeOf(client, owner, await client.begin())).code;
    const exchanged = await client.exchange(await code(), { resource: ELSEWHERE });
    expect([exchanged.status, exchanged.json.error]).to.deep.equal([400, 'invalid_target']);
    const { tokens } = await connect(client, owner);
    const refreshed = await client.refresh(tokens.refresh_token, { resource: `${gateway.baseUrl}/api/v1` });
    expect([refreshed.status, refreshed.json.error]).to.deep.equal([400, 'invalid_target']);
    const both = client.parameters();
    both.append('resource', ELSEWHERE);
    const asked = await ask(`${gateway.baseUrl}/oauth/authorize?${both.toString()}`);
    expect([asked.status, asked.location]).to.deep.equal([400, null]);
  });

  it('is not chosen by naming a parameter twice', async () => {
    for (const [name, second] of [
      ['redirect_uri', 'https://elsewhere.example/'],
      ['client_id', 'oac_00000000000000000000000000'],
      ['code_challenge', 'x'.repeat(43)],
      ['code_challenge_method', 'plain'],
      ['state', 'another'],
      ['scope', 'messages:archive'],
    ] as const) {
      const twice = client.parameters();
      twice.append(name, second);
      const reply = await ask(`${gateway.baseUrl}/oauth/authorize?${twice.toString()}`);
      expect([name, reply.status, reply.location]).to.deep.equal([name, 400, null]);
    }
  });

  it('cannot be traded: tokens of the gateway are nothing here, and codes and tokens not each other', async () => {
    const { tokens, code } = await connect(client, owner);
    const { restToken, mcpToken } = gateway.tokens;
    for (const token of [restToken, mcpToken, owner.bearer, tokens.access_token, 'x', code]) {
      const refreshed = await client.refresh(token);
      expect([refreshed.status, refreshed.json.error]).to.deep.equal([400, 'invalid_grant']);
    }
    for (const token of [restToken, owner.bearer]) await client.revoke(token);
    expect((await gateway.rest('GET', '/identity', undefined, { token: restToken })).status).to.equal(200);
    expect((await gateway.rest('GET', '/auth/session', undefined, { token: owner.bearer })).status).to.equal(
      200,
    );
    for (const token of [tokens.refresh_token, code]) expect((await client.mcp(token)).status).to.equal(401);
    const json = { headers: { 'content-type': 'application/json' }, body: JSON.stringify({ code }) };
    expect((await client.token({}, json)).status).to.equal(400);
    const grants = [
      'client_credentials',
      'password',
      'urn:ietf:params:oauth:grant-type:token-exchange',
      'implicit',
    ];
    for (const grant of grants) {
      const { status, json } = await client.token({ grant_type: grant, client_id: client.clientId });
      expect([grant, status, json.error]).to.deep.equal([grant, 400, 'unsupported_grant_type']);
    }
  });

  it('is not taken by a client with a secret that is not given', async () => {
    const { client: own, secret } = await registeredClient(stage, {
      redirect_uris: [REDIRECT],
      confidential: true,
    });
    const { code } = await codeOf(own, owner, await own.begin());
    for (const given of [{}, { client_secret: 'wrong' }, { client_secret: '' }]) {
      const { status, json } = await own.exchange(code, given);
      expect([status, json.error]).to.deep.equal([401, 'invalid_client']);
    }
    const basic = (text: string) => ({
      headers: { authorization: `Basic ${Buffer.from(`${own.clientId}:${text}`).toString('base64')}` },
    });
    const fields = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: REDIRECT,
      code_verifier: own.verifier,
    };
    expect((await own.token(fields, basic('wrong'))).status).to.equal(401);
    const { status, json, text } = await own.token(fields, basic(secret));
    expect(status, text).to.equal(200);
    const stolen = await own.refresh(json.refresh_token);
    expect(stolen.status).to.equal(401);
    expect((await own.refresh(json.refresh_token, { client_secret: secret })).status).to.equal(200);
  });

  it('is nothing when the organisation deletes the application while the person decides', async () => {
    const { client: own, id } = await registeredClient(stage, { redirect_uris: [REDIRECT] });
    const token = await own.consentToken(await own.begin());
    const path = `/org/oauth-clients/${id}`;
    expect((await gateway.rest('DELETE', path, undefined, { token: owner.bearer })).status).to.equal(204);
    const before = gateway.gateway.ports.directory.state.oauthGrants.size;
    const { status, body } = await decide(owner, gateway.baseUrl, token);
    expect([status, body.error?.code]).to.deep.equal([404, 'not_found']);
    expect(gateway.gateway.ports.directory.state.oauthGrants.size).to.equal(before);
    const asked = await ask(
      `${gateway.baseUrl}/oauth/token`,
      form({ grant_type: 'x', client_id: own.clientId }),
    );
    expect(asked.status).to.be.oneOf([400, 401]);
  });
});

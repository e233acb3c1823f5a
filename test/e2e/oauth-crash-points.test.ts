/** The gateway dies at each write of a connection, in turn: no token without its grant, no grant that nobody can end. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { testDatabase, type TestDatabase } from '../support/servers/postgres.ts';
import type { TestGateway } from '../support/worlds/gateway.ts';
import { DyingServer, type Fate } from '../support/worlds/oauth/dying-server.ts';
import {
  ask,
  type Begun,
  OAuthClient,
  type OAuthJson,
  type Reply,
} from '../support/worlds/oauth/oauth-client.ts';
import { openOAuthStage } from '../support/worlds/oauth/oauth-stage.ts';
import type { Deciding } from '../support/worlds/oauth/person-deciding.ts';

/** More than a whole connection writes. */
const MOST_WRITES = 30;
/** More than one connection adds to the log. */
const MOST_EVENTS = 1_000;

interface Told {
  readonly redirect_to: string;
}

describe('a connection whose gateway dies', function () {
  this.timeout(600_000);
  let folder: string;
  let database: TestDatabase;
  let gateway: TestGateway;
  let owner: Deciding;
  let dying: DyingServer;
  const opened = new AsyncDisposableStack();
  /** The head of the log before the connection. */
  let from: bigint | null = null;
  /** The grants of earlier connections. */
  const settled = new Set<string>();

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-oauth-death-'));
    database = await testDatabase();
    const env = { KEY_FILE: join(folder, 'key') };
    ({ gateway, owner } = await openOAuthStage({ database, env }));
    const { eventStoreUrl, ports } = gateway.gateway;
    const settings = {
      ...env,
      DATA_DIR: join(folder, 'dying'),
      DATABASE_URL: database.url,
      EVENTSTORE_URL: eventStoreUrl,
    };
    dying = await DyingServer.start(ports, settings, opened);
    opened.use(dying);
  });
  after(async () => {
    await opened.disposeAsync();
    await gateway.stop();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });

  /** The same request where it dies, then where it lives, as a client or a person repeats it. */
  const repeated = async (step: (address: string) => Promise<Reply>): Promise<Reply> => {
    if (!dying.isGone()) {
      const reply = await step(dying.address);
      if (!dying.isGone()) return reply;
      // Nobody heard the answer.
      await expectSound();
    }
    return await step(gateway.baseUrl);
  };

  const clientAt = (address: string, { clientId, verifier }: OAuthClient): OAuthClient => {
    const client = new OAuthClient(address, { issuer: gateway.baseUrl, clientId });
    client.verifier = verifier;
    return client;
  };

  const decision = (address: string, token: string): Promise<Reply> =>
    ask(`${address}/api/v1/auth/authorization-requests`, {
      method: 'POST',
      headers: { authorization: `Bearer ${owner.bearer}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        consent_token: token,
        org_id: owner.orgId,
        decision: 'allow',
        scopes: ['mailboxes:read'],
        mailbox_ids: null,
      }),
    });

  /** From the request to the code; null where the application has to begin again. */
  const code = async (client: OAuthClient): Promise<string | null> => {
    const asked = await repeated((address) => clientAt(address, client).authorize());
    const uid = asked.location?.split('/').at(-1) ?? '';
    const [cookie = ''] = asked.headers.getSetCookie().map((each) => each.split(';', 1)[0] ?? '');
    const begun: Begun = { uid, cookie };
    const token = await clientAt(gateway.baseUrl, client).consentToken(begun);
    const decided = await repeated((address) => decision(address, token));
    expect(decided.status, decided.text).to.equal(200);
    const { redirect_to: redirectTo } = decided.json as unknown as Told;
    const answered = await repeated((address) =>
      clientAt(address, client).resume(redirectTo, begun, address),
    );
    return answered.location === null ? null : new URL(answered.location).searchParams.get('code');
  };

  /** Null where the connection is over and the application has to begin again. */
  const tokensOf = (reply: Reply): OAuthJson | null => {
    if (reply.status === 200) return reply.json;
    expect([reply.status, reply.json.error], reply.text).to.deep.equal([400, 'invalid_grant']);
    return null;
  };

  /** To tokens that were refreshed once. */
  const attempt = async (client: OAuthClient): Promise<OAuthJson | null> => {
    const given = await code(client);
    if (given === null) return null;
    const first = tokensOf(await repeated((address) => clientAt(address, client).exchange(given)));
    if (first === null) return null;
    return tokensOf(await repeated((address) => clientAt(address, client).refresh(first.refresh_token)));
  };

  const registered = async (): Promise<OAuthClient> => {
    const client = new OAuthClient(gateway.baseUrl);
    const reply = await repeated((address) =>
      clientAt(address, client).register({
        client_name: 'A tool',
        redirect_uris: ['http://127.0.0.1:51234/callback'],
      }),
    );
    expect(reply.status, reply.text).to.equal(201);
    client.clientId = reply.json.client_id;
    return client;
  };

  const rows = async (): Promise<readonly { grant_id: string; rotation: number | null; model: string }[]> =>
    await gateway.gateway.ports.sql.query(
      'select model, grant_id, rotation from vault.oauth_state where grant_id is not null',
    );

  const eventsOf = async (grantId: string): Promise<readonly string[]> => {
    const stored = await gateway.gateway.ports.events.readStream(`oauthGrant-${grantId}`);
    return stored.map(({ type }) => type);
  };

  const listed = async (): Promise<readonly string[]> => {
    const token = { token: owner.bearer };
    const { body } = await gateway.rest('GET', '/org/connected-applications?limit=100', undefined, token);
    return (body.items as { id: string }[]).map(({ id }) => id);
  };

  /** The refresh tokens that the log knows, since `from`. */
  const rotated = async (): Promise<readonly string[]> => {
    const stored = await gateway.gateway.ports.events.readAll(from, MOST_EVENTS);
    return stored
      .filter(({ type }) => type === 'RefreshTokenRotated')
      .map(({ data }) => data as { grant_id: string; rotation: number })
      .map(({ grant_id: id, rotation }) => `${id} ${String(rotation)}`);
  };

  /** What must hold whenever it died: all that is stored belongs to a grant in the log, and what is not over can be ended. */
  const expectSound = async (): Promise<void> => {
    const known = await rotated();
    for (const { grant_id: id, model, rotation } of await rows()) {
      expect(await eventsOf(id), `${model} of ${id}`).to.include('OAuthGrantGiven');
      if (model === 'RefreshToken') expect(known).to.include(`${id} ${String(rotation)}`);
    }
    const ids = await listed();
    for (const { id } of gateway.gateway.ports.directory.state.oauthGrants.values()) {
      if (settled.has(id)) continue;
      const isOver = (await eventsOf(id)).includes('OAuthGrantEnded');
      expect(ids.includes(id), `${id} is listed`).to.equal(!isOver);
    }
  };

  /** Ends what the person sees, as the person does. */
  const endAll = async (): Promise<void> => {
    for (const id of await listed()) {
      const path = `/org/connected-applications/${id}`;
      const ended = await gateway.rest('DELETE', path, undefined, { token: owner.bearer });
      expect(ended.status).to.equal(204);
    }
  };

  /** Dies there; true when it did, false when the connection was made without that many writes. */
  const survives = async (fate: Fate): Promise<boolean> => {
    from = await gateway.gateway.ports.events.headPosition();
    dying.restart(fate);
    const client = await registered();
    // The application begins again at most once: it is connected in the end.
    const tokens = (await attempt(client)) ?? (await attempt(client));
    expect(tokens, 'it begins again in vain').not.to.equal(null);
    const bearer = tokens?.access_token ?? '';
    const live = clientAt(gateway.baseUrl, client);
    expect((await live.mcp(bearer)).status).to.equal(200);
    const revoked = await repeated((address) =>
      clientAt(address, client).revoke(tokens?.refresh_token ?? ''),
    );
    expect(revoked.status, revoked.text).to.equal(200);
    expect((await live.mcp(bearer)).status).to.equal(401);
    await endAll();
    await expectSound();
    expect(await rows()).to.deep.equal([]);
    for (const id of gateway.gateway.ports.directory.state.oauthGrants.keys()) settled.add(id);
    return dying.isGone();
  };

  for (const isWritten of [false, true])
    it(`goes on or begins again, ${isWritten ? 'after' : 'before'} each of its writes`, async () => {
      let write = 0;
      while (write < MOST_WRITES && (await survives({ write, isWritten }))) write += 1;
      // Registration, request, grant, decision, code, tokens, refresh and end are two or three writes each.
      expect(write).to.be.within(10, MOST_WRITES - 1);
    });
});

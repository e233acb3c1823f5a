import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { loadConfig } from '../../../../infra/process/config.ts';
import { type Gateway, startGateway } from '../../../../infra/process/gateway.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { testDatabase, type TestDatabase } from '../../../support/servers/postgres.ts';
import { startTestGateway, type TestGateway } from '../../../support/worlds/gateway.ts';
import { allow, ask, OAuthClient, ownerOf } from '../../../support/worlds/oauth/oauth-client.ts';

const ISSUER = 'https://mail.example/gw';

describe('Two replicas of an authorization server below a path', () => {
  let database: TestDatabase;
  let first: TestGateway;
  let second: Gateway;
  let dataDir: string;

  before(async () => {
    database = await testDatabase();
    dataDir = await mkdtemp(join(tmpdir(), 'gateway-second-'));
    const KEY_FILE = join(dataDir, 'shared.key');
    first = await startTestGateway({ database, env: { OAUTH_DCR: 'on', BASE_URL: ISSUER, KEY_FILE } });
    const { databaseUrl, eventStoreUrl } = first.gateway;
    second = await startGateway({
      config: loadConfig({
        DATA_DIR: dataDir,
        DATABASE_URL: databaseUrl,
        EVENTSTORE_URL: eventStoreUrl,
        KEY_FILE,
        PORT: '0',
        ROLES: 'api',
        OAUTH_DCR: 'on',
        BASE_URL: ISSUER,
      }),
      log: silentLog,
      strictOutput: true,
    });
  });
  after(async () => {
    await second[Symbol.asyncDispose]();
    await first.stop();
    await database.drop();
    await rm(dataDir, { recursive: true, force: true });
  });

  it('serve any step: request on one, code from the other, token from the first, end by the other', async () => {
    const one = first.gateway.address;
    const other = second.address;
    const client = new OAuthClient(one, { issuer: ISSUER });
    await client.becomeDynamic();
    const { location, headers } = await client.authorize({}, other);
    expect(location).to.match(/^https:\/\/mail\.example\/gw\/console#\/connect\/[\w-]+$/);
    const [cookie = ''] = headers.getSetCookie();
    expect(cookie)
      .to.match(/; path=\/gw\/oauth\/authorize\/[\w-]+;/i)
      .and.to.match(/; secure/i);
    const uid = location?.split('/').at(-1) ?? '';
    const begun = { uid, cookie: cookie.split(';', 1)[0] ?? '' };
    const { redirectTo, grantId } = await allow(
      first.gateway.ports,
      await client.consentToken(begun),
      ownerOf(first),
    );
    expect(redirectTo.startsWith(`${ISSUER}/oauth/authorize/${uid}?decided=`)).to.equal(true);
    const answer = new URL((await client.resume(redirectTo, begun, other)).location ?? 'none:');
    expect(answer.searchParams.get('iss')).to.equal(ISSUER);
    const { json: tokens, status } = await client.exchange(answer.searchParams.get('code') ?? '');
    expect(status).to.equal(200);
    expect((await client.mcp(tokens.access_token, other)).status).to.equal(200);
    const refreshed = await client.token(
      { grant_type: 'refresh_token', refresh_token: tokens.refresh_token, client_id: client.clientId },
      {},
      other,
    );
    expect(refreshed.status).to.equal(200);
    expect((await client.revoke(refreshed.json.refresh_token)).status).to.equal(200);
    expect((await client.mcp(refreshed.json.access_token, other)).status).to.equal(401);
    expect(second.ports.directory.state.oauthGrants.get(grantId)?.revokedAt).to.be.a('string');
  });

  it('are found by addresses with the path inserted', async () => {
    const { headers } = await new OAuthClient(second.address).mcp(null);
    expect(headers.get('www-authenticate')).to.include(
      'resource_metadata="https://mail.example/.well-known/oauth-protected-resource/gw/mcp"',
    );
    const { json } = await ask(`${second.address}/.well-known/oauth-authorization-server/gw`);
    expect(json.issuer).to.equal(ISSUER);
  });
});

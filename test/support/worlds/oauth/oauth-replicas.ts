/** Two gateways on the same stores, at one clock, for connections that any of them serves. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../../../infra/process/config.ts';
import { type Gateway, startGateway } from '../../../../infra/process/gateway.ts';
import { ShiftedClock } from '../../fakes/shifted-clock.ts';
import { silentLog } from '../../fakes/silent-log.ts';
import { testDatabase } from '../../servers/postgres.ts';
import { OAuthClient } from './oauth-client.ts';
import { openOAuthStage, type OAuthStage } from './oauth-stage.ts';

export interface OAuthReplicas extends OAuthStage, AsyncDisposable {
  readonly clock: ShiftedClock;
  /** The other gateway; both are one issuer, that of the first. */
  readonly second: Gateway;
  /** The same application, as it reaches the second gateway: its own address, the common issuer. */
  readonly atSecond: (client: OAuthClient) => OAuthClient;
}

export async function openOAuthReplicas(): Promise<OAuthReplicas> {
  const clock = new ShiftedClock();
  const folder = await mkdtemp(join(tmpdir(), 'gateway-oauth-'));
  const database = await testDatabase();
  const env = { KEY_FILE: join(folder, 'key'), OAUTH_DCR: 'on', LIMIT_SIGN_INS_PER_MINUTE: '1000' };
  const stage = await openOAuthStage({ database, env, clock });
  const { gateway } = stage;
  const config = loadConfig({
    ...env,
    BASE_URL: gateway.baseUrl,
    DATA_DIR: join(folder, 'second'),
    DATABASE_URL: database.url,
    EVENTSTORE_URL: gateway.gateway.eventStoreUrl,
    PORT: '0',
    ROLES: 'api,projector',
    EGRESS_ALLOW_MAIL: '127.0.0.0/8:*',
  });
  const second = await startGateway({ config, log: silentLog, strictOutput: true, clock });
  return {
    ...stage,
    clock,
    second,
    atSecond: (client) => {
      const there = new OAuthClient(second.address, { issuer: gateway.baseUrl, clientId: client.clientId });
      there.verifier = client.verifier;
      return there;
    },
    [Symbol.asyncDispose]: async () => {
      await second[Symbol.asyncDispose]();
      await gateway.stop();
      await database.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

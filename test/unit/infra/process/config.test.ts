import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { describeSettings } from '../../../../infra/process/config-schema.ts';
import { ConfigError, loadConfig } from '../../../../infra/process/config.ts';
import type { Environment } from '../../../../infra/process/config.ts';

function complaints(env: Environment): readonly string[] {
  try {
    loadConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.sentences;
    throw error;
  }
  return [];
}

describe('loadConfig', () => {
  it('requires no setting', () => {
    const config = loadConfig({ DATA_DIR: '/data' });
    expect(config).to.deep.include({
      host: '127.0.0.1',
      port: 3000,
      baseUrl: null,
      database: null,
      eventStoreUrl: null,
    });
    expect(config).to.deep.include({ dataDir: '/data', keyFile: '/data/master.key', mcpTextBlock: true });
    expect(config.mcpRevisions).to.deep.equal(['2025-11-25', '2025-06-18', '2025-03-26']);
    expect(config.limits).to.deep.equal({
      readsPerMinute: 600,
      writesPerMinute: 120,
      concurrentRequests: 20,
      concurrentWaits: 50,
      providerConnections: 4,
      jsonBodyBytes: 1_048_576,
      mcpResultBytes: 98_304,
      sendsPerHour: 30,
      signInsPerMinute: 10,
    });
    expect(config.sendTimes).to.deep.equal({
      retryAfterMs: [60_000, 300_000, 900_000, 1_800_000],
      giveUpAfterMs: 86_400_000,
      judgeAfterMs: 900_000,
      ownCopyWithinMs: 5_000,
    });
  });

  it('defaults to every role', () => {
    expect([...loadConfig({}).roles]).to.deep.equal(['api', 'projector', 'mail', 'webhooks', 'embedded']);
    expect([...loadConfig({ ROLES: 'mail, projector' }).roles]).to.deep.equal(['mail', 'projector']);
  });

  it('gives the event node its usual port when other processes look for it there, else a free one', () => {
    expect(loadConfig({}).storePort).to.equal(0);
    expect(loadConfig({ ROLES: 'embedded' }).storePort).to.equal(2113);
    expect(loadConfig({ ROLES: 'embedded', STORE_PORT: '0' }).storePort).to.equal(0);
    expect(loadConfig({ STORE_PORT: '2200' }).storePort).to.equal(2200);
  });

  it('accepts every setting', () => {
    const config = loadConfig({
      HOST: '0.0.0.0',
      PORT: '8080',
      BASE_URL: 'https://mail.example.com',
      METRICS_HOST: '0.0.0.0',
      METRICS_PORT: '9464',
      KEY_FILE: '/keys/master.key',
      DATABASE_URL: 'postgres://u:p@pooler/db',
      DATABASE_DIRECT_URL: 'postgresql://u:p@server/db',
      EVENTSTORE_URL: 'esdb://a:2113,b:2113?tls=false',
      ALLOWED_ORIGINS: 'https://a.example, http://localhost:8000',
      EGRESS_ALLOW_MAIL: '127.0.0.1/32:*,10.0.0.0/8',
      MCP_TEXT_BLOCK: 'off',
      MCP_2026: 'on',
      LIMIT_READS_PER_MINUTE: '1000000',
    });
    expect(config).to.deep.include({ host: '0.0.0.0', port: 8080, baseUrl: 'https://mail.example.com' });
    expect(config).to.deep.include({
      metricsHost: '0.0.0.0',
      metricsPort: 9464,
      keyFile: '/keys/master.key',
      mcpTextBlock: false,
    });
    expect(config.mcpRevisions).to.deep.equal(['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26']);
    expect(config.database).to.deep.equal({
      url: 'postgres://u:p@pooler/db',
      directUrl: 'postgresql://u:p@server/db',
    });
    expect(config.eventStoreUrl).to.equal('esdb://a:2113,b:2113?tls=false');
    expect(config.allowedOrigins).to.deep.equal(['https://a.example', 'http://localhost:8000']);
    expect(config.egressAllowMail).to.deep.equal(['127.0.0.1/32:*', '10.0.0.0/8']);
    expect(config.limits.readsPerMinute).to.equal(1_000_000);
  });

  const bad: [Environment, RegExp][] = [
    [
      { ROLES: 'api,hooks' },
      /^ROLES must be one or more of api, projector, mail, webhooks, embedded, separated by commas, not "api,hooks"\.$/,
    ],
    [{ ROLES: 'api,' }, /^ROLES must be/],
    [{ STORE_PORT: 'any' }, /^STORE_PORT must be a whole number from 0 to 65535/],
    [
      { ROLES: 'embedded', DATABASE_URL: 'postgres://h/d', EVENTSTORE_URL: 'esdb://h' },
      /^ROLES=embedded leaves nothing to run/,
    ],
    [{ ROLE: 'api' }, /^ROLE is not a setting: did you mean ROLES\?$/],
    [{ PORT: 'http' }, /^PORT must be a whole number from 0 to 65535, not "http"\.$/],
    [{ PORT: '65536' }, /^PORT must be/],
    [{ BASE_URL: 'mail.example.com' }, /^BASE_URL must be an http or https address/],
    [{ BASE_URL: 'https://mail.example.com/' }, /^BASE_URL must be .* without a slash/],
    [
      { METRICS_HOST: 'prometheus' },
      /^METRICS_HOST must be an address of this machine such as 127\.0\.0\.1, 0\.0\.0\.0 or ::, not "prometheus"\.$/,
    ],
    [{ MCP_2026: 'yes' }, /^MCP_2026 must be on or off, not "yes"\.$/],
    [{ MCP_TEXT_BLOCK: 'false' }, /^MCP_TEXT_BLOCK must be on or off, not "false"\.$/],
    [{ LIMIT_WRITES_PER_MINUTE: '0' }, /^LIMIT_WRITES_PER_MINUTE must be a whole number from 1 to/],
    [{ ALLOWED_ORIGINS: 'null' }, /^ALLOWED_ORIGINS must be origins/],
    [{ ALLOWED_ORIGINS: '*' }, /^ALLOWED_ORIGINS must be origins/],
    [{ EGRESS_ALLOW_MAIL: 'localhost' }, /^EGRESS_ALLOW_MAIL must be networks/],
    [{ EGRESS_ALLOW_WEBHOOKS: 'localhost' }, /^EGRESS_ALLOW_WEBHOOKS must be networks/],
    [{ EVENTSTORE_URL: 'http://localhost:2113' }, /^EVENTSTORE_URL must be .* esdb:\/\//],
    [{ DATABASE_DIRECT_URL: 'postgres://h/d' }, /^DATABASE_DIRECT_URL is set without DATABASE_URL/],
    [
      { DATABASE_URL: 'postgres://h/d', DATABASE_URL_FILE: '/f' },
      /^DATABASE_URL and DATABASE_URL_FILE are both set/,
    ],
    [
      { DATABASE_URL_FILE: '/nowhere/at/all' },
      /^DATABASE_URL_FILE names \/nowhere\/at\/all, which cannot be read/,
    ],
    [{ PROT: '80' }, /^PROT is not a setting: did you mean PORT\?$/],
    [{ DATA_DRI: '/d' }, /^DATA_DRI is not a setting: did you mean DATA_DIR\?$/],
    [{ ALOWED_ORIGNS: 'x' }, /did you mean ALLOWED_ORIGINS\?$/],
    [{ GATEWAY_PORT_NUMBER: '80' }, /^GATEWAY_PORT_NUMBER is not a setting of this version\.$/],
    [{ LIMIT_EVERYTHING: '1' }, /^LIMIT_EVERYTHING is not a setting of this version\.$/],
    [{ PORT_FILE: '/f' }, /^PORT_FILE is not a setting: PORT is no secret, set it directly\.$/],
  ];
  for (const [env, sentence] of bad) {
    it(`explains ${Object.keys(env).join(' and ')}=${Object.values(env).join(' ')} in one sentence`, () => {
      const sentences = complaints(env);
      expect(sentences).to.have.length(1);
      expect(sentences[0]).to.match(sentence);
    });
  }

  it('reports every mistake at once', () => {
    const sentences = complaints({ PORT: 'x', PROT: '1', MCP_TEXT_BLOCK: '?', METRICS_PROT: '1' });
    expect(sentences).to.have.length(4);
  });

  it('never repeats a secret', () => {
    expect(complaints({ DATABASE_URL: 'mysql://u:hunter2@h/d' }).join()).not.to.include('hunter2');
  });

  it('ignores variables of other programs', () => {
    const others = {
      HOME: '/root',
      PATH: '/bin',
      HOSTNAME: 'h',
      TERM: 'x',
      PWD: '/',
      NODE_ENV: 'test',
      LOG_FILE: '/l',
    };
    const kubernetes = { METRICS_SERVICE_HOST: '10.0.0.1', EVENTSTORE_PORT_2113_TCP_ADDR: '10.0.0.2' };
    expect(complaints({ ...others, ...kubernetes, EVENTSTORE_TEST_URL: 'esdb://h' })).to.deep.equal([]);
  });

  it('treats an empty variable as not set', () => {
    expect(loadConfig({ PORT: '', DATABASE_URL: '', DATABASE_URL_FILE: '' })).to.deep.include({
      port: 3000,
      database: null,
    });
  });

  it('reads every secret from a file too', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gateway-config-'));
    try {
      const values: Record<string, string> = {
        DATABASE_URL: 'postgres://pooler/db',
        DATABASE_DIRECT_URL: 'postgres://server/db',
        EVENTSTORE_URL: 'esdb://h:2113',
        SYSTEM_SMTP_URL: 'smtp://user:secret@mail:587',
        OAUTH_GOOGLE_CLIENT_SECRET: 'told-by-google',
        OAUTH_MICROSOFT_CLIENT_SECRET: 'told-by-microsoft',
      };
      const secrets = describeSettings().filter(({ secret }) => secret);
      expect(secrets.map(({ name }) => name)).to.deep.equal(Object.keys(values));
      const env: Record<string, string> = {};
      for (const { name } of secrets) {
        env[`${name}_FILE`] = join(folder, name);
        await writeFile(join(folder, name), `${values[name] ?? ''}\n`);
      }
      const config = loadConfig(env);
      expect(config.database).to.deep.equal({
        url: 'postgres://pooler/db',
        directUrl: 'postgres://server/db',
      });
      expect(config.eventStoreUrl).to.equal('esdb://h:2113');
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('describes every setting', () => {
    for (const { name, description, fallback } of describeSettings()) {
      expect(description, name).to.match(/^[A-Z].*\.$/);
      expect(fallback, name).not.to.equal('');
    }
  });
});

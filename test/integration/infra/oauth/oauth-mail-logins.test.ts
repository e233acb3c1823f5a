import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Pool } from 'pg';
import {
  hostsOf,
  type MailLogins,
  PROVIDER_CALLBACK_PATH,
  type ProviderCredentials,
} from '../../../../commands/ports/mail-logins.ts';
import type { MailProvider } from '../../../../commands/ports/mail-logins.ts';
import type { Sql } from '../../../../commands/ports/ports.ts';
import { textOf } from '../../../../commands/ports/statement.ts';
import { createMailLogins } from '../../../../infra/oauth/oauth-mail-logins.ts';
import { createProviderAuthorizations } from '../../../../infra/oauth/provider-authorizations.ts';
import { createProviderClients } from '../../../../infra/oauth/provider-client.ts';
import { openPool, postgresSql } from '../../../../infra/postgres/pool.ts';
import { sealBox } from '../../../../infra/security/sealed-box.ts';
import { createSecrets } from '../../../../infra/security/secrets.ts';
import {
  type AuthorizationServer,
  CLIENT_ID,
  CLIENT_SECRET,
  startAuthorizationServer,
} from '../../../support/servers/authorization-server.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { type TestDatabase, testDatabase } from '../../../support/servers/postgres.ts';
import { ProviderBrowser } from '../../../support/servers/provider-browser.ts';
import { randomKey } from '../../../support/samples/random-key.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const BASE_URL = 'http://127.0.0.1:4';
const IMAP = { host: 'imap.example.com', port: 993, security: 'tls' } as const;
const HOUR_MS = 3_600_000;

/** One process: its own connections and memory, over the same vault and provider. */
interface Replica {
  readonly logins: MailLogins;
  readonly pool: Pool;
}

describe('logins with a provider', function () {
  this.timeout(60_000);
  const masterKey = randomKey();
  let provider: AuthorizationServer;
  let database: TestDatabase;
  let clock: ManualClock;
  let replicas: Replica[];
  let sql: Sql;
  let count = 0;
  let mailbox: { readonly id: string; readonly imap: typeof IMAP; readonly smtp: null };

  const clientsFor = () => {
    const settings = { clientId: CLIENT_ID, clientSecret: CLIENT_SECRET, issuer: provider.issuer };
    return createProviderClients({ google: settings, microsoft: settings }, { baseUrl: BASE_URL, clock });
  };

  const replica = (withSql = (own: Sql): Sql => own): Replica => {
    const pool = openPool({ url: database.url, log: silentLog, size: 4 });
    const clients = clientsFor();
    const logins = createMailLogins({
      secrets: createSecrets(withSql(postgresSql(pool)), masterKey),
      clock,
      refresh: (name, token) => clients.of(name).refresh(token),
    });
    replicas.push({ logins, pool });
    return { logins, pool };
  };

  const authorizations = () =>
    createProviderAuthorizations({ sql, masterKey, clock, clients: clientsFor(), log: silentLog });

  /** Goes through the provider's sign-in; the answer is what it gives. */
  const grant = async (name: MailProvider, login = 'anna@example.com') => {
    const port = authorizations();
    const { authorizeUrl } = await port.begin({
      provider: name,
      orgId: 'org_1',
      mailboxId: mailbox.id,
      email: login,
      hosts: hostsOf(mailbox),
      requester: { principalId: 'usr_1', tokenId: 'tok_1', actor: 'delegated', requestId: 'req_1' },
    });
    const answer = await new ProviderBrowser().signIn(authorizeUrl, login);
    const taken = await port.take(answer.searchParams.get('state') ?? '');
    if (taken === null) throw new Error('the state is unknown');
    const code = answer.searchParams.get('code') ?? '';
    return await port.redeem(taken, { code, iss: answer.searchParams.get('iss') ?? '' });
  };

  const stored = async (): Promise<ProviderCredentials> => {
    const credentials = await createSecrets(sql, masterKey).loadMailCredentials(mailbox.id);
    if (credentials?.kind !== 'oauth2') throw new Error('no tokens are stored');
    return credentials;
  };

  before(async () => {
    provider = await startAuthorizationServer({ redirectUri: `${BASE_URL}${PROVIDER_CALLBACK_PATH}` });
    database = await testDatabase();
    const pool = openPool({ url: database.url, log: silentLog });
    sql = postgresSql(pool);
    replicas = [{ logins: { current: () => Promise.reject(new Error()) }, pool }];
  });
  after(async () => {
    for (const { pool } of replicas) await pool.end();
    await database.drop();
    await provider.stop();
  });
  beforeEach(async () => {
    provider.fault = null;
    provider.delayMs = 0;
    provider.held = 0;
    clock = new ManualClock(new Date().toISOString());
    count += 1;
    mailbox = { id: `mbx_${String(count)}`, imap: IMAP, smtp: null };
    const { tokens } = await grant('google');
    await createSecrets(sql, masterKey).saveMailCredentials(mailbox.id, {
      kind: 'oauth2',
      provider: 'google',
      username: 'anna@example.com',
      hosts: hostsOf(mailbox),
      ...tokens,
    });
    provider.grants.length = 0;
  });

  it('use a token until shortly before its end, and store the next one first', async () => {
    const { logins } = replica();
    const first = await stored();
    clock.advance(HOUR_MS - 100_000);
    expect(await logins.current(mailbox)).to.deep.equal({
      kind: 'oauth2',
      username: 'anna@example.com',
      accessToken: first.accessToken,
    });
    expect(provider.refreshes).to.equal(0);

    clock.advance(40_000);
    const login = await logins.current(mailbox);
    const second = await stored();
    expect(login).to.have.property('accessToken', second.accessToken);
    expect(second.accessToken).not.to.equal(first.accessToken);
    expect(second.refreshToken, 'rotated').not.to.equal(first.refreshToken);
    expect(provider.refreshes).to.equal(1);
  });

  it('renew once for many callers on many processes', async () => {
    provider.delayMs = 100;
    clock.advance(HOUR_MS);
    const processes = [replica(), replica(), replica()];
    const asked = processes.flatMap(({ logins }) =>
      Array.from({ length: 10 }, () => logins.current(mailbox)),
    );
    const tokens = new Set((await Promise.all(asked)).map((login) => JSON.stringify(login)));
    expect(tokens.size).to.equal(1);
    expect(provider.refreshes).to.equal(1);
  });

  it('replace a refused token once for all who received the refusal', async () => {
    const [here, there] = [replica(), replica()];
    const refused = await here.logins.current(mailbox);
    const next = await here.logins.current(mailbox, refused);
    expect(next).not.to.deep.equal(refused);
    expect(await there.logins.current(mailbox, refused)).to.deep.equal(next);
    expect(provider.refreshes).to.equal(1);
  });

  for (const fault of ['server_error', 'hang-up'] as const) {
    it(`wait longer each time when the provider answers with ${fault} ${verifies('contract:4:provider-refusal')}`, async () => {
      const { logins } = replica();
      clock.advance(HOUR_MS);
      provider.fault = fault;
      const failure = await rejection(logins.current(mailbox));
      expect(failure).to.have.property('code', 'mailbox_unavailable');
      expect(failure).to.have.nested.property('details.reason', 'provider_unavailable');
      await rejection(logins.current(mailbox));
      expect(provider.refreshes, 'not asked again at once').to.equal(1);
      clock.advance(1_300);
      await rejection(logins.current(mailbox));
      clock.advance(1_300);
      await rejection(logins.current(mailbox));
      expect(provider.refreshes, 'pauses grow').to.equal(2);
      provider.fault = null;
      clock.advance(2_000);
      expect(await logins.current(mailbox)).to.have.property('kind', 'oauth2');
    });
  }

  it(`stop permanently when the provider refuses permanently ${verifies('contract:4:provider-refusal')}`, async () => {
    const { logins } = replica();
    await provider.revokeGrantOf((await stored()).refreshToken ?? '');
    clock.advance(HOUR_MS);
    for (const process of [logins, logins, replica().logins]) {
      const failure = await rejection(process.current(mailbox));
      expect(failure).to.have.property('code', 'mailbox_auth_failed');
      expect(failure).to.have.nested.property('details.reason', 'authorization_refused');
      clock.advance(HOUR_MS);
    }
    expect(provider.refreshes).to.equal(1);
  });

  it('keep an answer that could not be stored, which has the only valid refresh token', async () => {
    let broken = true;
    const { logins } = replica((own) => ({
      ...own,
      transaction: (work) =>
        own.transaction((inside) =>
          work({
            ...inside,
            query: (text, parameters) => {
              if (broken && textOf(text).startsWith('update')) throw new Error('the connection broke');
              return inside.query(text, parameters);
            },
          }),
        ),
    }));
    clock.advance(HOUR_MS);
    const before = await stored();
    await rejection(logins.current(mailbox));
    expect(await stored()).to.deep.equal(before);
    broken = false;
    clock.advance(2_000);
    const login = await logins.current(mailbox);
    expect(provider.refreshes).to.equal(1);
    const { accessToken, refreshToken } = await stored();
    expect(login).to.have.property('accessToken', accessToken);
    expect(await provider.knowsRefreshToken(refreshToken ?? '')).to.equal(true);
  });

  it('require a new authorization when a rotated token was lost with its process', async () => {
    clock.advance(HOUR_MS);
    provider.fault = 'hang-up-after';
    await rejection(replica().logins.current(mailbox));
    provider.fault = null;
    // The provider takes the second use of one refresh token for theft, and ends the whole grant.
    const failure = await rejection(replica().logins.current(mailbox));
    expect(failure).to.have.property('code', 'mailbox_auth_failed');
  });

  it(`request a new authorization once when a process is killed with the rotated token ${verifies('contract:4:provider-refusal')}`, async () => {
    clock.advance(HOUR_MS);
    provider.fault = 'hold-after';
    const key = masterKey.export().toString('hex');
    const now = clock.now().toISOString();
    const args = [database.url, provider.issuer, key, JSON.stringify(mailbox), now];
    const child = spawn(process.execPath, [join(import.meta.dirname, 'renewing-process.ts'), ...args]);
    try {
      await eventually(() => provider.held === 1);
      provider.fault = null;
      const { logins } = replica();
      const waiting = rejection(logins.current(mailbox));
      await sleep(300);
      expect(provider.refreshes, 'one process asks at a time').to.equal(1);
      child.kill('SIGKILL');
      expect(await waiting).to.have.nested.property('details.reason', 'authorization_refused');
      for (const { logins: others } of [replica(), replica()]) {
        clock.advance(HOUR_MS);
        expect(await rejection(others.current(mailbox))).to.have.property('code', 'mailbox_auth_failed');
      }
      expect(provider.refreshes, 'nobody asks again').to.equal(2);
      expect((await stored()).refreshToken).to.equal(null);
    } finally {
      child.kill('SIGKILL');
    }
  });

  it(`return tokens only for the hosts they were issued for ${verifies('contract:17:provider-auth-field')}`, async () => {
    const { logins } = replica();
    const elsewhere = { ...mailbox, imap: { ...IMAP, host: 'evil.example' } };
    const failure = await rejection(logins.current(elsewhere));
    expect(failure).to.have.nested.property('details.reason', 'authorized_for_other_hosts');
    expect(await rejection(logins.current({ ...mailbox, id: 'mbx_none' }))).to.have.property(
      'code',
      'mailbox_auth_failed',
    );
  });

  it('read passwords in the format before tokens', async () => {
    const old = Buffer.from(JSON.stringify({ username: 'anna', password: 'open' }));
    await sql.query('insert into vault.mail_credentials (mailbox_id, sealed) values ($1, $2)', [
      'mbx_old',
      sealBox(masterKey, old, 'mail_credentials mbx_old'),
    ]);
    const { logins } = replica();
    expect(await logins.current({ ...mailbox, id: 'mbx_old' })).to.deep.equal({
      kind: 'password',
      username: 'anna',
      password: 'open',
    });
  });

  it(`accept the address that a provider attests ${verifies('contract:18:provider-account')}`, async () => {
    expect((await grant('google')).addresses).to.deep.equal(['anna@example.com']);
    expect((await grant('microsoft')).addresses).to.deep.equal(['anna@example.com']);
  });

  it('expire an open authorization after ten minutes and store no readable state', async () => {
    const port = authorizations();
    const request = {
      provider: 'google',
      orgId: 'org_1',
      mailboxId: mailbox.id,
      email: 'anna@example.com',
      hosts: hostsOf(mailbox),
      requester: { principalId: 'usr_1', tokenId: 'tok_1', actor: 'delegated', requestId: 'req_1' },
    } as const;
    const state = new URL((await port.begin(request)).authorizeUrl).searchParams.get('state') ?? '';
    expect(await port.find(state)).to.deep.equal(request);
    const rows = await sql.query('select * from vault.provider_authorization where mailbox_id = $1', [
      mailbox.id,
    ]);
    expect(JSON.stringify(rows)).not.to.contain(Buffer.from(state).toString('hex'));
    clock.advance(10 * 60_000);
    expect(await port.find(state)).to.equal(null);
    expect(await port.take(state)).to.equal(null);
    await port.begin(request);
    const left = await sql.query('select 1 from vault.provider_authorization where mailbox_id = $1', [
      mailbox.id,
    ]);
    expect(left).to.have.length(1);
  });
});

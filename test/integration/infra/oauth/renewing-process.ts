/** A process of its own that asks for the login of a mailbox whose access token has ended; says `renewed` should it get one. */
import { createSecretKey } from 'node:crypto';
import { createMailLogins } from '../../../../infra/oauth/oauth-mail-logins.ts';
import { createProviderClients } from '../../../../infra/oauth/provider-client.ts';
import { openPool, postgresSql } from '../../../../infra/postgres/pool.ts';
import { createSecrets } from '../../../../infra/security/secrets.ts';
import { CLIENT_ID, CLIENT_SECRET } from '../../../support/servers/authorization-server.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';

const [databaseUrl = '', issuer = '', masterKey = '', mailbox = '', now = ''] = process.argv.slice(2);
const clock = new ManualClock(now);
const google = { clientId: CLIENT_ID, clientSecret: CLIENT_SECRET, issuer };
const clients = createProviderClients(
  { google, microsoft: google },
  { baseUrl: 'http://127.0.0.1:4', clock },
);
const sql = postgresSql(openPool({ url: databaseUrl, log: silentLog, size: 2 }));
const logins = createMailLogins({
  secrets: createSecrets(sql, createSecretKey(Buffer.from(masterKey, 'hex'))),
  clock,
  refresh: (name, token) => clients.of(name).refresh(token),
});
await logins.current(JSON.parse(mailbox) as Parameters<typeof logins.current>[0]);
process.stdout.write('renewed\n');

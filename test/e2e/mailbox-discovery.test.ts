/** POST /mailboxes/autodiscovery, before a name server on loopback. */
import dns from 'node:dns';
import { expect } from 'chai';
import { dnsServer, type DnsServer } from '../support/servers/dns-server.ts';
import { type Answer, startTestGateway, type TestGateway } from '../support/worlds/gateway.ts';
import { signInNew } from '../support/worlds/sign-in.ts';
import { verifies } from '../support/suite/verifies.ts';

const srv = (host: string, port: number, priority = 0) =>
  ({ type: 'SRV', priority, weight: 1, port, host }) as const;
const MANY = Array.from({ length: 12 }, (_, index) => srv(`h${String(index)}.many.example`, 993, index));

describe('finding the mail servers of an address', function () {
  this.timeout(120_000);
  let gateway: TestGateway;
  let server: DnsServer;
  const servers = dns.getServers();

  before(async () => {
    server = await dnsServer(
      {
        '_imaps._tcp.named.example': [srv('backup.named.example', 993, 20), srv('imap.named.example', 993, 10)],
        '_imap._tcp.named.example': [srv('.', 0)],
        '_submissions._tcp.named.example': [srv('out.named.example', 465)],
        '_imaps._tcp.many.example': MANY,
        'hosted.example': [{ type: 'MX', priority: 10, host: 'aspmx.l.google.com' }],
        'xn--bcher-kva.example': [{ type: 'MX', priority: 10, host: 'mxext1.mailbox.org' }],
        'none.example': [{ type: 'MX', priority: 0, host: '.' }],
        'mail.none.example': [{ type: 'A', address: '192.0.2.1' }],
        'imap.usual.example': [{ type: 'A', address: '192.0.2.1' }],
        'smtp.usual.example': [{ type: 'A', address: '192.0.2.2' }],
        'imap.slow.example': [{ type: 'A', address: '192.0.2.1' }],
      },
      new Set(['_imaps._tcp.slow.example', 'slow.example']),
    ); // prettier-ignore
    dns.setServers([server.address]);
    gateway = await startTestGateway();
  });
  after(async () => {
    dns.setServers(servers);
    await gateway.stop();
    await server[Symbol.asyncDispose]();
  });

  const discover = (email: string): Promise<Answer> =>
    gateway.rest('POST', '/mailboxes/autodiscovery', { email });

  it(`takes what the domain names, then its provider, then usual names ${verifies('contract:17:route-mailbox-discovery')}`, async () => {
    expect((await discover('anna@named.example')).body).to.deep.equal({
      imap: [
        { host: 'imap.named.example', port: 993, security: 'tls' },
        { host: 'backup.named.example', port: 993, security: 'tls' },
      ],
      smtp: [{ host: 'out.named.example', port: 465, security: 'tls' }],
      provider: null,
      source: 'srv',
    });
    expect((await discover('anna@hosted.example')).body).to.deep.include({
      imap: [{ host: 'imap.gmail.com', port: 993, security: 'tls' }],
      provider: 'gmail',
      source: 'known',
    });
    expect((await discover('anna@Bücher.example')).body).to.deep.include({ provider: 'mailbox_org' });
    expect((await discover('anna@usual.example')).body).to.deep.equal({
      imap: [{ host: 'imap.usual.example', port: 993, security: 'tls' }],
      smtp: [
        { host: 'smtp.usual.example', port: 465, security: 'tls' },
        { host: 'smtp.usual.example', port: 587, security: 'starttls' },
      ],
      provider: null,
      source: 'guess',
    });
    expect((await discover('anna@many.example')).body.imap).to.have.length(5);
    for (const domain of ['none.example', 'unknown.example'])
      expect((await discover(`anna@${domain}`)).body).to.deep.include({ imap: [], smtp: [], source: 'none' });
  });

  it(`asks for the domain alone, so the answer says nothing about the address ${verifies('contract:17:route-mailbox-discovery')}`, async () => {
    server.asked.length = 0;
    const [one, other] = [
      await discover('anna@named.example'),
      await discover('nobody-at-all@named.example'),
    ];
    expect(one.body).to.deep.equal(other.body);
    expect(server.asked.filter((name) => /anna|nobody/.test(name))).to.deep.equal([]);
    expect(server.asked).to.include('_submission._tcp.named.example');
    server.asked.length = 0;
    for (const email of ['a@localhost', 'a@[127.0.0.1]', 'a@10.0.0.1', 'a@a..b'])
      expect((await discover(email)).body.source, email).to.equal('none');
    expect(server.asked).to.deep.equal([]);
    expect((await discover('no address')).status).to.equal(400);
  });

  it(`answers with what it has when the name server is silent ${verifies('contract:17:route-mailbox-discovery')}`, async () => {
    const from = performance.now();
    const { status, body } = await discover('anna@slow.example');
    expect(performance.now() - from).to.be.below(15_000);
    expect(status).to.equal(200);
    expect(body).to.deep.include({ source: 'guess', smtp: [] });
  });

  it(`is a read that needs mailboxes:manage ${verifies('contract:17:route-mailbox-discovery')}`, async () => {
    const member = await signInNew(gateway, 'member');
    const refused = await member.rest('POST', '/mailboxes/autodiscovery', { email: 'anna@named.example' });
    expect(refused.body.error).to.include({ status: 403, code: 'insufficient_scope' });
    const read = await discover('anna@named.example');
    expect(read.headers.get('ratelimit-policy')).to.match(/read/);
  });
});

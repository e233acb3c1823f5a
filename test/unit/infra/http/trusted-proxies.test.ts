import { expect } from 'chai';
import fc from 'fast-check';
import { parseNetwork, trustProxies } from '../../../../infra/http/trusted-proxies.ts';
import { verifies } from '../../../support/suite/verifies.ts';

describe('client address behind proxies', () => {
  const proxies = trustProxies(['10.0.0.0/8', '2001:db8:ffff::/48', '192.0.2.7']);
  const clientOf = (peer: string, forwardedFor?: string, forwarded?: string): string =>
    proxies.clientOf(peer, {
      ...(forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor }),
      ...(forwarded === undefined ? {} : { forwarded }),
    });

  it(`is the right-most address that is not a trusted proxy ${verifies('contract:20:trusted-proxies')}`, () => {
    expect(clientOf('10.0.0.1', '198.51.100.5')).to.equal('198.51.100.5');
    expect(clientOf('10.0.0.1', '6.6.6.6, 198.51.100.5')).to.equal('198.51.100.5');
    expect(clientOf('192.0.2.7', '6.6.6.6, 198.51.100.5, 10.9.9.9')).to.equal('198.51.100.5');
    expect(clientOf('10.0.0.1', '10.0.0.2, 10.0.0.3'), 'only proxies').to.equal('10.0.0.2');
    expect(clientOf('10.0.0.1')).to.equal('10.0.0.1');
  });

  it('is that of the connection when it is not a trusted proxy', () => {
    expect(clientOf('198.51.100.9', '6.6.6.6', 'for=6.6.6.6')).to.equal('198.51.100.9');
    expect(trustProxies([]).clientOf('10.0.0.1', { 'x-forwarded-for': '6.6.6.6' })).to.equal('10.0.0.1');
    expect(clientOf('', '6.6.6.6')).to.equal('');
  });

  it('is read from Forwarded too (RFC 7239)', () => {
    const read = (header: string) => clientOf('10.0.0.1', undefined, header);
    expect(read('for=192.0.2.60;proto=http;by=203.0.113.43')).to.equal('192.0.2.60');
    expect(read('For="[2001:db8:cafe::17]:4711"')).to.equal('2001:db8:cafe::17');
    expect(read('for=6.6.6.6, for="192.0.2.43:80" , for=10.1.1.1;host=x')).to.equal('192.0.2.43');
    expect(read('for=192.0.2.1;host="a\\", for=6.6.6.6"'), 'a quoted comma').to.equal('192.0.2.1');
    expect(read('for=192.0.2.1, for=unknown'), 'no address').to.equal('10.0.0.1');
    expect(read('for=192.0.2.1, for="_hidden", for=10.0.0.2')).to.equal('10.0.0.2');
    expect(read('for=192.0.2.1, by=10.0.0.2')).to.equal('10.0.0.1');
  });

  it('ignores both headers when they differ, because a proxy may forward one unchanged', () => {
    expect(clientOf('10.0.0.1', '198.51.100.5', 'for=198.51.100.5')).to.equal('198.51.100.5');
    expect(clientOf('10.0.0.1', '198.51.100.5', 'for=6.6.6.6')).to.equal('10.0.0.1');
    expect(clientOf('10.0.0.1', '198.51.100.5', 'for="6.6'), 'broken').to.equal('198.51.100.5');
  });

  it('is normalised', () => {
    expect(clientOf('::ffff:10.0.0.1', '::ffff:198.51.100.5')).to.equal('198.51.100.5');
    expect(clientOf('::ffff:198.51.100.9')).to.equal('198.51.100.9');
    expect(clientOf('2001:db8:ffff::1', '[2001:DB8::0:1]:443')).to.equal('2001:db8::1');
    expect(clientOf('10.0.0.1', ' 198.51.100.5:51234 ')).to.equal('198.51.100.5');
    expect(clientOf('fe80::1%eth0')).to.equal('fe80::1');
  });

  it('is always an address, whatever the headers contain', () => {
    for (const hop of ['1', '0x0a000001', '010.0.0.1', '1.2.3', 'a.example', '', '256.1.1.1', '1.2.3.4, ']) {
      expect(clientOf('10.0.0.1', hop), hop).to.equal('10.0.0.1');
    }
    fc.assert(
      fc.property(fc.string(), fc.string(), (older, forwarded) => {
        const client = clientOf('10.0.0.1', older, forwarded);
        expect(parseNetwork(client), client).not.to.equal(null);
      }),
    );
    const long = `for="${'\\"'.repeat(8_000)}`;
    const begin = process.cpuUsage();
    expect(clientOf('10.0.0.1', undefined, long)).to.equal('10.0.0.1');
    expect(process.cpuUsage(begin).user / 1_000).to.be.below(400);
  });

  it('accepts only valid networks as trusted proxies', () => {
    for (const text of ['10.0.0.0/8', '10.0.0.1', '::1', 'fd00::/8', '0.0.0.0/0'])
      expect(parseNetwork(text), text).not.to.equal(null);
    for (const text of ['', '10', '10.0.0.0/33', '10.0.0.0/x', 'proxy.example', 'fd00::/129', '10.0.0.0/8/8'])
      expect(parseNetwork(text), text).to.equal(null);
  });
});

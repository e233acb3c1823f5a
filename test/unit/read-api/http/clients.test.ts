import { expect } from 'chai';
import { networkOf } from '../../../../read-api/http/clients.ts';

describe('networkOf', () => {
  it('is the whole of an IPv4 address, in any notation', () => {
    for (const address of ['192.0.2.1', '::ffff:192.0.2.1']) expect(networkOf(address)).to.equal(address);
  });

  it('is the first half of an IPv6 address', () => {
    const networks = [
      ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
      ['2001:db8::5', '2001:db8:0:0'],
      ['2001:db8:1:2::', '2001:db8:1:2'],
      ['::1', '0:0:0:0'],
      ['fe80::1%eth0', 'fe80:0:0:0'],
    ];
    for (const [address = '', network] of networks) expect(networkOf(address), address).to.equal(network);
  });
});

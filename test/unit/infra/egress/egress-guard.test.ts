import { expect } from 'chai';
import fc from 'fast-check';
import { createEgressGuard, MAIL_EGRESS, WEBHOOK_EGRESS } from '../../../../infra/egress/egress-guard.ts';
import { isAllowed, parseEgressRule } from '../../../../infra/egress/egress-rules.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const allowed = (rules: readonly string[], ip: string, port: number): boolean =>
  isAllowed({ rules: rules.map(parseEgressRule), ports: MAIL_EGRESS.ports }, ip, port);

const closed = [
  '127.0.0.1', '10.1.2.3', '172.16.0.1', '192.168.1.1', '169.254.169.254', '100.64.0.1', '0.0.0.0', '224.0.0.1',
  '255.255.255.255', '192.0.2.1', '::1', '::', 'fe80::1', 'fd00::1', 'ff02::1', '::ffff:127.0.0.1', '::ffff:10.0.0.1',
  '64:ff9b::7f00:1', '2002:7f00:1::', '::7f00:1', '::ffff:0:7f00:1', '4000::1', 'fec0::1',
]; // prettier-ignore

describe('isAllowed', () => {
  for (const ip of closed) {
    it(`keeps ${ip} closed`, () => {
      expect(allowed([], ip, 993)).to.equal(false);
    });
  }

  it(`allows public addresses on the mail ports only ${verifies('contract:18:egress')}`, () => {
    for (const ip of ['8.8.8.8', '2a00:1450:4001:800::1']) {
      for (const port of [25, 143, 465, 587, 993]) expect(allowed([], ip, port)).to.equal(true);
      for (const port of [22, 80, 2525, 8_993]) expect(allowed([], ip, port)).to.equal(false);
    }
    expect(allowed(['8.8.8.0/24:2525'], '8.8.8.8', 2525)).to.equal(true);
  });

  it(`opens a network on the mail ports, on a named port too, and on all ports with * ${verifies('contract:18:egress')}`, () => {
    expect(allowed(['10.0.0.0/8'], '10.9.9.9', 143)).to.equal(true);
    expect(allowed(['10.0.0.0/8'], '10.9.9.9', 1143)).to.equal(false);
    expect(allowed(['10.0.0.0/8:1143'], '10.9.9.9', 1143)).to.equal(true);
    expect(allowed(['10.0.0.0/8:1143'], '10.9.9.9', 993)).to.equal(true);
    expect(allowed(['10.0.0.0/8:1143'], '10.9.9.9', 1144)).to.equal(false);
    expect(allowed(['127.0.0.1/32:*'], '127.0.0.1', 54_321)).to.equal(true);
    expect(allowed(['127.0.0.1/32:*'], '127.0.0.2', 54_321)).to.equal(false);
    expect(allowed(['127.0.0.1'], '::ffff:127.0.0.1', 143)).to.equal(true);
    expect(allowed(['[fd00::/8]:1143'], 'fd12::1', 1143)).to.equal(true);
    expect(allowed(['fd00::/8'], 'fd12::1', 993)).to.equal(true);
    expect(allowed(['fd00::/8'], '10.0.0.1', 993)).to.equal(false);
  });

  it('refuses an invalid network', () => {
    for (const entry of [
      '',
      'localhost',
      '10.0.0.0/33',
      '10.0.0.0/8:0',
      '10.0.0.0/8:99999',
      '10.0.0.0/x',
      '::1:143x',
    ]) {
      expect(() => parseEgressRule(entry), entry).to.throw('is not a network');
    }
  });

  it('treats an IPv4 address and its IPv6 form alike', () => {
    fc.assert(
      fc.property(fc.ipV4(), fc.constantFrom(25, 993, 8_080), (ip, port) => {
        expect(allowed(['10.0.0.0/8:8080'], `::ffff:${ip}`, port)).to.equal(
          allowed(['10.0.0.0/8:8080'], ip, port),
        );
      }),
    );
  });
});

describe('egress guard', () => {
  it('pins the address it tested and keeps the name for TLS', async () => {
    const guard = createEgressGuard([], () => Promise.resolve(['9.9.9.9', '2620:fe::fe']));
    expect(await guard.vet('imap.example.com', 993)).to.deep.equal({
      address: '9.9.9.9',
      isLoopback: false,
      servername: 'imap.example.com',
    });
  });

  it('refuses a name when any of its addresses is closed', async () => {
    const guard = createEgressGuard([], () => Promise.resolve(['9.9.9.9', '127.0.0.1']));
    const error = await rejection(guard.vet('rebind.example.com', 993));
    expect(error).to.have.property('code', 'target_blocked');
  });

  it('takes addresses literally, without a lookup', async () => {
    const guard = createEgressGuard(['127.0.0.0/8'], () => Promise.reject(new Error('must not be asked')));
    expect(await guard.vet('127.0.0.1', 143)).to.deep.equal({ address: '127.0.0.1', isLoopback: true });
    expect(await guard.vet('[2620:fe::fe]', 993)).to.deep.equal({
      address: '2620:fe::fe',
      isLoopback: false,
    });
    for (const host of ['[::1]', '10.0.0.1', '::ffff:10.0.0.1']) {
      expect(await rejection(guard.vet(host, 993))).to.have.property('code', 'target_blocked');
    }
  });

  it(`opens HTTPS alone to webhooks, and other ports by a rule with a port ${verifies('contract:18:egress')}`, async () => {
    const guard = createEgressGuard(['10.0.0.0/8', '127.0.0.1/32:8080'], undefined, WEBHOOK_EGRESS);
    for (const [host, port] of [
      ['8.8.8.8', 443],
      ['10.1.2.3', 443],
      ['127.0.0.1', 8_080],
    ] as const)
      expect((await guard.vet(host, port)).address).to.equal(host);
    for (const [host, port] of [
      ['8.8.8.8', 80],
      ['8.8.8.8', 993],
      ['10.1.2.3', 80],
      ['127.0.0.1', 80],
    ] as const) {
      const error = await rejection(guard.vet(host, port));
      expect(error).to.have.property('code', 'target_blocked');
      expect(error.message).to.include('EGRESS_ALLOW_WEBHOOKS');
    }
  });

  it('names a host that does not resolve', async () => {
    const failing = createEgressGuard([], () => Promise.reject(new Error('ENOTFOUND')));
    const empty = createEgressGuard([], () => Promise.resolve([]));
    for (const guard of [failing, empty]) {
      const error = await rejection(guard.vet('nowhere.example.com', 993));
      expect(error).to.have.property('code', 'mailbox_unavailable');
      expect(error.message).to.include('nowhere.example.com');
    }
  });
});

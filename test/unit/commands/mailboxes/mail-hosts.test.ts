import { expect } from 'chai';
import type { MailRecords, MailService, ServiceRecord } from '../../../../commands/ports/mail-discovery.ts';
import { foundHosts, isHostName } from '../../../../commands/mailboxes/mail-hosts.ts';

const srv = (host: string, port: number, priority = 0, weight = 0): ServiceRecord => ({
  host,
  port,
  priority,
  weight,
});

const records = (
  services: Partial<Record<MailService, readonly ServiceRecord[]>> = {},
  { exchangers = [], resolving = [] }: { exchangers?: readonly string[]; resolving?: readonly string[] } = {},
): MailRecords => ({
  services: { imaps: [], imap: [], submissions: [], submission: [], ...services },
  exchangers,
  resolving: new Set(resolving),
});

const found = (given: MailRecords) => foundHosts('example.com', given);

describe('foundHosts', () => {
  it('takes hosts by priority, then TLS before STARTTLS, then weight', () => {
    const { imap, source } = found(
      records({
        imap: [srv('plain.example.com', 143, 1)],
        imaps: [
          srv('light.example.com', 993, 1, 1),
          srv('heavy.example.com', 993, 1, 9),
          srv('late.example.com', 993, 2, 99),
        ],
        submission: [srv('first.example.com', 587, 0)],
      }),
    );
    expect(imap.map(({ host }) => host.split('.')[0])).to.deep.equal(['heavy', 'light', 'plain', 'late']);
    expect(imap.map(({ security }) => security)).to.deep.equal(['tls', 'tls', 'starttls', 'tls']);
    expect(source).to.equal('srv');
  });

  it('guesses nothing where the domain says that it does not offer the service', () => {
    const resolving = ['imap.example.com', 'smtp.example.com'];
    const answer = found(
      records({ imaps: [srv('', 0)], imap: [srv('', 0)], submissions: [srv('out.example.com', 465)] }, { resolving }),
    ); // prettier-ignore
    expect(answer.imap).to.deep.equal([]);
    expect(answer.smtp).to.deep.equal([{ host: 'out.example.com', port: 465, security: 'tls' }]);
    const onlyTls = found(
      records({ imaps: [srv('in.example.com', 993)], imap: [srv('', 0)] }, { resolving }),
    );
    expect(onlyTls.imap).to.deep.equal([{ host: 'in.example.com', port: 993, security: 'tls' }]);
    expect(onlyTls.smtp[0], 'nothing was said of it').to.include({ host: 'smtp.example.com', port: 465 });
  });

  it('gives at most five, and only names that can be hosts', () => {
    const many = Array.from({ length: 9 }, (_, index) => srv(`h${String(index)}.example.com`, 993, index));
    const { imap } = found(records({ imaps: [srv('10.0.0.1/x', 993), srv('a b', 993), ...many] }));
    expect(imap.map(({ host }) => host)).to.deep.equal(many.slice(0, 5).map(({ host }) => host));
  });

  it('takes those of the provider that takes the mail, also beside named ones', () => {
    const google = { exchangers: ['aspmx.l.google.com'] };
    expect(found(records({}, google))).to.deep.equal({
      imap: [{ host: 'imap.gmail.com', port: 993, security: 'tls' }],
      smtp: [{ host: 'smtp.gmail.com', port: 465, security: 'tls' }],
      provider: 'gmail',
      source: 'known',
    });
    const both = found(records({ imaps: [srv('own.example.com', 993)] }, google));
    expect(both).to.include({ provider: 'gmail', source: 'srv' });
    expect(both.smtp[0]?.host).to.equal('smtp.gmail.com');
    const lookAlike = found(records({}, { exchangers: ['mx.notgoogle.com', 'google.com.example.org'] }));
    expect(lookAlike).to.include({ provider: null, source: 'none' });
    const [personal, business] = ['x.olc.protection.outlook.com', 'x.mail.protection.outlook.com'].map(
      (host) => found(records({}, { exchangers: [host] })).smtp[0]?.host,
    );
    expect([personal, business]).to.deep.equal(['smtp-mail.outlook.com', 'smtp.office365.com']);
  });

  it('guesses usual names that resolve, unless the domain takes no mail', () => {
    const resolving = ['mail.example.com'];
    expect(found(records({}, { resolving }))).to.deep.equal({
      imap: [{ host: 'mail.example.com', port: 993, security: 'tls' }],
      smtp: [
        { host: 'mail.example.com', port: 465, security: 'tls' },
        { host: 'mail.example.com', port: 587, security: 'starttls' },
      ],
      provider: null,
      source: 'guess',
    });
    expect(found(records({}, { resolving, exchangers: [''] })).source).to.equal('none');
    expect(found(records()).source).to.equal('none');
  });

  it('accepts names of at least two labels', () => {
    for (const name of ['example.com', 'xn--bcher-kva.example', '_dmarc.example.com', 'a.b.c'])
      expect(isHostName(name), name).to.equal(true);
    for (const name of [
      'localhost',
      '',
      '-a.example',
      'a..b',
      '10.0.0.1',
      '[127.0.0.1]',
      `${'a'.repeat(250)}.com`,
    ])
      expect(isHostName(name), name).to.equal(false);
  });
});

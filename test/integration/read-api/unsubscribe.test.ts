import { expect } from 'chai';
import { unsubscribeToken } from '../../../commands/accounts/unsubscribe.ts';
import { GatewayError } from '../../../commands/values/errors.ts';
import { verifies } from '../../support/suite/verifies.ts';
import { type RestStage, startRestStage } from '../../support/worlds/rest/rest-stage.ts';

describe('the link that ends mails about approvals', () => {
  let stage: RestStage;
  let url: string;
  let userId: string;

  beforeEach(async () => {
    stage = await startRestStage();
    ({ userId } = stage.memory.org);
    const token = unsubscribeToken(stage.ports.ids, { orgId: stage.memory.org.orgId, userId });
    url = `http://127.0.0.1:${String(stage.server.port)}/unsubscribe/${token}`;
  });
  afterEach(() => stage.server.close());

  const level = () => stage.ports.directory.state.people.get(userId)?.notifications;
  const events = () => stage.memory.events.all.filter(({ type }) => type === 'NotificationsSet');

  it(`shows a button and changes nothing by GET ${verifies('contract:9:unsubscribe')}`, async () => {
    const response = await fetch(url);
    expect(response.status).to.equal(200);
    expect(await response.text()).to.contain('<form method="post">');
    expect(response.headers.get('content-security-policy')).to.match(
      /^default-src 'none'; style-src 'sha256-[^;]+; form-action 'self'/,
    );
    expect(response.headers.get('cache-control')).to.equal('no-store');
    expect(response.headers.get('referrer-policy')).to.equal('no-referrer');
    expect(level()).to.equal('each');
  });

  for (const [what, body] of [
    ['one click', 'List-Unsubscribe=One-Click'],
    ['nothing', ''],
  ] as const) {
    it(`acts by a POST of ${what}, twice as once, without a bearer ${verifies('contract:9:unsubscribe')}`, async () => {
      for (let times = 0; times < 2; times += 1) {
        const response = await fetch(url, {
          method: 'POST',
          headers: { 'content-type': 'application/x-www-form-urlencoded', origin: 'https://mail.example' },
          body,
        });
        expect(response.status).to.equal(200);
        expect(await response.text()).to.contain('No more mails about approvals');
      }
      expect(level()).to.equal('off');
      expect(events().map(({ data }) => data)).to.deep.equal([{ level: 'off', by: 'unsubscribe' }]);
    });
  }

  it('refuses a token of another person, a changed one and one of no account alike', async () => {
    const other = unsubscribeToken(stage.ports.ids, {
      orgId: null,
      userId: 'usr_00000000000000000000000000',
    });
    const base = url.slice(0, url.lastIndexOf('/') + 1);
    const changed = `${url.slice(0, -1)}${url.endsWith('0') ? '1' : '0'}`;
    for (const address of [`${base}${other}`, changed, `${base}x`]) {
      const response = await fetch(address, { method: 'POST' });
      expect(response.status).to.equal(404);
      expect(await response.text()).to.contain('This link is not valid');
    }
    expect(events()).to.deep.equal([]);
  });

  it('is no attempt at a password, because many people share the address of a mail provider', async () => {
    Object.assign(stage.ports.attempts, {
      attempt: () => Promise.reject(new GatewayError('rate_limited', 'Too many attempts.')),
    });
    for (const method of ['GET', 'POST']) expect((await fetch(url, { method })).status, method).to.equal(200);
    expect(level()).to.equal('off');
  });

  it('takes no other method', async () => {
    const response = await fetch(url, { method: 'DELETE' });
    expect([response.status, response.headers.get('allow')]).to.deep.equal([405, 'GET, POST']);
  });
});

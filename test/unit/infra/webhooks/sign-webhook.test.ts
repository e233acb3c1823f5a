import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { newWebhookSecret } from '../../../../infra/security/webhook-secrets.ts';
import { signedHeaders } from '../../../../infra/webhooks/sign-webhook.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const verify = (secret: string, body: string, headers: Record<string, string>): unknown =>
  new Webhook(secret).verify(body, headers);

describe('signatures of webhooks', () => {
  const id = 'evt_01h2xcejqtf2nbrexx3vqjhp41';

  for (const text of ['plain', 'Grüße, 日本語 und 🦉', '\u0000\u2028 "quoted" \\']) {
    it(`verifies with Standard Webhooks over ${JSON.stringify(text)} ${verifies('contract:11:signature')}`, () => {
      const secret = newWebhookSecret();
      const body = JSON.stringify({ type: 'message.received', data: { text } });
      expect(verify(secret, body, signedHeaders({ id, body, secrets: [secret] }, new Date()))).to.deep.equal(
        JSON.parse(body),
      );
    });
  }

  it('has one part per live secret, the newest first, and each verifies alone', () => {
    const secrets = [newWebhookSecret(), newWebhookSecret(), newWebhookSecret()];
    const headers = signedHeaders({ id, body: '{}', secrets }, new Date());
    expect(headers['webhook-signature'].split(' ')).to.have.length(3);
    for (const secret of secrets) expect(verify(secret, '{}', headers)).to.deep.equal({});
    expect(headers['webhook-signature'].split(' ')[0]).to.equal(
      signedHeaders({ id, body: '{}', secrets: secrets.slice(0, 1) }, new Date())['webhook-signature'],
    );
    expect(() => verify(newWebhookSecret(), '{}', headers)).to.throw();
  });

  it('holds for these bytes, this id and this time only', () => {
    const secret = newWebhookSecret();
    const headers = signedHeaders({ id, body: '{"a":1}', secrets: [secret] }, new Date());
    expect(() => verify(secret, '{"a":2}', headers)).to.throw();
    expect(() => verify(secret, '{"a":1}', { ...headers, 'webhook-id': 'evt_other' })).to.throw();
    const earlier = signedHeaders({ id, body: '{"a":1}', secrets: [secret] }, new Date(Date.now() - 600_000));
    expect(() => verify(secret, '{"a":1}', earlier)).to.throw('too old');
  });
});

import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import jwt from 'jsonwebtoken';
import { createTokens } from '../../../../infra/security/jwt-tokens.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import type { KeyObject } from 'node:crypto';
import type { SigningKey } from '../../../../infra/security/vault.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const BASE_URL = 'https://mail.example.com';

function signingKey(kid: string): SigningKey {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { kid, privateKey, publicKey: createPublicKey(privateKey), retired: false };
}

describe('an access token', () => {
  const key = signingKey('k1');
  let clock: ManualClock;
  let tokens: ReturnType<typeof createTokens>;

  beforeEach(() => {
    clock = new ManualClock();
    tokens = createTokens({ baseUrl: BASE_URL, signingKeys: [key], clock });
  });

  const issue = (scopes: readonly string[] = ['messages:read', 'messages:move']) =>
    tokens.signAccessToken({
      tokenId: 'tok_1',
      subject: 'agt_1',
      orgId: 'org_1',
      scopes,
      issuedAt: clock.now(),
      expiresAt: new Date(clock.now().getTime() + 3_600_000),
    });
  const now = () => Math.floor(clock.now().getTime() / 1000);
  const claims = (changes: Record<string, unknown> = {}) => ({
    iss: BASE_URL,
    aud: `${BASE_URL}/mcp`,
    sub: 'agt_1',
    org: 'org_1',
    tid: 'tok_1',
    jti: 'j',
    scope: '',
    iat: now(),
    exp: now() + 60,
    ...changes,
  });
  // A claim set to undefined is left out.
  const forge = (payload: object, header: object = {}, signWith: KeyObject = key.privateKey) =>
    jwt.sign(JSON.parse(JSON.stringify(payload)) as object, signWith, {
      algorithm: 'ES256',
      header: { alg: 'ES256', typ: 'at+jwt', kid: 'k1', ...header },
    });

  it(`carries the claims of the contract ${verifies('contract:2:jwt-form')}`, async () => {
    const token = await issue();
    const { header, payload } = jwt.decode(token, { complete: true }) ?? {};
    expect(header).to.deep.equal({ alg: 'ES256', typ: 'at+jwt', kid: 'k1' });
    expect(payload).to.deep.include({
      iss: BASE_URL,
      aud: `${BASE_URL}/mcp`,
      sub: 'agt_1',
      org: 'org_1',
      tid: 'tok_1',
    });
    expect(payload).to.deep.include({ scope: 'messages:read messages:move', iat: now(), exp: now() + 3600 });
    expect(payload)
      .to.have.property('jti')
      .that.matches(/^[0-9a-f-]{36}$/);
  });

  it('verifies to what was signed', async () => {
    expect(await tokens.verifyAccessToken(await issue())).to.deep.equal({
      tokenId: 'tok_1',
      subject: 'agt_1',
      orgId: 'org_1',
      scopes: ['messages:read', 'messages:move'],
      audience: [`${BASE_URL}/mcp`],
      issuedAt: clock.now(),
      expiresAt: new Date(clock.now().getTime() + 3_600_000),
    });
    expect((await tokens.verifyAccessToken(await issue([]))).scopes).to.deep.equal([]);
  });

  it('accepts either audience of this gateway, among others too', async () => {
    for (const aud of [`${BASE_URL}/api/v1`, ['https://other.example', `${BASE_URL}/mcp`]]) {
      expect((await tokens.verifyAccessToken(forge(claims({ aud })))).audience).to.deep.equal([aud].flat());
    }
  });

  const refused: Record<string, () => string> = {
    'another audience': () => forge(claims({ aud: 'https://other.example/mcp' })),
    'no audience': () => forge(claims({ aud: undefined })),
    'another issuer': () => forge(claims({ iss: 'https://other.example' })),
    'another type': () => forge(claims(), { typ: 'JWT' }),
    'an unknown key id': () => forge(claims(), { kid: 'k2' }),
    'a foreign key under a known key id': () => forge(claims(), {}, signingKey('k1').privateKey),
    'a start in the future': () => forge(claims({ nbf: now() + 600 })),
    'no expiry': () => forge(claims({ exp: undefined })),
    'a missing claim': () => forge(claims({ tid: undefined })),
    'no signature': () => forge(claims()).replace(/[^.]*$/, ''),
    'algorithm none': () =>
      jwt.sign(claims(), '', { algorithm: 'none', header: { alg: 'none', typ: 'at+jwt', kid: 'k1' } }),
    'the public key as an HMAC secret': () =>
      jwt.sign(claims(), String(key.publicKey.export({ format: 'pem', type: 'spki' })), {
        header: { alg: 'HS256', typ: 'at+jwt', kid: 'k1' },
      }),
    'text that is not a JWT': () => 'x',
    'a broken payload': () =>
      `${Buffer.from('{"alg":"ES256","typ":"JWT","kid":"k1"}').toString('base64url')}.YQ.YQ`,
  };
  for (const [what, make] of Object.entries(refused)) {
    it(`refuses ${what}`, async () => {
      expect(await rejection(tokens.verifyAccessToken(make()))).to.include({ code: 'unauthenticated' });
    });
  }

  it('expires to the second, even when it was verified before', async () => {
    const token = await issue();
    clock.advance(3_599_000);
    await tokens.verifyAccessToken(token);
    clock.advance(1_000);
    expect(await rejection(tokens.verifyAccessToken(token))).to.include({ code: 'token_expired' });
    const fresh = createTokens({ baseUrl: BASE_URL, signingKeys: [key], clock });
    expect(await rejection(fresh.verifyAccessToken(token))).to.include({ code: 'token_expired' });
  });

  it('refuses an altered token when the original was verified before', async () => {
    const token = await issue();
    await tokens.verifyAccessToken(token);
    const [header, , signature] = token.split('.');
    const other = Buffer.from(JSON.stringify(claims({ org: 'org_2' }))).toString('base64url');
    const altered = [header, other, signature].join('.');
    expect(await rejection(tokens.verifyAccessToken(altered))).to.include({ code: 'unauthenticated' });
  });

  it('stays valid when its key is retired', async () => {
    const token = await issue();
    const next = createTokens({
      baseUrl: BASE_URL,
      signingKeys: [signingKey('k2'), { ...key, retired: true }],
      clock,
    });
    expect((await next.verifyAccessToken(token)).tokenId).to.equal('tok_1');
  });
});

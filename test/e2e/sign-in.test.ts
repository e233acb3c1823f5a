/** Signing in, end to end: links, passwords, sessions and what they may do. */
import { expect } from 'chai';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { signInOwner, type SignedInPerson } from '../support/sign-in.ts';

describe('signing in', () => {
  let gateway: TestGateway;
  let owner: SignedInPerson;

  before(async () => {
    gateway = await startTestGateway();
    owner = await signInOwner(gateway);
  });
  after(() => gateway.stop());

  it('tells who is signed in', async () => {
    const { status, body } = await owner.rest('GET', '/auth/session');
    expect(status).to.equal(200);
    expect(body).to.deep.include({ id: owner.sessionId, role: 'owner' });
  });
});

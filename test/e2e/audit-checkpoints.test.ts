import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { isSignedBy, readVkey } from '../../commands/audit/signed-note.ts';
import { publicKeysOf } from '../../infra/audit/seal-keys.ts';
import { eventually, type Json, startTestGateway, type TestGateway } from '../support/worlds/gateway.ts';
import { type SignedInPerson, signInNew } from '../support/worlds/sign-in.ts';
import { verifies } from '../support/suite/verifies.ts';

describe('checkpoints of the audit trail', function () {
  this.timeout(120_000);
  let gateway: TestGateway;
  let orgId: string;
  let auditor: SignedInPerson;

  before(async () => {
    gateway = await startTestGateway();
    orgId = (await gateway.rest('GET', '/org')).body.id as string;
    auditor = await signInNew(gateway, 'auditor');
    // The notice of the sign-in is sent in the background.
    await eventually(async () => {
      const { body } = await gateway.rest('GET', '/audit?type=SystemMailAttempted');
      expect(body.items).to.have.length(1);
    });
  });

  after(async () => {
    await gateway.stop();
  });

  const textOf = async (path: string): Promise<string> => {
    const answer = await fetch(`${gateway.baseUrl}/api/v1${path}`, {
      headers: { authorization: `Bearer ${gateway.tokens.restToken}`, accept: 'text/plain' },
    });
    expect(answer.headers.get('content-type')).to.match(/^text\/plain/);
    return await answer.text();
  };

  it(`are signed on demand, listed and read ${verifies('contract:17:audit-checkpoints')}`, async () => {
    const made = await auditor.rest('POST', '/audit/checkpoints', {});
    expect(made.status).to.equal(201);
    const { size, note, origin } = made.body;
    expect(made.body).to.include({ trail: orgId, epoch: 1 });
    const [publicKey = new Uint8Array(32)] = await publicKeysOf(gateway.gateway.ports.sql, orgId);
    expect(isSignedBy(note as string, { name: origin as string, publicKey })).to.equal(true);
    const repeated = await auditor.rest('POST', '/audit/checkpoints', {});
    expect([repeated.status, repeated.body.size]).to.deep.equal([200, size]);
    const listed = await gateway.rest('GET', '/audit/checkpoints?limit=1');
    expect(listed.body.items).to.deep.equal([made.body]);
    for (const which of ['latest', String(size)]) {
      expect((await gateway.rest('GET', `/audit/checkpoints/${which}`)).body).to.deep.equal(made.body);
    }
    expect(await textOf('/audit/checkpoints/latest')).to.equal(note);
    expect((await gateway.rest('GET', '/audit/checkpoints/1')).status).to.equal(404);
  });

  it(`show when each line was sealed, and prove a line and the growth of the trail ${verifies('contract:17:audit-proofs')}`, async () => {
    await auditor.rest('POST', '/audit/checkpoints', {});
    const listed = await gateway.rest('GET', '/audit?order=asc&limit=200');
    const { items, sealed_through: through } = listed.body as { items: Json[]; sealed_through: number };
    expect(through).to.be.at.least(5);
    const [, , third] = items;
    const { body: line } = await gateway.rest('GET', `/audit/${third.id as string}`);
    expect(line.seal.size).to.be.at.least(3);
    const proof = await textOf(`/audit/${third.id as string}/proof`);
    const [head = '', note = ''] = proof.split(/\n\n(.*)/s);
    const [version, index, ...path] = head.split('\n');
    expect([version, index]).to.deep.equal(['c2sp.org/tlog-proof@v1', 'index 2']);
    const size = Number(note.split('\n')[1]);
    expect(rootFrom(2, size, third.hash as string, path)).to.equal(note.split('\n')[2]);
    const grown = await gateway.rest('GET', `/audit/checkpoints/consistency?from=3&to=${String(through)}`);
    expect(grown.body.from.size).to.equal(3);
    expect(grown.body.hashes).to.have.length.above(0);
    const same = await gateway.rest('GET', '/audit/checkpoints/consistency?from=4&to=4');
    expect(same.body.hashes).to.deep.equal([]);
    expect(same.body.from).to.deep.equal(same.body.to);
    for (const range of ['from=4&to=3', 'from=1&to=99999', 'from=0&to=1']) {
      expect((await gateway.rest('GET', `/audit/checkpoints/consistency?${range}`)).status).to.equal(400);
    }
    const { body: keys } = await gateway.rest('GET', '/audit/keys');
    expect(keys.items).to.have.length(1);
    expect(keys.items[0]).to.include({ status: 'active', from_size: 0 });
    expect(
      isSignedBy(note, readVkey(keys.items[0].vkey as string) ?? { name: '', publicKey: new Uint8Array(32) }),
    ).to.equal(true);
  });

  it(`are compared with the whole log when somebody asks ${verifies('contract:17:audit-verifications')}`, async () => {
    const before = await gateway.rest('GET', '/audit/verifications');
    expect(before.body).to.include({ state: 'none', requested_at: null });
    const asked = await auditor.rest('POST', '/audit/verifications', {});
    expect(asked.status).to.equal(202);
    // As if the last one were an hour ago.
    await gateway.gateway.ports.sql.query(
      `update vault.audit_verification set started_at = now() - interval '2 hours'`,
    );
    await eventually(async () => {
      const { body } = await gateway.rest('GET', '/audit/verifications');
      expect(body).to.include({ state: 'verified', requested_at: null });
      expect(body.size).to.be.at.least(asked.body.size as number);
    });
    await eventually(async () => {
      const { body } = await gateway.rest('GET', '/audit?type=AuditVerified');
      expect(body.items).to.have.length(1);
    });
  });
});

/** The root over the path of a leaf (RFC 9162 2.1.3.2), written from the RFC alone. */
function rootFrom(index: number, size: number, leaf: string, path: readonly string[]): string {
  let [at, last] = [index, size - 1];
  let root: Buffer = Buffer.from(leaf, 'base64');
  const over = (...parts: readonly Buffer[]): Buffer =>
    createHash('sha256')
      .update(Buffer.concat([Buffer.of(1), ...parts]))
      .digest();
  for (const hash of path.map((text) => Buffer.from(text, 'base64'))) {
    if (at % 2 === 1 || at === last) {
      root = over(hash, root);
      while (at % 2 === 0 && at !== 0) [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
    } else root = over(root, hash);
    [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  }
  return last === 0 ? root.toString('base64') : 'the path has another length';
}

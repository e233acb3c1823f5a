/** A connection is one thing for every replica: each serves any step, and an end on one holds on all. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { eventually } from '../support/worlds/gateway.ts';
import { callOf, openSession, rawMcp, rpc } from '../support/worlds/mcp/raw-mcp.ts';
import { type OAuthClient, REDIRECT } from '../support/worlds/oauth/oauth-client.ts';
import { openOAuthReplicas, type OAuthReplicas } from '../support/worlds/oauth/oauth-replicas.ts';
import { dynamicClient, registeredClient } from '../support/worlds/oauth/oauth-stage.ts';
import { connect, type Connected, decide } from '../support/worlds/oauth/person-deciding.ts';
import { verifies } from '../support/suite/verifies.ts';
import { signInNew } from '../support/worlds/sign-in.ts';

const REVISION = '2025-06-18';
const OVER_GRACE_MS = 31_000;
/** An end on one replica holds on the other within this time. */
const WITHIN_MS = 1_000;

describe('connections of applications on two replicas', function () {
  this.timeout(120_000);
  let dovecot: TestDovecot;
  let replicas: OAuthReplicas;
  let mailboxId: string;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    replicas = await openOAuthReplicas();
    mailboxId = await replicas.gateway.addMailbox(dovecot.imap(), 'anna');
  });
  after(async () => {
    await replicas[Symbol.asyncDispose]();
    await dovecot.dispose();
  });

  const endOf = async (grantId: string): Promise<string | undefined> => {
    const stored = await replicas.gateway.gateway.ports.events.readStream(`oauthGrant-${grantId}`);
    const end = stored.find(({ type }) => type === 'OAuthGrantEnded');
    return (end?.data as { reason: string } | undefined)?.reason;
  };

  const connected = async (): Promise<Connected & { client: OAuthClient; there: OAuthClient }> => {
    const client = await dynamicClient(replicas);
    const tokens = await connect(client, replicas.owner);
    return { ...tokens, client, there: replicas.atSecond(client) };
  };

  /** Asked until the second is over; what is asked after it has to be refused. */
  const refusedInTime = async (at: OAuthClient, token: string): Promise<void> => {
    const until = performance.now() + WITHIN_MS;
    for (let isLate = false; ;) {
      const { status } = await at.mcp(token);
      if (status === 401) return;
      if (isLate) throw new Error(`an access token is answered ${String(status)}`);
      await delay(25);
      isLate = performance.now() > until;
    }
  };

  /** Nothing of the connection is good on any replica. */
  const expectOver = async (
    { client, there }: { client: OAuthClient; there: OAuthClient },
    { accessTokens, refreshTokens }: { accessTokens: readonly string[]; refreshTokens: readonly string[] },
  ): Promise<void> => {
    for (const at of [client, there]) {
      for (const token of accessTokens) await refusedInTime(at, token);
      for (const token of refreshTokens) {
        const { status, json } = await at.refresh(token);
        expect([status, json.error]).to.deep.equal([400, 'invalid_grant']);
      }
    }
  };

  it('go on step by step on either', async () => {
    const here = await dynamicClient(replicas);
    const there = replicas.atSecond(here);
    const begun = await there.begin();
    const token = await here.consentToken(begun);
    const { body } = await decide(replicas.owner, there.address, token);
    const { location } = await here.resume(body.redirect_to as string, begun);
    const code = new URL(location ?? '').searchParams.get('code') ?? '';
    const first = await there.exchange(code);
    expect(first.status, first.text).to.equal(200);
    const next = await here.refresh(first.json.refresh_token);
    expect(next.status, next.text).to.equal(200);
    expect((await there.mcp(next.json.access_token)).status).to.equal(200);
    expect((await there.revoke(next.json.refresh_token)).status).to.equal(200);
    await expectOver(
      { client: here, there },
      {
        accessTokens: [first.json.access_token, next.json.access_token],
        refreshTokens: [first.json.refresh_token, next.json.refresh_token],
      },
    );
    expect(await endOf(body.connected_application_id as string)).to.equal('revoked_by_application');
  });

  it('get tokens for a code once, however many ask on both at once', async () => {
    for (let round = 0; round < 3; round += 1) {
      const client = await dynamicClient(replicas);
      const there = replicas.atSecond(client);
      const begun = await client.begin();
      const { body } = await decide(replicas.owner, client.address, await client.consentToken(begun));
      const { location } = await client.resume(body.redirect_to as string, begun);
      const code = new URL(location ?? '').searchParams.get('code') ?? '';
      const answers = await Promise.all([client, there, client, there].map((at) => at.exchange(code)));
      const given = answers.filter(({ status }) => status === 200).map(({ json }) => json);
      expect(given.length).to.be.at.most(1);
      for (const { status, json } of answers)
        if (status !== 200) expect([status, json.error]).to.deep.equal([400, 'invalid_grant']);
      // Somebody else has the code too: the connection is over, for whoever was first.
      await expectOver(
        { client, there },
        {
          accessTokens: given.map((each) => each.access_token),
          refreshTokens: given.map((each) => each.refresh_token),
        },
      );
      expect(await endOf(body.connected_application_id as string)).to.equal('code_reused');
    }
  });

  it(`stay one family when both refresh at once, and end with a token used again after 30 s ${verifies('contract:18:oauth-tokens')}`, async () => {
    const { client, there, tokens, grantId } = await connected();
    const raced = await Promise.all([client, there, client].map((at) => at.refresh(tokens.refresh_token)));
    for (const { status, text } of raced) expect(status, text).to.equal(200);
    const [one, two, three] = raced.map(({ json }) => json);
    if (!one || !two || !three) throw new Error('three answers were asked for');
    const next = await there.refresh(one.refresh_token);
    expect(next.status).to.equal(200);
    // The sibling was made from the same token: within the grace it is a lost answer, after it a theft.
    replicas.clock.advance(OVER_GRACE_MS);
    expect((await client.mcp(next.json.access_token)).status).to.equal(200);
    const late = await client.refresh(two.refresh_token);
    expect([late.status, late.json.error]).to.deep.equal([400, 'invalid_grant']);
    expect(await endOf(grantId)).to.equal('refresh_token_reused');
    await expectOver(
      { client, there },
      {
        accessTokens: [tokens, one, two, three, next.json].map((each) => each.access_token),
        refreshTokens: [tokens, one, two, three, next.json].map((each) => each.refresh_token),
      },
    );
  });

  it(`end within a second for sessions and waits on the other replica when the person disconnects ${verifies('contract:20:oauth-own-grants')}`, async () => {
    const { client, there, tokens, grantId } = await connected();
    const bearer = tokens.access_token;
    const url = `${there.address}/mcp`;
    const headers = await openSession(url, REVISION, bearer);
    const listed = await rawMcp(url, { body: rpc('tools/list'), headers, bearer });
    expect(listed.status, listed.text).to.equal(200);
    const args = { for: 'message', select: { mailbox_id: mailboxId, folder: 'inbox' }, timeout_seconds: 50 };
    const wait = rawMcp(url, { body: callOf('email_await', args), headers, bearer });
    const early = await Promise.race([wait, delay(300, null)]);
    expect(early?.text, 'it did not wait').to.equal(undefined);
    const disconnected = await replicas.gateway.rest(
      'DELETE',
      `/org/connected-applications/${grantId}`,
      undefined,
      { token: replicas.owner.bearer },
    );
    expect(disconnected.status, JSON.stringify(disconnected.body)).to.equal(204);
    const endedAt = performance.now();
    await expectOver({ client, there }, { accessTokens: [bearer], refreshTokens: [tokens.refresh_token] });
    const late = await rawMcp(url, { body: rpc('tools/list'), headers, bearer });
    expect(late.status).to.equal(401);
    const answer = await wait;
    expect(performance.now() - endedAt, 'long before its own end').to.be.below(20 * WITHIN_MS);
    expect(answer.text).not.to.include('"items":[{');
    expect(answer.text).to.match(/unauthenticated|token_revoked|insufficient_scope|error/);
    expect(await endOf(grantId)).to.equal('revoked');
  });

  it('end with the application that the organisation deletes', async () => {
    const { client, id } = await registeredClient(replicas, { redirect_uris: [REDIRECT] });
    const { tokens, grantId } = await connect(client, replicas.owner);
    const path = `/org/oauth-clients/${id}`;
    const deleted = await replicas.gateway.rest('DELETE', path, undefined, { token: replicas.owner.bearer });
    expect(deleted.status).to.equal(204);
    const there = replicas.atSecond(client);
    await refusedInTime(there, tokens.access_token);
    for (const at of [client, there])
      expect((await at.refresh(tokens.refresh_token)).json.error).to.equal('invalid_client');
    expect(await endOf(grantId)).to.equal('client_deleted');
  });

  it('end with the membership of the person', async () => {
    const person = await signInNew(replicas.gateway, 'owner', 'leaving@example.com');
    const client = await dynamicClient(replicas);
    const decision = { scopes: ['mailboxes:read'] };
    const { tokens, grantId } = await connect(
      client,
      { bearer: person.bearer, orgId: replicas.owner.orgId },
      decision,
    );
    const there = replicas.atSecond(client);
    expect((await there.mcp(tokens.access_token)).status).to.equal(200);
    const path = `/members/${person.userId}`;
    const removed = await replicas.gateway.rest('DELETE', path, undefined, { token: replicas.owner.bearer });
    expect(removed.status, JSON.stringify(removed.body)).to.be.oneOf([200, 202, 204]);
    await expectOver(
      { client, there },
      { accessTokens: [tokens.access_token], refreshTokens: [tokens.refresh_token] },
    );
    await eventually(async () => {
      expect(await endOf(grantId)).to.equal('member_removed');
    });
  });

  it('do not outlive what the person allowed: ten minutes for an access token, then the days', async () => {
    const client = await dynamicClient(replicas);
    const { tokens } = await connect(client, replicas.owner, { expires_in_days: 1 });
    replicas.clock.advance(10 * 60_000 + 1_000);
    const late = await client.mcp(tokens.access_token);
    expect(late.status).to.equal(401);
    expect(late.headers.get('www-authenticate')).to.include('error="invalid_token"');
    const next = await client.refresh(tokens.refresh_token);
    expect(next.status, next.text).to.equal(200);
    replicas.clock.advance(24 * 60 * 60_000);
    const over = await replicas.atSecond(client).refresh(next.json.refresh_token);
    expect([over.status, over.json.error]).to.deep.equal([400, 'invalid_grant']);
  });
});

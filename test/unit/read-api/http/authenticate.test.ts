import { expect } from 'chai';
import { signOut } from '../../../../commands/accounts/sign-out.ts';
import type { AccessEntry, Ports } from '../../../../commands/ports/ports.ts';
import type { Sealed } from '../../../../commands/values/sealed.ts';
import { createToken, deleteToken } from '../../../../commands/organisation/manage-tokens.ts';
import { Authenticator } from '../../../../read-api/http/authenticate.ts';
import type { Surface } from '../../../../read-api/http/presented-credential.ts';
import { type MemoryGateway, startMemoryGateway } from '../../../support/worlds/memory-gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const DAY_MS = 86_400_000;

describe('Authenticator', () => {
  let gateway: MemoryGateway;
  let authenticator: Authenticator;
  let ports: Ports;
  let recorded: AccessEntry[];
  let counted: string[];
  let storeAway: boolean;

  beforeEach(async () => {
    gateway = await startMemoryGateway();
    recorded = [];
    counted = [];
    storeAway = false;
    ports = {
      ...gateway.ports,
      accessLog: {
        record: async (entry) => {
          if (storeAway) throw new Error('away');
          recorded.push(entry);
        },
        countRefusal: (code, source) => counted.push(`${code} ${source}`),
      },
    };
    authenticator = new Authenticator(ports);
  });

  const callerOf = (authorization: string | undefined, surface: Surface) =>
    authenticator.callerOf({
      authorization,
      surface,
      requestId: 'req_1',
      recordedAs: () => surface,
      source: () => 'somewhere',
      seal: async (principalId) => `sealed for ${principalId}` as Sealed,
    });
  const bearer = (token: string, surface: Surface) => callerOf(`Bearer ${token}`, surface);
  const codeOf = async (token: string, surface: Surface): Promise<unknown> =>
    ((await rejection(bearer(token, surface))) as { code?: unknown }).code;

  /** From now on the directory is not current. */
  const behind = (untilCurrent: () => Promise<boolean>) => {
    const { state } = ports.directory;
    const waitFor = () => Promise.resolve();
    const directory = { state, version: 1, isCurrent: false, untilCurrent, waitFor, waitForAll: waitFor };
    authenticator = new Authenticator({ ...ports, directory });
    return directory;
  };

  const issue = (lifeMs: number, surface: Surface = 'rest') =>
    gateway.call<{ id: string; token: string }>(createToken, {
      name: 'another',
      surface,
      scopes: ['mailboxes:read'],
      expires_at: new Date(gateway.clock.now().getTime() + lifeMs).toISOString(),
    });

  it(`accepts REST tokens on REST and JWTs on MCP ${verifies('contract:2:actor-kind')}`, async () => {
    const owner = await bearer(gateway.org.restToken, 'rest');
    expect(owner.token.id).to.equal(gateway.ownerTokenId);
    expect(owner.actor).to.equal('delegated');
    const agent = await bearer(gateway.org.mcpToken, 'mcp');
    expect(agent.principal).to.include({ kind: 'agent', id: gateway.org.agentId });
    expect(agent.actor).to.equal('agent');
    expect([...recorded, ...counted]).to.deep.equal([]);
  });

  it(`refuses a token on the other surface, and records its principal ${verifies('contract:2:audience-mcp')}`, async () => {
    expect(await codeOf(gateway.org.mcpToken, 'rest')).to.equal('unauthenticated');
    expect(await codeOf(gateway.org.restToken, 'mcp')).to.equal('unauthenticated');
    expect(recorded.map(({ metadata }) => metadata['actor'])).to.deep.equal([
      {
        type: 'agent',
        id: gateway.org.agentId,
        token_id: (await bearer(gateway.org.mcpToken, 'mcp')).token.id,
        session_id: null,
        client: `sealed for ${gateway.org.agentId}`,
      },
      {
        type: 'delegated',
        id: gateway.org.userId,
        token_id: gateway.ownerTokenId,
        session_id: null,
        client: `sealed for ${gateway.org.userId}`,
      },
    ]);
    expect(counted).to.deep.equal([]);
  });

  it(`accepts a JWT on REST when REST is in its audience ${verifies('contract:2:audience-rest')}`, async () => {
    const both = ['http://127.0.0.1/mcp', 'http://127.0.0.1/api/v1'];
    const tokens = {
      ...ports.tokens,
      verifyAccessToken: async (token: string) => ({
        ...(await gateway.ports.tokens.verifyAccessToken(token)),
        audience: both,
      }),
    };
    authenticator = new Authenticator({ ...ports, tokens });
    expect((await bearer(gateway.org.mcpToken, 'rest')).principal.id).to.equal(gateway.org.agentId);
    expect((await bearer(gateway.org.mcpToken, 'mcp')).principal.id).to.equal(gateway.org.agentId);
  });

  it('counts unknown credentials by source', async () => {
    const { restToken } = gateway.org;
    const unknown = ports.tokens.newRestToken(gateway.org.orgId).token;
    const mistyped = `${restToken.slice(0, -1)}${restToken.endsWith('a') ? 'b' : 'a'}`;
    for (const token of [unknown, mistyped, 'x', 'eyJhbGciOiJub25lIn0.e30.']) {
      expect(await codeOf(token, 'rest'), token).to.equal('unauthenticated');
    }
    const headers = [undefined, '', 'Bearer', 'Bearer ', `Basic ${restToken}`, restToken, `Bearer a b`];
    for (const header of headers) {
      expect(await rejection(callerOf(header, 'rest')), String(header)).to.include({
        code: 'unauthenticated',
      });
    }
    expect(counted).to.deep.equal(Array.from({ length: 11 }, () => 'unauthenticated somewhere'));
    expect(recorded).to.deep.equal([]);
  });

  it('ignores the case of Bearer', async () => {
    const caller = await callerOf(`bEARER  ${gateway.org.restToken}`, 'rest');
    expect(caller.token.id).to.equal(gateway.ownerTokenId);
  });

  it('refuses a revoked token at once, even when it was just accepted, and records it', async () => {
    const { id, token } = await issue(DAY_MS);
    await bearer(token, 'rest');
    await gateway.call(deleteToken, { token_id: id });
    expect(await codeOf(token, 'rest')).to.equal('token_revoked');
    const [entry] = recorded;
    expect(entry).to.deep.include({
      type: 'RequestRefused',
      data: { capability: null, code: 'token_revoked', mailbox_id: null },
    });
    expect(entry?.metadata).to.deep.include({
      request_id: 'req_1',
      surface: 'rest',
      org_id: gateway.org.orgId,
    });
  });

  it('refuses an expired token to the millisecond, even when it was just accepted', async () => {
    const { token } = await issue(900);
    await bearer(token, 'rest');
    // The issuing call itself moved the clock by one.
    gateway.clock.advance(899);
    expect(await codeOf(token, 'rest')).to.equal('token_expired');
    expect(recorded).to.have.length(1);
  });

  it('refuses a JWT when its directory entry is missing or of another principal', async () => {
    const claims = await ports.tokens.verifyAccessToken(gateway.org.mcpToken);
    const forms = [
      { ...claims, tokenId: 'tok_unknown' },
      { ...claims, subject: gateway.org.userId },
      { ...claims, orgId: 'org_other' },
    ];
    for (const form of forms) {
      expect(await codeOf(await ports.tokens.signAccessToken(form), 'mcp')).to.equal('unauthenticated');
    }
    expect(recorded).to.deep.equal([]);
  });

  it('evaluates rights again when the directory changes, and after a second in any case', async () => {
    const first = await bearer(gateway.org.restToken, 'rest');
    expect(await bearer(gateway.org.restToken, 'rest')).to.equal(first);
    gateway.clock.advance(1_000);
    const second = await bearer(gateway.org.restToken, 'rest');
    expect(second).not.to.equal(first);
    await issue(DAY_MS);
    expect(await bearer(gateway.org.restToken, 'rest')).not.to.equal(second);
  });

  it(`answers 503 when a revocation may be missing, and records nothing against the token ${verifies('contract:2:revocation')}`, async () => {
    behind(() => Promise.resolve(false));
    expect(await codeOf(gateway.org.restToken, 'rest')).to.equal('store_unavailable');
    expect([...recorded, ...counted]).to.deep.equal([]);
  });

  it('waits until the directory is current, and answers by the rights of that moment', async () => {
    const { state } = ports.directory;
    const directory = behind(() => {
      directory.state = { ...state, tokens: new Map(), tokenIdByHash: new Map() };
      return Promise.resolve(true);
    });
    expect(await codeOf(gateway.org.restToken, 'rest')).to.equal('unauthenticated');
    directory.untilCurrent = () => {
      directory.state = state;
      return Promise.resolve(true);
    };
    expect((await bearer(gateway.org.restToken, 'rest')).token.id).to.be.a('string');
  });

  it('refuses and counts when the refusal cannot be recorded', async () => {
    storeAway = true;
    expect(await codeOf(gateway.org.restToken, 'mcp')).to.equal('unauthenticated');
    expect(counted).to.deep.equal(['unauthenticated store-away']);
  });

  describe('with a session', () => {
    const HOUR_MS = 3_600_000;
    let idle: boolean;

    /** The bearer of a session that starts now. */
    const signIn = async (): Promise<{ id: string; token: string }> => {
      const { token, hash } = ports.tokens.newSessionToken(gateway.org.orgId);
      const id = await gateway.signIn(undefined, hash);
      return { id, token };
    };
    const jwtOf = (id: string, audience: string, scopes: readonly string[]): Promise<string> =>
      ports.tokens.signAccessToken(
        {
          tokenId: id,
          subject: gateway.org.userId,
          orgId: gateway.org.orgId,
          scopes,
          issuedAt: gateway.clock.now(),
          expiresAt: new Date(gateway.clock.now().getTime() + HOUR_MS),
        },
        audience,
      );

    beforeEach(() => {
      idle = false;
      ports = { ...ports, sessionUse: { isIdle: async () => idle } };
      authenticator = new Authenticator(ports);
    });

    it(`accepts the person on REST only ${verifies('contract:2:session-person', 'contract:2:session-not-on-mcp')}`, async () => {
      const { id, token } = await signIn();
      const caller = await bearer(token, 'rest');
      expect([caller.actor, caller.principal.id, caller.token.id]).to.deep.equal([
        'person',
        gateway.org.userId,
        id,
      ]);
      expect(await codeOf(token, 'mcp')).to.equal('unauthenticated');
      expect(recorded[0]?.metadata['actor']).to.deep.include({
        type: 'person',
        token_id: null,
        session_id: id,
      });
    });

    it(`refuses a session that was idle too long, expired or ended ${verifies('contract:2:session-ends')}`, async () => {
      const [unused, old] = [await signIn(), await signIn()];
      const jwt = await jwtOf(unused.id, 'http://127.0.0.1/mcp', ['org:read']);
      idle = true;
      expect(await codeOf(unused.token, 'rest')).to.equal('token_expired');
      expect(await codeOf(jwt, 'mcp')).to.equal('token_expired');
      idle = false;
      gateway.clock.advance(12 * HOUR_MS);
      expect(await codeOf(old.token, 'rest')).to.equal('token_expired');
      const ended = await signIn();
      await gateway.invoke(signOut, {}, { token: ended.id });
      expect(await codeOf(ended.token, 'rest')).to.equal('token_revoked');
    });

    it(`accepts a JWT of the session with the session's rights at most ${verifies('contract:2:session-token')}`, async () => {
      const { id } = await signIn();
      const narrow = await jwtOf(id, 'http://127.0.0.1/mcp', ['org:read', 'approvals:decide', 'no:such']);
      const wide = await jwtOf(id, 'http://127.0.0.1/mcp', ['org:read', 'audit:read']);
      const caller = await bearer(narrow, 'mcp');
      expect(caller).to.include({ actor: 'delegated', session: null, onBehalfOf: gateway.org.userId });
      expect([...caller.scopes]).to.deep.equal(['org:read']);
      // The session is the same, the cached caller is not.
      expect([...(await bearer(wide, 'mcp')).scopes]).to.have.members(['org:read', 'audit:read']);
      expect(await codeOf(narrow, 'rest')).to.equal('unauthenticated');
      await gateway.invoke(signOut, {}, { token: id });
      expect(await codeOf(narrow, 'mcp')).to.equal('token_revoked');
    });
  });
});

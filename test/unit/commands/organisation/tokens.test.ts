import { expect } from 'chai';
import { decideAndAppend, systemAuthor } from '../../../../commands/kernel/decide-and-append.ts';
import { createMailbox } from '../../../../commands/mailboxes/manage-mailboxes.ts';
import { createAgent } from '../../../../commands/organisation/add-agent.ts';
import { createToken, deleteToken } from '../../../../commands/organisation/manage-tokens.ts';
import { issueToken, mintToken, token as tokenAggregate } from '../../../../commands/organisation/token.ts';
import { getAgent, listAgents } from '../../../../read-api/organisation/list-agents.ts';
import { getToken, listTokens } from '../../../../read-api/organisation/list-tokens.ts';
import { IMAP, SMTP } from '../../../support/samples/mailbox-facts.ts';
import { type MemoryGateway, startMemoryGateway } from '../../../support/worlds/memory-gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const auth = { type: 'password', username: 'box', password: 'secret' };
const SOON = '2026-03-10T00:00:00+02:00';
const wanted = { name: 'Reader', surface: 'rest', scopes: ['messages:read'], expires_at: SOON };
interface Issued {
  id: string;
  token?: string;
  secret_shown: boolean;
  scopes: string[];
  expires_at: string;
  mailbox_ids: string[] | null;
  status: string;
  principal: { id: string };
}
interface Page {
  items: { id: string }[];
  page: { next_cursor: string | null; limit: number };
}

describe('token management', () => {
  let gateway: MemoryGateway;
  const issue = (change: object = {}, options = {}): Promise<Issued> =>
    gateway.call<Issued>(createToken, { ...wanted, ...change }, options);
  const refusal = (change: object, options = {}) => rejection(issue(change, options));

  /** A token of the owner that may issue tokens; only the system creates one. */
  const boundedIssuer = async (mailboxIds: readonly string[], expiresAt: string): Promise<string> => {
    const { ports, org } = gateway;
    const tokenId = ports.ids.newId('tok');
    const { terms } = await mintToken(ports, {
      tokenId,
      orgId: org.orgId,
      principal: { id: org.userId, kind: 'user' },
      name: 'Bounded',
      surface: 'rest',
      scopes: ['tokens:manage', 'messages:read'],
      mailboxIds,
      expiresAt,
    });
    const { appended } = await decideAndAppend(ports, systemAuthor(ports, org.orgId), tokenAggregate, {
      id: tokenId,
      decide: (state) => issueToken(state, terms),
    });
    await ports.directory.waitFor(appended?.position ?? 0n);
    return tokenId;
  };

  beforeEach(async () => {
    gateway = await startMemoryGateway();
  });

  it(`issues a token within the issuer's token, and returns the secret once ${verifies('contract:17:tokens', 'contract:2:rest-token-form')}`, async () => {
    const made = await issue();
    expect(made).to.include({ secret_shown: true, status: 'active', expires_at: '2026-03-09T22:00:00.000Z' });
    const { ports, events } = gateway;
    const hash = ports.tokens.hashRestToken(made.token ?? '');
    expect(ports.directory.state.tokenIdByHash.get(hash ?? '')).to.equal(made.id);
    expect(JSON.stringify(events.all.map(({ data }) => data))).not.to.contain(made.token);
    expect(await gateway.call(getToken, { token_id: made.id })).not.to.have.property('token');
    expect(await gateway.call(getToken, { token_id: made.id })).to.include({ last_used_at: null });
    const last_used_at = new Date('2026-03-01T13:00:00Z');
    gateway.sql.rows.set('work.token_use', [{ token_id: made.id, last_used_at }]);
    expect(await gateway.call(getToken, { token_id: made.id })).to.include({
      last_used_at: last_used_at.toISOString(),
    });
  });

  it(`signs MCP tokens that name id, scopes and principal ${verifies('contract:17:tokens')}`, async () => {
    const made = await issue({ surface: 'mcp', principal_id: gateway.org.agentId });
    const claims = await gateway.ports.tokens.verifyAccessToken(made.token ?? '');
    expect(claims).to.deep.include({
      tokenId: made.id,
      subject: gateway.org.agentId,
      scopes: ['messages:read'],
    });
  });

  it(`never grants a scope the issuer lacks, nor tokens:manage ${verifies('contract:3:no-token-makes-makers', 'contract:3:token-within')}`, async () => {
    const refused = await refusal({ scopes: ['messages:read', 'tokens:manage', 'policy:manage'] });
    expect(refused).to.deep.include({ code: 'insufficient_scope' });
    expect(refused).to.have.deep.nested.property('details.required', ['tokens:manage', 'policy:manage']);
  });

  it('grants the part of a preset that the issuer holds, and says so', async () => {
    expect((await issue({ scopes: undefined, preset: 'auditor' })).scopes).to.have.members([
      'org:read', 'mailboxes:read', 'approvals:read', 'audit:read', 'deliveries:read',
    ]); // prettier-ignore
    expect(await refusal({ preset: 'reader' })).to.include({ code: 'invalid_request' });
    expect(await refusal({ scopes: undefined })).to.include({ code: 'invalid_request' });
  });

  it(`requires an expiry in the future, within the longest lifetime and the issuer's ${verifies('contract:2:token-lifetime')}`, async () => {
    const surface = 'mcp';
    for (const expires_at of [undefined, '2026-02-28T00:00:00Z']) {
      expect(await refusal({ expires_at })).to.include({ code: 'invalid_request' });
    }
    expect(await refusal({ surface, expires_at: '2026-05-31T00:00:00Z' })).to.include({
      code: 'invalid_request',
    });
    expect(await issue({ surface, expires_at: '2026-05-29T00:00:00Z' })).to.include({ status: 'active' });
    expect(await refusal({ expires_at: '2027-03-01T12:00:00.001Z' })).to.include({ code: 'invalid_request' });
    expect(await issue({ expires_at: '2027-03-01T12:00:00Z' })).to.include({ status: 'active' });
  });

  it('grants no mailbox that the issuer does not reach', async () => {
    expect(await refusal({ mailbox_ids: ['mbx_unknown'] })).to.include({ code: 'not_found' });
  });

  it(`binds a token to the mailboxes and the end of a bound issuer ${verifies('contract:3:token-within')}`, async () => {
    const box = { email: 'box@example.com', imap: IMAP, smtp: SMTP, auth };
    const [{ id: own }, { id: other }] = [
      await gateway.call<{ id: string }>(createMailbox, box),
      await gateway.call<{ id: string }>(createMailbox, box),
    ];
    const token = await boundedIssuer([own], '2026-03-05T00:00:00.000Z');
    const within = { expires_at: '2026-03-05T00:00:00Z' };
    expect(await issue(within, { token })).to.deep.include({ mailbox_ids: [own] });
    const narrow = await issue({ ...within, mailbox_ids: [own] }, { token });
    expect(narrow.expires_at).to.equal('2026-03-05T00:00:00.000Z');
    expect(await refusal({ expires_at: '2026-03-05T00:00:00.001Z' }, { token })).to.include({
      code: 'invalid_request',
    });
    expect(await refusal({ ...within, mailbox_ids: [other] }, { token })).to.include({ code: 'not_found' });
    const wider = await refusal({ ...within, scopes: ['messages:move'] }, { token });
    expect(wider).to.deep.include({ code: 'insufficient_scope', details: { required: ['messages:move'] } });
  });

  it("issues tokens for the caller or the caller's agents", async () => {
    expect((await issue()).principal).to.deep.equal({ id: gateway.org.userId, kind: 'user' });
    expect(await refusal({ principal_id: 'agt_unknown' })).to.include({ code: 'not_found' });
    expect(await refusal({ principal_id: 'usr_other' })).to.include({ code: 'not_found' });
  });

  it(`issues one token per key; the repeat answers without the secret ${verifies('contract:14:secret-once', 'contract:14:accepted')}`, async () => {
    const first = await issue({}, { key: 'k-1' });
    const again = await gateway.invoke(createToken, wanted, { key: 'k-1' });
    const { token: _, ...known } = first;
    expect(again.replayed).to.equal(true);
    expect(again.output).to.deep.equal({ ...known, secret_shown: false });
    expect(await refusal({ name: 'Other' }, { key: 'k-1' })).to.include({ code: 'idempotency_key_reused' });
  });

  it('leaves the key free when it refuses before the claim', async () => {
    await refusal({ scopes: ['tokens:manage'] }, { key: 'k-2' });
    expect(await issue({}, { key: 'k-2' })).to.include({ secret_shown: true });
  });

  it('revokes a token at once, and still shows it as revoked', async () => {
    const { id } = await issue();
    const { position } = await gateway.invoke(deleteToken, { token_id: id });
    expect(await gateway.call(getToken, { token_id: id })).to.include({ status: 'revoked' });
    expect(() => gateway.callerOf(id)).to.throw('no caller');
    // The position of the revocation, which every process must reach before this is answered.
    const again = await gateway.invoke(deleteToken, { token_id: id });
    expect(again).to.deep.include({ output: {}, position });
    expect(position).not.to.equal(null);
  });

  it('hides other tokens from a caller who does not manage them', async () => {
    for (const capability of [getToken, deleteToken]) {
      expect(await rejection(gateway.call(capability, { token_id: 'tok_unknown' }))).to.include({
        code: 'not_found',
      });
    }
    const agents = (await gateway.call<Page>(listTokens, {})).items;
    expect(agents).to.have.length(2);
    const { id } = await issue();
    expect(await rejection(gateway.call(listTokens, {}, { token: id }))).to.include({
      code: 'insufficient_scope',
    });
  });

  it('lists tokens newest first, page by page, with cursors that fit no other list', async () => {
    for (const name of ['a', 'b', 'c']) await issue({ name });
    const all = (await gateway.call<Page>(listTokens, {})).items.map(({ id }) => id);
    expect(all).to.have.length(5);
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const input: object = cursor === null ? { limit: 2 } : { limit: 2, cursor };
      const { items, page } = await gateway.call<Page>(listTokens, input);
      seen.push(...items.map(({ id }) => id));
      cursor = page.next_cursor;
    } while (cursor !== null && seen.length < 10);
    expect(seen).to.deep.equal(all);
    const { page } = await gateway.call<Page>(listTokens, { limit: 1 });
    const foreign = rejection(gateway.call(listAgents, { cursor: page.next_cursor }));
    expect(await foreign).to.include({ code: 'cursor_invalid' });
    const edited = rejection(gateway.call(listTokens, { cursor: `x${page.next_cursor ?? ''}` }));
    expect(await edited).to.include({ code: 'cursor_invalid' });
  });
});

describe('create_agent', () => {
  let gateway: MemoryGateway;
  beforeEach(async () => {
    gateway = await startMemoryGateway();
  });

  it(`assigns an agent to the caller unless another member is named ${verifies('contract:17:agents')}`, async () => {
    const made = await gateway.call<{ id: string }>(createAgent, { name: 'Helper' });
    expect(made).to.include({ name: 'Helper', owner_id: gateway.org.userId });
    expect(await gateway.call(getAgent, { agent_id: made.id })).to.deep.equal(made);
    const { items } = await gateway.call<Page>(listAgents, {});
    expect(items.map(({ id }) => id)).to.deep.equal([made.id, gateway.org.agentId]);
    const stranger = rejection(gateway.call(createAgent, { name: 'Helper', owner_id: 'usr_stranger' }));
    expect(await stranger).to.include({ code: 'not_found' });
    expect(await rejection(gateway.call(getAgent, { agent_id: 'agt_x' }))).to.include({ code: 'not_found' });
  });

  it(`creates one agent per key ${verifies('contract:14:accepted')}`, async () => {
    const first = await gateway.call(createAgent, { name: 'Helper' }, { key: 'k' });
    expect(await gateway.call(createAgent, { name: 'Helper' }, { key: 'k' })).to.deep.equal(first);
    expect((await gateway.call<Page>(listAgents, {})).items).to.have.length(2);
  });
});

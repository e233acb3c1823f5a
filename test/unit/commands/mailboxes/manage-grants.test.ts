import { expect } from 'chai';
import { createMailbox } from '../../../../commands/mailboxes/manage-mailboxes.ts';
import type { Grant } from '../../../../commands/mailboxes/manage-grants.ts';
import { createGrant, deleteGrant, updateGrant } from '../../../../commands/mailboxes/manage-grants.ts';
import { createToken } from '../../../../commands/organisation/manage-tokens.ts';
import { listGrants } from '../../../../read-api/mailboxes/list-grants.ts';
import { IMAP, SMTP } from '../../../support/samples/mailbox-facts.ts';
import {
  type CallOptions,
  type MemoryGateway,
  startMemoryGateway,
} from '../../../support/worlds/memory-gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const auth = { type: 'password', username: 'box', password: 'secret' };

describe('grant management', () => {
  let gateway: MemoryGateway;
  let mailboxId: string;
  let agentToken: string;
  const give = (change: object = {}, options: CallOptions = {}): Promise<Grant> =>
    gateway.call<Grant>(
      createGrant,
      { mailbox_id: mailboxId, principal_id: gateway.org.agentId, scopes: ['messages:read'], ...change },
      options,
    );
  const list = async (change: object = {}): Promise<readonly Grant[]> =>
    (await gateway.call<{ items: Grant[] }>(listGrants, { mailbox_id: mailboxId, ...change })).items;
  const agentScopes = () => [...(gateway.callerOf(agentToken).mailboxes.get(mailboxId)?.scopes ?? [])];

  beforeEach(async () => {
    gateway = await startMemoryGateway();
    const input = { email: 'box@example.com', imap: IMAP, smtp: SMTP, auth };
    mailboxId = (await gateway.call<{ id: string }>(createMailbox, input)).id;
    agentToken = (await gateway.ports.tokens.verifyAccessToken(gateway.org.mcpToken)).tokenId;
  });

  it(`takes effect with the answer ${verifies('contract:17:grants')}`, async () => {
    expect(agentScopes()).to.deep.equal([]);
    const grant = await give({ folder_roles: ['inbox'], expires_at: '2026-03-02T00:00:00+01:00' });
    expect(grant).to.deep.include({
      mailbox_id: mailboxId,
      principal: { id: gateway.org.agentId, kind: 'agent' },
      scopes: ['messages:read'],
      folder_roles: ['inbox'],
      expires_at: '2026-03-01T23:00:00.000Z',
      created_by: gateway.org.userId,
    });
    expect(agentScopes()).to.deep.equal(['messages:read']);
    expect((await list()).map(({ id }) => id))
      .to.include(grant.id)
      .and.to.have.length(2);
  });

  it(`accepts only mailbox scopes of a preset ${verifies('contract:17:grants')}`, async () => {
    const { scopes } = await give({ scopes: undefined, preset: 'reader' });
    expect(scopes).to.have.members([
      'messages:read',
      'messages:body',
      'attachments:read',
      'folders:read',
      'drafts:read',
    ]);
    expect(await rejection(give({ scopes: ['mailboxes:read'] }))).to.include({ code: 'invalid_request' });
  });

  it('allows one grant per principal, and only for existing principals', async () => {
    await give();
    expect(await rejection(give())).to.include({ code: 'conflict' });
    for (const principal_id of ['usr_unknown', 'agt_unknown']) {
      expect(await rejection(give({ principal_id }))).to.include({ code: 'not_found' });
    }
  });

  it(`gives one grant per key, and leaves the key free when it refuses ${verifies('contract:14:accepted')}`, async () => {
    expect(await rejection(give({ principal_id: 'agt_x' }, { key: 'k' }))).to.include({ code: 'not_found' });
    const first = await give({}, { key: 'k' });
    expect(await give({}, { key: 'k' })).to.deep.equal(first);
  });

  it(`changes and ends a grant with immediate effect ${verifies('contract:17:grants')}`, async () => {
    const { id } = await give();
    const path = { mailbox_id: mailboxId, grant_id: id };
    const changed = await gateway.call<Grant>(updateGrant, {
      ...path,
      scopes: ['messages:flag', 'messages:read'],
    });
    expect(changed.scopes).to.have.members(['messages:flag', 'messages:read']);
    expect(agentScopes()).to.have.members(['messages:flag', 'messages:read']);
    const bounded = await gateway.call<Grant>(updateGrant, { ...path, folder_roles: ['archive'] });
    expect(bounded).to.deep.include({ scopes: changed.scopes, folder_roles: ['archive'], expires_at: null });
    expect(await gateway.call(deleteGrant, path)).to.deep.equal({});
    expect(agentScopes()).to.deep.equal([]);
    expect(await rejection(gateway.call(deleteGrant, path))).to.include({ code: 'not_found' });
    expect(await rejection(gateway.call(updateGrant, path))).to.include({ code: 'not_found' });
  });

  it(`accepts only quotas of sends ${verifies('contract:3:grant-quotas')}`, async () => {
    const { id, quotas } = await give({ quotas: { sends_per_hour: 4 } });
    expect(quotas).to.deep.equal({ sends_per_hour: 4 });
    const held = () => gateway.callerOf(agentToken).mailboxes.get(mailboxId)?.quotas;
    expect(held()).to.deep.equal({ sends_per_hour: 4 });
    const path = { mailbox_id: mailboxId, grant_id: id };
    expect(await gateway.call(updateGrant, { ...path, scopes: ['messages:read'] })).to.deep.include({
      quotas,
    });
    for (const wrong of [{ reads_per_hour: 4 }, { sends_per_hour: 0 }, { sends_per_hour: 1.5 }, {}]) {
      const refused = await rejection(gateway.call(updateGrant, { ...path, quotas: wrong }));
      expect(refused).to.include({ code: 'invalid_request' });
    }
    expect(await gateway.call(updateGrant, { ...path, quotas: null })).to.include({ quotas: null });
    expect(held()).to.equal(null);
  });

  it('requires a grant of the giver', async () => {
    const owners = (await list()).find(({ principal }) => principal.id === gateway.org.userId);
    await gateway.call(deleteGrant, { mailbox_id: mailboxId, grant_id: owners?.id });
    const refused = await rejection(give());
    expect(refused).to.deep.include({ code: 'insufficient_scope', details: { required: ['messages:read'] } });
  });

  it(`shows grants as of an earlier moment ${verifies('contract:17:as-of')}`, async () => {
    const before = gateway.clock.now().toISOString();
    gateway.clock.advance(1_000);
    const { id } = await give();
    expect((await list({ as_of: before })).map((grant) => grant.id)).not.to.include(id);
    expect(await list({ as_of: before })).to.have.length(1);
    const now = gateway.clock.now().toISOString();
    expect(await list({ as_of: now })).to.have.length(2);
    const answer = await gateway.call<{ page: { as_of: string } }>(listGrants, {
      mailbox_id: mailboxId,
      as_of: now,
    });
    expect(answer.page.as_of).to.equal(now);
    expect(await rejection(list({ as_of: '2020-01-01T00:00:00Z' }))).to.include({ code: 'not_found' });
    expect(await rejection(list({ as_of: '2030-01-01T00:00:00Z' }))).to.include({ code: 'invalid_request' });
  });

  it('hides grants from a token without the scope, and of unknown mailboxes', async () => {
    const input = {
      name: 'R',
      surface: 'rest',
      scopes: ['mailboxes:read'],
      expires_at: '2026-03-10T00:00:00Z',
    };
    const { id: token } = await gateway.call<{ id: string }>(createToken, input);
    const refused = rejection(gateway.call(listGrants, { mailbox_id: mailboxId }, { token }));
    expect(await refused).to.include({ code: 'insufficient_scope' });
    const unknown = rejection(gateway.call(listGrants, { mailbox_id: 'mbx_unknown' }));
    expect(await unknown).to.include({ code: 'not_found' });
  });
});

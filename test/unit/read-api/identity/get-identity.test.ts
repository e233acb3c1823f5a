import { expect } from 'chai';
import { createMailbox } from '../../../../commands/mailboxes/manage-mailboxes.ts';
import { createGrant } from '../../../../commands/mailboxes/manage-grants.ts';
import { systemAuthor } from '../../../../commands/kernel/decide-and-append.ts';
import { readPolicyDocument, setPolicy } from '../../../../commands/policy/set-policy.ts';
import { getIdentity } from '../../../../read-api/identity/get-identity.ts';
import { IMAP, SMTP } from '../../../support/samples/mailbox-facts.ts';
import { type MemoryGateway, startMemoryGateway } from '../../../support/worlds/memory-gateway.ts';
import { verifies } from '../../../support/suite/verifies.ts';

interface MailboxIdentity {
  readonly requires_approval: readonly string[];
  readonly limits: object;
}

describe('get_identity', () => {
  let gateway: MemoryGateway;
  let agentToken: string;

  const granted = async (quotas: object | null) => {
    const auth = { type: 'password', username: 'box', password: 'secret' };
    const input = { email: 'box@example.com', imap: IMAP, smtp: SMTP, auth };
    const { id } = await gateway.call<{ id: string }>(createMailbox, input);
    const to = { mailbox_id: id, principal_id: gateway.org.agentId };
    await gateway.call(createGrant, { ...to, preset: 'operator', quotas });
  };
  const identityOf = async (token?: string): Promise<MailboxIdentity> => {
    const answer = await gateway.call<{ mailboxes: MailboxIdentity[] }>(
      getIdentity,
      {},
      token === undefined ? {} : { token },
    );
    const [mailbox] = answer.mailboxes;
    if (!mailbox) throw new Error('no mailbox');
    return mailbox;
  };
  const setRules = async (...rules: readonly object[]) => {
    const { ports, org } = gateway;
    const document = readPolicyDocument(ports.directory.state, org.orgId, { rules });
    await setPolicy(ports, systemAuthor(ports, org.orgId), org.orgId, document);
  };

  beforeEach(async () => {
    gateway = await startMemoryGateway();
    agentToken = (await gateway.ports.tokens.verifyAccessToken(gateway.org.mcpToken)).tokenId;
  });

  it(`lists the actions for which policy requires approval ${verifies('contract:17:requires-approval')}`, async () => {
    await granted(null);
    expect((await identityOf(agentToken)).requires_approval).to.deep.equal(['send', 'expunge']);
    await setRules(
      { id: 'outside', when: { external_recipient: true }, then: { decision: 'require' } },
      { id: 'drafts', when: { actions: ['draft_discard', 'trash'] }, then: { decision: 'require' } },
      { id: 'no-expunge', when: { actions: ['expunge'] }, then: { decision: 'deny' } },
      { id: 'the-rest', when: {}, then: { decision: 'allow' } },
    );
    expect((await identityOf(agentToken)).requires_approval).to.deep.equal([
      'draft_discard',
      'send',
      'trash',
    ]);
    await setRules({ id: 'all', when: {}, then: { decision: 'allow' } });
    expect((await identityOf(agentToken)).requires_approval).to.deep.equal([]);
  });

  it(`returns the stricter of the grant's quota and the limit for agents ${verifies('contract:3:grant-quotas')}`, async () => {
    await granted({ sends_per_hour: 7 });
    expect((await identityOf(agentToken)).limits).to.deep.equal({ sends_per_hour: 7 });
    expect((await identityOf()).limits).to.deep.equal({});
    gateway = await startMemoryGateway();
    agentToken = (await gateway.ports.tokens.verifyAccessToken(gateway.org.mcpToken)).tokenId;
    await granted({ sends_per_hour: 700 });
    expect((await identityOf(agentToken)).limits).to.deep.equal({ sends_per_hour: 30 });
  });
});

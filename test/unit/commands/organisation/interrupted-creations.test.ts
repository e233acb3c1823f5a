import { expect } from 'chai';
import type { Capability } from '../../../../commands/kernel/capability.ts';
import { createGrant, deleteGrant } from '../../../../commands/mailboxes/manage-grants.ts';
import { createMailbox } from '../../../../commands/mailboxes/manage-mailboxes.ts';
import { createOAuthClient } from '../../../../commands/oauth/manage-oauth-clients.ts';
import { createAgent } from '../../../../commands/organisation/add-agent.ts';
import { deleteAgent } from '../../../../commands/organisation/manage-agents.ts';
import { createInvite } from '../../../../commands/organisation/manage-invites.ts';
import { createAnotherOrganisation } from '../../../../commands/organisation/manage-organisation.ts';
import { createToken } from '../../../../commands/organisation/manage-tokens.ts';
import { ProcessGone } from '../../../support/fakes/breaking-mailbox.ts';
import { dyingAfter } from '../../../support/fakes/dying-ports.ts';
import { IMAP, SMTP } from '../../../support/samples/mailbox-facts.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { invokeAs } from '../../../support/worlds/invoke-as.ts';
import { type MemoryGateway, startMemoryGateway } from '../../../support/worlds/memory-gateway.ts';

const CREATIONS: readonly (readonly [made: string, capability: Capability, input: object])[] = [
  [
    'TokenIssued',
    createToken,
    { name: 'Reader', surface: 'rest', scopes: ['messages:read'], expires_at: '2026-03-10T00:00:00Z' },
  ],
  ['AgentCreated', createAgent, { name: 'Helper' }],
  [
    'OAuthClientRegistered',
    createOAuthClient,
    { name: 'Helper', redirect_uris: ['https://app.example.com/done'], confidential: true },
  ],
  ['InviteCreated', createInvite, { email: 'new@example.net', role: 'member' }],
  ['OrganisationCreated', createAnotherOrganisation, { name: 'Second' }],
  [
    'MailboxAdded',
    createMailbox,
    {
      email: 'box@example.com',
      imap: IMAP,
      smtp: SMTP,
      auth: { type: 'password', username: 'box', password: 'secret' },
    },
  ],
];

describe('a creation that was interrupted once its object was stored', () => {
  const key = { idempotencyKey: 'key-1' };
  let gateway: MemoryGateway;
  let sessionId: string;

  /** The event is in the log, and the directory does not know it yet. */
  const interrupt = async (made: string, capability: Capability, input: object): Promise<void> => {
    const dying = dyingAfter(gateway.ports, new RegExp(`^${made}$`));
    const work = invokeAs(dying, gateway.callerOf(sessionId), [capability, input], key);
    expect(await rejection(work)).to.be.instanceOf(ProcessGone);
  };
  const repeat = (capability: Capability, input: object) =>
    invokeAs(gateway.ports, gateway.callerOf(sessionId), [capability, input], key);

  beforeEach(async () => {
    gateway = await startMemoryGateway();
    sessionId = await gateway.signIn();
  });

  for (const [made, capability, input] of CREATIONS) {
    it(`answers the repeat of ${capability.name} with that object, also where the directory is behind ${verifies('contract:14:replayed')}`, async () => {
      const { events } = gateway;
      const streams = (): string[] =>
        events.all.filter(({ type }) => type === made).map(({ streamName }) => streamName);
      await interrupt(made, capability, input);
      const stored = streams();
      const { output, replayed } = await repeat(capability, input);
      expect(replayed).to.equal(true);
      expect(stored.at(-1)).to.match(new RegExp(`-${(output as { id: string }).id}$`));
      expect(output).not.to.have.any.keys('token', 'client_secret');
      expect(await repeat(capability, input)).to.deep.include({ output, replayed: true });
      expect(streams()).to.deep.equal(stored);
    });
  }

  it(`does not make an agent again that was deleted meanwhile ${verifies('contract:14:no-second-effect')}`, async () => {
    await interrupt('AgentCreated', createAgent, { name: 'Helper' });
    const { ports, events } = gateway;
    const id = events.all.findLast(({ type }) => type === 'AgentCreated')?.streamName.slice('agent-'.length);
    await ports.directory.waitFor(events.all.at(-1)?.position ?? 0n);
    await gateway.invoke(deleteAgent, { agent_id: id }, { token: sessionId });
    const again = { code: 'not_found', message: 'The result of this Idempotency-Key no longer exists.' };
    expect(await rejection(repeat(createAgent, { name: 'Helper' }))).to.include(again);
  });

  it(`does not give a grant again that was revoked meanwhile ${verifies('contract:14:no-second-effect')}`, async () => {
    const { ports, events, org } = gateway;
    const auth = { type: 'password', username: 'box', password: 'secret' };
    const mailbox = { email: 'box@example.com', imap: IMAP, smtp: SMTP, auth };
    const { id: mailbox_id } = await gateway.call<{ id: string }>(createMailbox, mailbox, {
      token: sessionId,
    });
    const grant = { mailbox_id, principal_id: org.agentId, scopes: ['messages:read'] };
    const given = () =>
      events.all.filter(({ type, data }) => type === 'GrantGiven' && data['principal_id'] === org.agentId);
    await interrupt('GrantGiven', createGrant, grant);
    const [first] = given();
    await ports.directory.waitFor(first?.position ?? 0n);
    await gateway.invoke(
      deleteGrant,
      { mailbox_id, grant_id: first?.data['grant_id'] },
      { token: sessionId },
    );
    expect(await rejection(repeat(createGrant, grant))).to.include({ code: 'not_found' });
    expect(given()).to.have.length(1);
  });
});

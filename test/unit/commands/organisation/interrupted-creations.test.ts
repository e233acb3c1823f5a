import { expect } from 'chai';
import type { Capability } from '../../../../commands/kernel/capability.ts';
import { createMailbox } from '../../../../commands/mailboxes/manage-mailboxes.ts';
import { createOAuthClient } from '../../../../commands/oauth/manage-oauth-clients.ts';
import { createAgent } from '../../../../commands/organisation/add-agent.ts';
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
  let gateway: MemoryGateway;
  let sessionId: string;

  beforeEach(async () => {
    gateway = await startMemoryGateway();
    sessionId = await gateway.signIn();
  });

  for (const [made, capability, input] of CREATIONS) {
    it(`answers the repeat of ${capability.name} with that object, also where the directory is behind ${verifies('contract:14:replayed')}`, async () => {
      const { ports, events } = gateway;
      const caller = gateway.callerOf(sessionId);
      const key = { idempotencyKey: 'key-1' };
      const dying = invokeAs(dyingAfter(ports, new RegExp(`^${made}$`)), caller, [capability, input], key);
      expect(await rejection(dying)).to.be.instanceOf(ProcessGone);
      const { output, replayed } = await invokeAs(ports, caller, [capability, input], key);
      const of = events.all.filter(({ type }) => type === made).map(({ streamName }) => streamName);
      expect(replayed).to.equal(true);
      expect(of.at(-1)).to.match(new RegExp(`-${(output as { id: string }).id}$`));
      expect(output).not.to.have.any.keys('token', 'client_secret');
      const again = await invokeAs(ports, caller, [capability, input], key);
      expect(again).to.deep.include({ output, replayed: true });
      expect(events.all.filter(({ type }) => type === made)).to.have.length(of.length);
    });
  }
});

/** Every route that names an object of the organisation, with one of another organisation that the same person owns too. */
import { expect } from 'chai';
import type { Capability } from '../../../commands/kernel/capability.ts';
import { createGrant } from '../../../commands/mailboxes/manage-grants.ts';
import { createAgent } from '../../../commands/organisation/add-agent.ts';
import { createInvite } from '../../../commands/organisation/manage-invites.ts';
import { createToken } from '../../../commands/organisation/manage-tokens.ts';
import { GatewayError } from '../../../commands/values/errors.ts';
import { createWebhookEndpoint } from '../../../commands/webhooks/manage-endpoints.ts';
import { capabilities } from '../../../read-api/capabilities.ts';
import { AuthorizationWorld, type Holder } from '../../support/worlds/authorization-world.ts';
import { invokeAs } from '../../support/worlds/invoke-as.ts';
import { verifies } from '../../support/suite/verifies.ts';

const PARAMETERS = ['user_id', 'agent_id', 'token_id', 'invite_id', 'endpoint_id', 'grant_id'] as const;
type Parameter = (typeof PARAMETERS)[number];

/** What their inputs need beside the object. */
const FIELDS: Readonly<Record<string, object>> = {
  update_member: { role: 'member' },
  update_agent: { name: 'Other' },
  update_token: { name: 'Other' },
  update_webhook_endpoint: { description: 'Other' },
  replay_webhook_endpoint: { since: '2026-03-01T00:00:00.000Z' },
  update_grant: { scopes: ['messages:read'] },
};
const EXPIRES_AT = '2026-03-10T00:00:00.000Z';
const HOOK = { url: 'https://hooks.example.com/in', event_types: ['member.added'] };

const parameterOf = ({ rest }: Capability): Parameter | undefined =>
  PARAMETERS.find((name) => rest?.path.split('/').includes(`:${name}`));

describe('an object of another organisation', () => {
  let world: AuthorizationWorld;
  let owner: Holder;
  let abroad: string;
  const foreign = new Map<string, string>();

  const call = async (sessionId: string, capability: Capability, input: object): Promise<unknown> => {
    const { ports, clock } = world.gateway;
    clock.advance(1);
    const caller = world.gateway.callerOf(sessionId);
    const request = { idempotencyKey: ports.ids.newUuid() };
    return (await invokeAs(ports, caller, [capability, input], request)).output;
  };
  const make = async (capability: Capability, input: object): Promise<string> =>
    ((await call(abroad, capability, input)) as { readonly id: string }).id;

  /** The refusal as the client sees it; `allowed` when there is none. */
  async function refusal(capability: Capability, input: object): Promise<string> {
    try {
      await call(owner.ids['stepped-up session'], capability, input);
      return 'allowed';
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      const text = `${error.code} ${error.message} ${JSON.stringify(error.details)}`;
      // A refusal may repeat the id that was asked for.
      return [...foreign.values(), world.mailboxes.foreign].reduce(
        (shown, id) => shown.replaceAll(id, 'unknown'),
        text,
      );
    }
  }

  before(async () => {
    world = await AuthorizationWorld.open();
    owner = await world.holder('owner');
    abroad = await world.signIn(world.foreignOrgId, owner.userId);
    const { userId } = await world.holder(null);
    const agentId = await make(createAgent, { name: 'Agent' });
    foreign.set('user_id', userId).set('agent_id', agentId);
    const token = { name: 'T', surface: 'rest', scopes: ['messages:read'], expires_at: EXPIRES_AT };
    foreign.set('token_id', await make(createToken, token));
    foreign.set('invite_id', await make(createInvite, { email: 'new@example.net', role: 'member' }));
    foreign.set('endpoint_id', await make(createWebhookEndpoint, HOOK));
    const grant = {
      mailbox_id: world.mailboxes.foreign,
      principal_id: agentId,
      scopes: ['messages:read'],
    };
    foreign.set('grant_id', await make(createGrant, grant));
  });

  it(`is shown in its own organisation ${verifies('contract:3:foreign-404')}`, async () => {
    for (const name of ['get_member', 'get_agent', 'get_token', 'get_webhook_endpoint']) {
      const capability = capabilities.find((one) => one.name === name);
      if (capability === undefined) throw new Error(`no ${name}`);
      const parameter = parameterOf(capability) ?? '';
      const shown = await call(abroad, capability, { [parameter]: foreign.get(parameter) });
      expect(Object.values(shown as object), name).to.include(foreign.get(parameter));
    }
  });

  it(`answers here like one that does not exist, on every route that names it ${verifies('contract:3:foreign-404', 'contract:3:matrix')}`, async () => {
    const before = world.gateway.events.all.length;
    const asked: string[] = [];
    for (const capability of capabilities) {
      const parameter = parameterOf(capability);
      if (parameter === undefined) continue;
      const input = {
        ...(capability.rest?.path.includes(':mailbox_id') && { mailbox_id: world.mailboxes.granted }),
        ...FIELDS[capability.name],
      };
      const answer = await refusal(capability, { ...input, [parameter]: foreign.get(parameter) });
      expect(answer, capability.name).to.match(/^not_found /);
      expect(answer, capability.name).to.equal(
        await refusal(capability, { ...input, [parameter]: 'unknown' }),
      );
      asked.push(parameter);
    }
    expect([...new Set(asked)]).to.have.members([...PARAMETERS]);
    expect(world.gateway.events.all.length, 'nothing was written').to.equal(before);
  });

  it(`is refused in a field like one that does not exist ${verifies('contract:3:foreign-404')}`, async () => {
    const { granted, foreign: box } = world.mailboxes;
    const [agent_id, user_id] = [foreign.get('agent_id') ?? '', foreign.get('user_id') ?? ''];
    const own = await call(owner.ids['stepped-up session'], createAgent, { name: 'Own' });
    const { id: ownAgent } = own as { readonly id: string };
    const token = { name: 'T', surface: 'rest', scopes: ['messages:read'], expires_at: EXPIRES_AT };
    const grant = { mailbox_id: granted, scopes: ['messages:read'] };
    const invite = { email: 'other@example.net', role: 'member' };
    const promised = (mailbox_id: string) => [{ mailbox_id, preset: 'reader' }];
    /** With the object, and with one that does not exist. */
    const named: readonly (readonly [string, object, object])[] = [
      ['create_token', { ...token, principal_id: agent_id }, { ...token, principal_id: 'unknown' }],
      ['create_token', { ...token, mailbox_ids: [box] }, { ...token, mailbox_ids: ['unknown'] }],
      ['create_grant', { ...grant, principal_id: agent_id }, { ...grant, principal_id: 'unknown' }],
      ['create_grant', { ...grant, principal_id: user_id }, { ...grant, principal_id: 'unknown' }],
      ['update_agent', { agent_id: ownAgent, owner_id: user_id }, { agent_id: ownAgent, owner_id: 'unknown' }],
      ['create_invite', { ...invite, mailbox_grants: promised(box) }, { ...invite, mailbox_grants: promised('unknown') }],
      ['create_webhook_endpoint', { ...HOOK, mailbox_ids: [box] }, { ...HOOK, mailbox_ids: ['unknown'] }],
    ]; // prettier-ignore
    for (const [name, input, unknown] of named) {
      const capability = capabilities.find((one) => one.name === name);
      if (capability === undefined) throw new Error(`no ${name}`);
      const answer = await refusal(capability, input);
      expect(answer, name).not.to.equal('allowed');
      expect(answer, name).to.equal(await refusal(capability, unknown));
    }
  });
});

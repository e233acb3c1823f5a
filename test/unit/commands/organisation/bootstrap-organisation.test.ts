import { expect } from 'chai';
import { bootstrapOrganisation } from '../../../../commands/organisation/bootstrap-organisation.ts';
import { PRESETS } from '../../../../commands/values/scopes.ts';
import { memoryLeases, memoryPorts, OWNER } from '../../../support/worlds/memory-gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';

const typesIn = (events: ReturnType<typeof memoryPorts>['events']) => events.all.map(({ type }) => type);

describe('bootstrapOrganisation', () => {
  it('creates organisation, owner, agent and working tokens', async () => {
    const { ports, secrets } = memoryPorts();
    const made = await bootstrapOrganisation(ports, OWNER);
    const { state } = ports.directory;
    expect(state.organisations.get(made.orgId)).to.include({ id: made.orgId, name: 'Example' });
    expect(state.people.get(made.userId)).to.include({ email: 'Owner@example.com', name: 'Olive Owner' });
    expect(state.members.get(`${made.orgId}/${made.userId}`)?.role).to.equal('owner');
    expect(state.agents.get(made.agentId)).to.include({ ownerId: made.userId, orgId: made.orgId });
    expect(secrets.passwords.get(made.userId)).to.equal(OWNER.password);
    const restId = state.tokenIdByHash.get(ports.tokens.hashRestToken(made.restToken) ?? '') ?? '';
    expect(state.tokens.get(restId)).to.include({ principalId: made.userId, surface: 'rest' });
    expect(state.tokens.get(restId)?.scopes).to.include.members([
      'messages:read',
      'tokens:manage',
      'audit:read',
    ]);
    const claims = await ports.tokens.verifyAccessToken(made.mcpToken);
    expect(claims).to.include({ subject: made.agentId, orgId: made.orgId });
    expect(claims.scopes).to.deep.equal([...PRESETS.operator]);
    expect(state.tokens.get(claims.tokenId)).to.include({ principalId: made.agentId, surface: 'mcp' });
  });

  it('keeps name, address and secrets out of the log', async () => {
    const { ports, events } = memoryPorts();
    const made = await bootstrapOrganisation(ports, OWNER);
    const log = JSON.stringify(
      events.all.map(({ data, metadata, streamName }) => [data, metadata, streamName]),
    );
    for (const secret of [OWNER.password, made.restToken, made.mcpToken]) expect(log).not.to.contain(secret);
    expect(log).to.contain(`sealed:${made.userId}:${OWNER.ownerEmail}`);
    expect(log.replaceAll(`sealed:${made.userId}:${OWNER.ownerEmail}`, '')).not.to.match(/owner@example/i);
  });

  it('refuses a second organisation, for the same owner or another', async () => {
    const { ports, events } = memoryPorts();
    await bootstrapOrganisation(ports, OWNER);
    const before = events.all.length;
    for (const ownerEmail of [OWNER.ownerEmail, 'other@example.com']) {
      const refused = await rejection(bootstrapOrganisation(ports, { ...OWNER, ownerEmail }));
      expect(refused).to.include({ code: 'conflict' });
    }
    expect(events.all.length).to.equal(before);
  });

  it('succeeds for one of two concurrent calls', async () => {
    for (const sameRun of [true, false]) {
      const { ports, events } = memoryPorts();
      const table = new Map<string, string>();
      const runs = ['run_a', sameRun ? 'run_a' : 'run_b'].map((runId) => memoryLeases(runId, table));
      const outcomes = await Promise.allSettled(
        runs.map((leases) => bootstrapOrganisation({ ...ports, leases }, OWNER)),
      );
      expect(outcomes.map(({ status }) => status)).to.have.members(['fulfilled', 'rejected']);
      expect(typesIn(events).filter((type) => type === 'OrganisationCreated')).to.have.length(1);
    }
  });

  it('resumes with the same ids after a crash at any append', async () => {
    const whole = memoryPorts();
    await bootstrapOrganisation(whole.ports, OWNER);
    for (let crashAt = 1; crashAt < whole.events.all.length; crashAt += 1) {
      const { ports, events } = memoryPorts();
      const dying = { ...ports, events: diesAfter(events, crashAt), leases: memoryLeases('run_dead') };
      await rejection(bootstrapOrganisation(dying, OWNER));
      await ports.directory.waitFor(await events.headPosition());
      const made = await bootstrapOrganisation({ ...ports, leases: memoryLeases('run_2') }, OWNER);
      const types = typesIn(events);
      for (const once of [
        'OrganisationCreated',
        'MemberAdded',
        'AccountRegistered',
        'AgentCreated',
        'BootstrapFinished',
      ]) {
        expect(
          types.filter((type) => type === once),
          `${once} after ${String(crashAt)}`,
        ).to.have.length(1);
      }
      expect(ports.directory.state.organisations.has(made.orgId)).to.equal(true);
    }
  });

  it('resumes only for the same owner', async () => {
    const { ports, events } = memoryPorts();
    const dying = { ...ports, events: diesAfter(events, 2), leases: memoryLeases('run_dead') };
    await rejection(bootstrapOrganisation(dying, OWNER));
    const other = { ...OWNER, ownerEmail: 'other@example.com' };
    expect(await rejection(bootstrapOrganisation(ports, other))).to.include({ code: 'conflict' });
  });

  it('refuses a short password before it appends anything', async () => {
    const { ports, events } = memoryPorts();
    const refused = await rejection(bootstrapOrganisation(ports, { ...OWNER, password: 'short' }));
    expect(refused).to.include({ code: 'invalid_request' });
    expect(events.all).to.have.length(0);
  });
});

/** A store that stops answering when it holds this many events. */
function diesAfter(events: ReturnType<typeof memoryPorts>['events'], count: number): typeof events {
  return new Proxy(events, {
    get: (target, property) => {
      if (property === 'append' && target.all.length >= count) {
        return () => Promise.reject(new Error('the process died'));
      }
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

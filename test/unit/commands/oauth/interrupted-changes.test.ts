import { expect } from 'chai';
import { session, startSession } from '../../../../commands/accounts/session.ts';
import type { Capability } from '../../../../commands/kernel/capability.ts';
import { decideAndAppend, systemAuthor } from '../../../../commands/kernel/decide-and-append.ts';
import { decideAuthorizationRequest } from '../../../../commands/oauth/decide-authorization-request.ts';
import {
  createOAuthClient,
  deleteOAuthClient,
  updateOAuthClient,
} from '../../../../commands/oauth/manage-oauth-clients.ts';
import type { OAuthGrantEntry } from '../../../../commands/ports/directory.ts';
import type { Ports } from '../../../../commands/ports/ports.ts';
import { afterAppends, aroundAppends } from '../../../support/fakes/around-appends.ts';
import { ProcessGone } from '../../../support/fakes/breaking-mailbox.ts';
import { dyingBefore } from '../../../support/fakes/dying-ports.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { ApplicationWorld, DOCUMENT } from '../../../support/worlds/application-world.ts';
import { invokeAs } from '../../../support/worlds/invoke-as.ts';

const ALLOWED = { scopes: ['mailboxes:read'], mailbox_ids: null };

describe('a change of OAuth that is interrupted or overtaken', () => {
  let world: ApplicationWorld;
  beforeEach(async () => {
    world = await ApplicationWorld.open();
  });

  const invokeWith = (ports: Ports, capability: Capability, input: object, ifMatch: string | null = null) =>
    invokeAs(ports, world.people.gateway.callerOf(world.owner), [capability, input], {
      idempotencyKey: null,
      ifMatch,
    });
  const approve = async (): Promise<string> => {
    const input = { name: 'Mail helper', client_id: DOCUMENT.id };
    return (await world.people.gateway.call<{ id: string }>(createOAuthClient, input, { token: world.owner }))
      .id;
  };
  const grants = (): OAuthGrantEntry[] => [...world.people.state.oauthGrants.values()];
  const live = (): string[] => grants().flatMap(({ id, revokedAt }) => (revokedAt === null ? [id] : []));
  const mails = (): unknown[] =>
    world.people.gateway.events.all.flatMap(({ type, data }) =>
      type === 'SystemMailRequested' ? [data['oauth_grant_id']] : [],
    );
  /** A session of the owner in another organisation. */
  const signInElsewhere = async (): Promise<{ orgId: string; token: string }> => {
    const { ports, gateway } = world.people;
    const { userId } = gateway.org;
    const orgId = await world.people.found(userId);
    const token = ports.ids.newId('ses');
    const secretHash = await ports.personal.seal(userId, ports.ids.newUuid());
    const { position } = await decideAndAppend(ports, systemAuthor(ports, orgId), session, {
      id: token,
      decide: (state) => startSession(state, { userId, secretHash, now: ports.clock.now() }),
    });
    await ports.directory.waitFor(position ?? 0n);
    return { orgId, token };
  };

  it('ends the connections before the approval is withdrawn, so that a repeat finishes it', async () => {
    const { ports, state } = world.people;
    const id = await approve();
    const grant = await world.connect();
    const input = { oauth_client_id: id };
    const dies = invokeWith(dyingBefore(ports, /^OAuthClientDeleted$/), deleteOAuthClient, input);
    expect(await rejection(dies)).to.be.instanceOf(ProcessGone);
    expect(world.grant(grant.id)?.revokedAt).not.to.equal(null);
    expect(state.oauthClients.has(id)).to.equal(true);
    await invokeWith(ports, deleteOAuthClient, input);
    expect(state.oauthClients.has(id)).to.equal(false);
  });

  it('ends a connection that was allowed just before the approval was withdrawn', async () => {
    const { ports } = world.people;
    const id = await approve();
    const overtaken = aroundAppends(
      ports,
      async (stream) => {
        if (stream === `oauthClient-${id}`) await world.connect();
      },
      () => Promise.resolve(),
    );
    await invokeWith(overtaken, deleteOAuthClient, { oauth_client_id: id });
    expect(grants()).to.have.length(1);
    expect(live()).to.deep.equal([]);
  });

  it('leaves no connection when the request was refused meanwhile', async () => {
    const { ports, orgId } = world.people;
    const token = world.ask();
    const overtaken = aroundAppends(
      ports,
      (stream) => {
        if (stream.startsWith('oauthGrant-'))
          world.requests.decisions.set(`request-${token}`, { allowed: false });
        return Promise.resolve();
      },
      () => Promise.resolve(),
    );
    const input = { consent_token: token, org_id: orgId, decision: 'allow', ...ALLOWED };
    const allowing = invokeWith(overtaken, decideAuthorizationRequest, input);
    expect(await rejection(allowing)).to.include({ code: 'conflict' });
    expect(grants()).to.have.length(1);
    expect(live()).to.deep.equal([]);
    expect(world.requests.forgotten).to.deep.equal(grants().map(({ id }) => id));
    expect(mails()).to.deep.equal([]);
  });

  /** The grant is in the log, and the request is not decided. */
  const diesBeforeTheDecision = async (token: string): Promise<void> => {
    const { ports, orgId } = world.people;
    const dying = afterAppends(ports, (stream) =>
      stream.startsWith('oauthGrant-') ? Promise.reject(new ProcessGone()) : Promise.resolve(),
    );
    const input = { consent_token: token, org_id: orgId, decision: 'allow', ...ALLOWED };
    expect(await rejection(invokeWith(dying, decideAuthorizationRequest, input))).to.be.instanceOf(
      ProcessGone,
    );
    expect(world.requests.decisions.size).to.equal(0);
  };

  it('leaves no connection when the process died before the decision, and the person then refuses', async () => {
    const token = world.ask();
    await diesBeforeTheDecision(token);
    const refusal = { decision: 'deny', scopes: undefined, mailbox_ids: undefined };
    expect(await world.allow(token, refusal)).to.include({ connected_application_id: null });
    expect(grants()).to.have.length(1);
    expect(live()).to.deep.equal([]);
    expect(world.requests.forgotten).to.deep.equal(grants().map(({ id }) => id));
  });

  it('leaves only the connection in the organisation in which the person then allows it', async () => {
    const token = world.ask();
    await diesBeforeTheDecision(token);
    const other = await signInElsewhere();
    const { connected_application_id: id } = await world.allow(
      token,
      { ...ALLOWED, org_id: other.orgId },
      other.token,
    );
    expect(grants()).to.have.length(2);
    expect(live()).to.deep.equal([id]);
  });

  it('mails the person once, also when the process died before', async () => {
    const { ports, orgId } = world.people;
    const token = world.ask();
    const input = { consent_token: token, org_id: orgId, decision: 'allow', ...ALLOWED };
    const dies = invokeWith(dyingBefore(ports, /^SystemMailRequested$/), decideAuthorizationRequest, input);
    expect(await rejection(dies)).to.be.instanceOf(ProcessGone);
    expect(mails()).to.deep.equal([]);
    const { connected_application_id: id } = await world.allow(token, ALLOWED);
    await world.allow(token, ALLOWED);
    expect(live()).to.deep.equal([id]);
    expect(mails()).to.deep.equal([id]);
  });

  it('does not take a decision in one organisation for one in another', async () => {
    const token = world.ask();
    const { connected_application_id: id } = await world.allow(token, ALLOWED);
    const other = await signInElsewhere();
    const again = world.allow(token, { ...ALLOWED, org_id: other.orgId }, other.token);
    expect(await rejection(again)).to.include({ code: 'conflict' });
    expect(live()).to.deep.equal([id]);
  });

  it('keeps the first lifetime when the same decision comes again', async () => {
    const token = world.ask();
    const first = await world.allow(token, ALLOWED);
    const { expiresAt } = grants()[0] ?? {};
    expect(await world.allow(token, { ...ALLOWED, expires_in_days: 90 })).to.deep.equal(first);
    expect(grants().map((entry) => entry.expiresAt)).to.deep.equal([expiresAt]);
  });

  it('refuses a change of a client under a version that was overtaken', async () => {
    const { ports, state } = world.people;
    const id = await approve();
    let count = 0;
    const overtaken = aroundAppends(
      ports,
      async (stream) => {
        if (stream === `oauthClient-${id}` && (count += 1) === 1)
          await invokeWith(ports, updateOAuthClient, { oauth_client_id: id, name: 'First' }, '1');
      },
      () => Promise.resolve(),
    );
    const second = { oauth_client_id: id, name: 'Second' };
    expect(await rejection(invokeWith(overtaken, updateOAuthClient, second, '1'))).to.deep.include({
      code: 'version_conflict',
      details: { version: 2 },
    });
    expect(state.oauthClients.get(id)).to.deep.include({ name: 'First', version: 2 });
  });
});

import { expect } from 'chai';
import fc from 'fast-check';
import type { AnyEvent } from '../../../commands/event-catalogue.ts';
import type { PolicyEntry } from '../../../commands/ports/directory.ts';
import type { Fact } from '../../../commands/values/event.ts';
import { loadAggregate } from '../../../commands/kernel/decide-and-append.ts';
import { heldContent, holdsAgainst, type Loss } from '../../../commands/kernel/legal-holds.ts';
import { mailbox } from '../../../commands/mailboxes/mailbox.ts';
import { decidePolicy } from '../../../commands/policy/decide-policy.ts';
import { DirectoryMaps } from '../../../infra/directory/directory-maps.ts';
import { changesOf, denialBy, keysOf } from '../../../projections/directory-changes.ts';
import { projectedEvent } from '../../../projections/projection.ts';
import { happened, openSample, sealSample } from '../../support/samples/event-author.ts';
import { MemoryEventStore } from '../../support/fakes/memory-event-store.ts';
import { SAMPLE_EVENTS } from '../../support/samples/sample-events.ts';
import {
  AGENT,
  AGENT_GRANT,
  GRANT,
  grantGiven,
  MAILBOX,
  mailboxAdded,
  ORG,
  OWNER,
  sampleHistory,
  TOKEN,
} from '../../support/samples/sample-history.ts';

/** The directory after every event of a log. */
async function directoryAfter(events: MemoryEventStore): Promise<DirectoryMaps> {
  const maps = new DirectoryMaps();
  for (const stored of events.all) {
    const event = projectedEvent(stored);
    if (!event) continue;
    const keys = keysOf(event.streamName, event.fact).map(({ kind, id }) => `${kind} ${id}`);
    const { put, remove } = await changesOf(
      event,
      (kind, id) => {
        expect(keys).to.include(`${kind} ${id}`);
        return maps.lookUp(kind, id);
      },
      openSample,
    );
    for (const entity of put) maps.put(entity);
    for (const key of remove) maps.remove(key);
  }
  return maps;
}

describe('directory', () => {
  it('builds people, agents, tokens, mailboxes and grants from their events', async () => {
    const events = new MemoryEventStore();
    await sampleHistory(events);
    const { state } = await directoryAfter(events);
    expect(state.organisations.get(ORG)).to.deep.include({ id: ORG, name: 'Example', eraseAt: null });
    expect(state.people.get(OWNER)).to.deep.include({
      name: 'Olga',
      email: 'owner@example.com',
      isVerified: true,
    });
    expect(state.members.get(`${ORG}/${OWNER}`)?.role).to.equal('owner');
    expect(state.agents.get(AGENT)).to.deep.include({ ownerId: OWNER, orgId: ORG, name: 'Bot' });
    expect(state.tokenIdByHash.get('hash-1')).to.equal(TOKEN);
    expect(state.tokens.get(TOKEN)).to.deep.include({ revokedAt: null, surface: 'rest', orgId: ORG });
    expect(state.highestMailboxNumbers.get(0)).to.equal(1);
    expect(state.mailboxes.get(MAILBOX)).to.deep.include({
      email: 'box@example.com',
      state: 'connected',
      capabilities: ['MOVE'],
      detectedRoles: { inbox: 1, archive: 2 },
      version: 9,
      folders: [
        { number: 1, path: 'INBOX', availability: 'selectable' },
        { number: 2, path: 'Archive', availability: 'selectable' },
      ],
    });
    expect(state.grantIds.get(MAILBOX)?.get(AGENT)).to.equal(AGENT_GRANT);
    expect([...(state.mailboxIdsByPrincipal.get(OWNER) ?? [])]).to.deep.equal([MAILBOX]);
  });

  it('finds members by organisation and by person, until they are removed', async () => {
    const events = new MemoryEventStore();
    await sampleHistory(events);
    const { state } = await directoryAfter(events);
    expect([...(state.userIdsByOrg.get(ORG) ?? [])]).to.deep.equal([OWNER]);
    expect([...(state.orgIdsByUser.get(OWNER) ?? [])]).to.deep.equal([ORG]);
    const removed = { type: 'MemberRemoved', data: { user_id: OWNER, reason: 'removed' } } as const;
    await happened(events, `organisation-${ORG}`, [removed]);
    const later = (await directoryAfter(events)).state;
    expect([later.userIdsByOrg.has(ORG), later.orgIdsByUser.has(OWNER)]).to.deep.equal([false, false]);
  });

  it('keeps a revoked token and the time of its revocation', async () => {
    const events = new MemoryEventStore();
    await sampleHistory(events);
    await happened(events, `token-${TOKEN}`, [{ type: 'TokenRevoked', data: {} }]);
    const { state } = await directoryAfter(events);
    expect(Date.parse(state.tokens.get(TOKEN)?.revokedAt ?? '')).to.be.closeTo(Date.now(), 5_000);
  });

  it('removes a revoked grant from every index, and accepts another for the principal', async () => {
    const events = new MemoryEventStore();
    await sampleHistory(events);
    const revoked = { type: 'GrantRevoked', data: { grant_id: GRANT } } as const;
    await happened(events, `mailbox-${MAILBOX}`, [revoked]);
    const { state } = await directoryAfter(events);
    expect(state.grants.has(GRANT)).to.equal(false);
    expect(state.grantIds.get(MAILBOX)?.has(OWNER)).to.equal(false);
    expect(state.mailboxIdsByPrincipal.has(OWNER)).to.equal(false);
    await happened(events, `mailbox-${MAILBOX}`, [grantGiven('grt_next', OWNER), revoked]);
    const later = (await directoryAfter(events)).state;
    expect(later.grantIds.get(MAILBOX)?.get(OWNER)).to.equal('grt_next');
  });

  it('keeps the number of an erased mailbox and none of its texts', async () => {
    const events = new MemoryEventStore();
    await sampleHistory(events);
    await happened(events, `mailbox-${MAILBOX}`, [
      { type: 'MailboxRemoved', data: { erase_at: '2026-02-01T00:00:00.000Z' } },
      { type: 'MailboxErased', data: {} },
    ]);
    const { state } = await directoryAfter(events);
    expect(state.highestMailboxNumbers.get(0)).to.equal(1);
    expect(state.mailboxes.get(MAILBOX)).to.deep.include({ state: 'removed', email: '', folders: [] });
  });

  it('agrees with the aggregate of a mailbox after any events', async () => {
    const host = { host: 'other.example', port: 143, security: 'none' as const };
    const fact = fc.constantFrom<Fact<AnyEvent>>(
      { type: 'MailboxChanged', data: { imap: host, trusted_authserv_ids: ['mx.example'] } },
      { type: 'MailboxCredentialsStored', data: {} },
      { type: 'MailboxConnectionStarted', data: {} },
      { type: 'MailboxConnected', data: { capabilities: ['UIDPLUS'] } },
      { type: 'MailboxConnectionFailed', data: { reason: 'timeout' } },
      { type: 'MailboxAuthFailed', data: { reason: 'refused' } },
      { type: 'MailboxPaused', data: {} },
      { type: 'MailboxResumed', data: {} },
      { type: 'MailboxRemoved', data: { erase_at: '2026-02-01T00:00:00.000Z' } },
      { type: 'MailboxRestored', data: {} },
      { type: 'FolderAdded', data: { number: 1, path: sealSample('A'), path_key: 'a' } },
      { type: 'FolderAvailabilityChanged', data: { number: 1, availability: 'missing' } },
      { type: 'FolderRolesDetected', data: { roles: { archive: 1 } } },
      { type: 'FolderRolesSet', data: { roles: { archive: null } } },
      grantGiven(GRANT, OWNER),
      { type: 'GrantRevoked', data: { grant_id: GRANT } },
    );
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fact, { maxLength: 12 }), async (facts) => {
        const events = new MemoryEventStore();
        await happened(events, `mailbox-${MAILBOX}`, [mailboxAdded(), ...facts]);
        const { state: record } = await loadAggregate(events, mailbox, MAILBOX);
        const { state } = await directoryAfter(events);
        const entry = state.mailboxes.get(MAILBOX);
        expect(entry).to.deep.include({
          state: record.state,
          stateReason: record.stateReason,
          eraseAt: record.eraseAt,
          imap: record.imap,
          capabilities: record.capabilities,
          folderRoles: record.folderRoles,
          detectedRoles: record.detectedRoles,
          trustedAuthservIds: record.trustedAuthservIds,
          version: record.version,
        });
        expect([...state.grants.keys()]).to.deep.equal([...record.grants.keys()]);
        expect(entry?.folders.map(({ number, availability }) => [number, availability])).to.deep.equal(
          [...record.folders.values()].map(({ number, availability }) => [number, availability]),
        );
      }),
      { numRuns: 40 },
    );
  });

  it('denies the subject of an unreadable event and everyone it names, but no organisation', async () => {
    const events = new MemoryEventStore();
    await sampleHistory(events);
    const [token] = await events.readStream(`token-${TOKEN}`);
    const [created] = await events.readStream(`organisation-${ORG}`);
    expect(token && denialBy(token, () => undefined)).to.deep.equal({
      put: [],
      remove: [
        { kind: 'token', id: TOKEN },
        { kind: 'person', id: OWNER },
      ],
    });
    expect(created && denialBy(created, () => undefined)).to.deep.equal({ put: [], remove: [] });
  });

  it('keeps every owner that an unreadable event of an agent may name, until the next one is known', async () => {
    const events = new MemoryEventStore();
    await sampleHistory(events);
    const maps = await directoryAfter(events);
    const bea = OWNER.replace(/.$/, 'b');
    await happened(events, `agent-${AGENT}`, [{ type: 'AgentChanged', data: { owner_id: bea } }]);
    const stored = events.all.at(-1);
    expect(stored && denialBy(stored, maps.lookUp)).to.deep.equal({
      put: [
        {
          kind: 'agentOwners',
          value: { id: AGENT, orgId: ORG, ownerIds: [OWNER, bea], lastOwnerIds: [OWNER, bea] },
        },
      ],
      remove: [
        { kind: 'agent', id: AGENT },
        { kind: 'person', id: bea },
      ],
    });
    maps.remove({ kind: 'agent', id: AGENT });
    const event = stored && projectedEvent(stored);
    const next = event ? await changesOf(event, maps.lookUp, openSample) : { put: [] };
    expect(next.put, 'also of an agent that was removed').to.deep.equal([
      {
        kind: 'agentOwners',
        value: { id: AGENT, orgId: ORG, ownerIds: [OWNER, bea], lastOwnerIds: [bea] },
      },
    ]);
  });

  it('keeps what a hold names that cannot be read, and its organisation', async () => {
    const events = new MemoryEventStore();
    await sampleHistory(events);
    const [other] = await events.readStream(`agent-${AGENT}`);
    if (!other) throw new Error('no agent');
    const unread = {
      ...other,
      streamName: 'legalHold-hld_1',
      type: 'LegalHoldPlaced',
      data: { targets: OWNER },
    };
    const maps = await directoryAfter(events);
    for (const entity of denialBy(unread, maps.lookUp).put) maps.put(entity);
    const against = (loss: Loss) => holdsAgainst(maps.state, loss).map(({ id }) => id);
    expect(against({ kind: 'organisation', orgId: ORG })).to.deep.equal(['hld_1']);
    expect(against({ kind: 'account', userId: OWNER, approvals: [] })).to.deep.equal(['hld_1']);
    const draft = { kind: 'draft', draftId: 'drf_1', mailboxId: MAILBOX } as const;
    expect(against({ ...draft, startedBy: AGENT })).to.deep.equal(['hld_1']);
    expect(heldContent(maps.state)?.startedBy).to.deep.equal([`${ORG}/${OWNER}`, `${ORG}/${AGENT}`]);
  });

  it('holds the newest policy, and one that denies in place of an unreadable one', async () => {
    const events = new MemoryEventStore();
    const emptied = { version: 2, internal_domains: [], custom_headers: [], rules: [], default: null };
    await happened(events, `policy-${ORG}`, [
      { type: 'PolicySet', data: SAMPLE_EVENTS.PolicySet },
      { type: 'PolicySet', data: emptied },
    ]);
    const { state } = await directoryAfter(events);
    expect(state.policies.get(ORG)).to.deep.equal({ id: ORG, ...emptied });
    const [stored] = await events.readStream(`policy-${ORG}`);
    const { put: [denied] = [] } = stored ? denialBy(stored, () => undefined) : {};
    expect(denied).to.deep.include({ kind: 'policy' });
    const decision = decidePolicy(denied?.value as PolicyEntry, {
      actions: ['move'],
      mailboxId: MAILBOX,
      actor: 'person',
      principalId: OWNER,
      bulkCount: 1,
      send: null,
    });
    expect(decision).to.include({ decision: 'deny', ruleId: 'unreadable', version: 1 });
  });
});

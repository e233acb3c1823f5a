import { expect } from 'chai';
import { createMailbox } from '../../../../commands/mailboxes/manage-mailboxes.ts';
import { createGrant, updateGrant } from '../../../../commands/mailboxes/manage-grants.ts';
import { systemAuthor } from '../../../../commands/kernel/decide-and-append.ts';
import { createAgent } from '../../../../commands/organisation/add-agent.ts';
import {
  assertQuotaLeft,
  giveQuotaBack,
  type Sender,
  takeQuota,
} from '../../../../commands/operations/send-quota.ts';
import { IMAP, SMTP } from '../../../support/samples/mailbox-facts.ts';
import { type MemoryGateway, startMemoryGateway } from '../../../support/worlds/memory-gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

describe('send quota', () => {
  let gateway: MemoryGateway;
  let sender: Sender;
  let elsewhere: Sender;
  let operations: number;

  beforeEach(async () => {
    gateway = await startMemoryGateway();
    operations = 0;
    sender = await senderFrom('a@example.com');
    elsewhere = await senderFrom('b@example.com');
  });

  const senderFrom = async (email: string): Promise<Sender> => {
    const auth = { type: 'password', username: 'box', password: 'secret' };
    const { id } = await gateway.call<{ id: string }>(createMailbox, { email, imap: IMAP, smtp: SMTP, auth });
    return { principalId: gateway.org.agentId, actor: 'agent', mailboxId: id };
  };
  const grant = ({ mailboxId }: Sender, quotas: object) =>
    gateway.call(createGrant, {
      mailbox_id: mailboxId,
      principal_id: gateway.org.agentId,
      preset: 'sender',
      quotas,
    });
  const take = async (from: Sender, times = 1): Promise<void> => {
    const { ports, org } = gateway;
    for (let n = 0; n < times; n += 1)
      await takeQuota(ports, systemAuthor(ports, org.orgId), from, {
        operationId: `opn_${String((operations += 1))}`,
      });
  };

  const ownersQuota = async (perHour: number): Promise<void> => {
    await gateway.call(updateGrant, {
      mailbox_id: sender.mailboxId,
      grant_id: gateway.ports.directory.state.grantIds.get(sender.mailboxId)?.get(gateway.org.userId),
      quotas: { sends_per_hour: perHour },
    });
  };

  it(`is that of the grant when it is stricter, and separate for each mailbox ${verifies('contract:3:grant-quotas')}`, async () => {
    await grant(sender, { sends_per_hour: 2 });
    await take(sender, 2);
    const refused = {
      code: 'quota_exceeded',
      details: { quota: 'sends_per_hour', limit: 2 },
      retryAfterSeconds: 3_600,
    };
    expect(await rejection(take(sender))).to.deep.include(refused);
    expect(await rejection(assertQuotaLeft(gateway.ports, sender, 'opn_x'))).to.deep.include(refused);
    await take(elsewhere, 28);
    expect(await rejection(take(elsewhere))).to.deep.include({
      code: 'quota_exceeded',
      details: { quota: 'sends_per_hour', limit: 30 },
    });
    gateway.clock.advance(3_600_000);
    await take(sender);
  });

  it('leaves out sends that were given back', async () => {
    await grant(sender, { sends_per_hour: 1 });
    await take(sender);
    const { ports, org, clock } = gateway;
    const operation = { id: 'opn_1', intendedAt: clock.now() };
    await giveQuotaBack(ports, systemAuthor(ports, org.orgId), sender.principalId, operation);
    await take(sender);
    expect(await rejection(take(sender))).to.include({ code: 'quota_exceeded' });
  });

  it('counts a send again that was given back, and counts it once', async () => {
    await grant(sender, { sends_per_hour: 2 });
    const { ports, org, clock } = gateway;
    const author = systemAuthor(ports, org.orgId);
    const again = () => takeQuota(ports, author, sender, { operationId: 'opn_1' });
    await again();
    await giveQuotaBack(ports, author, sender.principalId, { id: 'opn_1', intendedAt: clock.now() });
    operations = 1;
    await take(sender);
    await again();
    await again();
    expect(await rejection(take(sender))).to.include({ code: 'quota_exceeded' });
  });

  it('reads an hour once, and again when another send was first', async () => {
    await grant(sender, { sends_per_hour: 2 });
    const { ports, org } = gateway;
    const author = systemAuthor(ports, org.orgId);
    const readStream = ports.events.readStream.bind(ports.events);
    let reads = 0;
    ports.events.readStream = (stream, from) => {
      if (stream.startsWith('quota-')) reads += 1;
      return readStream(stream, from);
    };
    const hours = await assertQuotaLeft(ports, sender, 'opn_1');
    await takeQuota(ports, author, sender, { operationId: 'opn_1', hours });
    expect(reads).to.equal(hours.size);
    const now = await assertQuotaLeft(ports, sender, 'opn_2');
    operations = 2;
    await take(sender);
    const late = takeQuota(ports, author, sender, { operationId: 'opn_2', hours: now });
    expect(await rejection(late)).to.include({ code: 'quota_exceeded' });
  });

  it('admits one of several sends that race for the last place', async () => {
    await grant(sender, { sends_per_hour: 1 });
    const ends = await Promise.allSettled([take(sender), take(sender), take(sender)]);
    expect(ends.filter(({ status }) => status === 'fulfilled')).to.have.length(1);
  });

  it(`is shared by the owner and the owner's agents when the owner's grant has one ${verifies('contract:3:grant-quotas')}`, async () => {
    await grant(sender, { sends_per_hour: 5 });
    const owner: Sender = { ...sender, principalId: gateway.org.userId, actor: 'delegated' };
    await take(owner, 40);
    const { id: another } = await gateway.call<{ id: string }>(createAgent, { name: 'Another' });
    const second: Sender = { ...sender, principalId: another };
    await ownersQuota(3);
    await take(sender);
    await take(second);
    await take(owner);
    const full = { code: 'quota_exceeded', details: { quota: 'sends_per_hour', limit: 3 } };
    for (const who of [owner, sender, second]) {
      expect(await rejection(take(who))).to.deep.include(full);
      expect(await rejection(assertQuotaLeft(gateway.ports, who, 'opn_x'))).to.deep.include(full);
    }
    const { ports, org, clock } = gateway;
    const sent = { id: 'opn_42', intendedAt: clock.now() };
    await giveQuotaBack(ports, systemAuthor(ports, org.orgId), second.principalId, sent);
    await take(sender);
    expect(await rejection(take(second))).to.deep.include(full);
  });

  it("charges an agent nothing when the owner's quota refuses", async () => {
    const owner: Sender = { ...sender, principalId: gateway.org.userId, actor: 'delegated' };
    await ownersQuota(1);
    await take(owner);
    for (let n = 0; n < 31; n += 1)
      expect(await rejection(take(sender))).to.include({ code: 'quota_exceeded' });
    await take(elsewhere, 30);
  });

  it('records nothing when nothing is limited', async () => {
    const before = gateway.events.all.length;
    await take({ ...sender, actor: 'person', principalId: gateway.org.userId });
    expect(gateway.events.all.length).to.equal(before);
  });
});

import { expect } from 'chai';
import { createMailbox } from '../../../../../commands/mailboxes/create-mailbox.ts';
import { createGrant, updateGrant } from '../../../../../commands/mailboxes/manage-grants.ts';
import { systemAuthor } from '../../../../../commands/kernel/system-author.ts';
import {
  assertQuotaLeft,
  giveQuotaBack,
  type Sender,
  takeQuota,
} from '../../../../../commands/drafts/sending/send-quota.ts';
import { IMAP, SMTP } from '../../../../support/mailbox-facts.ts';
import { type MemoryGateway, startMemoryGateway } from '../../../../support/memory-gateway.ts';
import { rejection } from '../../../../support/rejection.ts';
import { verifies } from '../../../../support/verifies.ts';

describe('the quota of sends', () => {
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
      await takeQuota(ports, systemAuthor(ports, org.orgId), from, `opn_${String((operations += 1))}`);
  };

  it(`is of the grant where that is stricter, and of each mailbox on its own ${verifies('contract:3:grant-quotas')}`, async () => {
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

  it('counts what was given back no more', async () => {
    await grant(sender, { sends_per_hour: 1 });
    await take(sender);
    const { ports, org, clock } = gateway;
    const operation = { id: 'opn_1', intendedAt: clock.now() };
    await giveQuotaBack(ports, systemAuthor(ports, org.orgId), sender.principalId, operation);
    await take(sender);
    expect(await rejection(take(sender))).to.include({ code: 'quota_exceeded' });
  });

  it('lets one of two that race for the last one through', async () => {
    await grant(sender, { sends_per_hour: 1 });
    const ends = await Promise.allSettled([take(sender), take(sender), take(sender)]);
    expect(ends.filter(({ status }) => status === 'fulfilled')).to.have.length(1);
  });

  it("binds an agent by its owner's grant too, and whoever is no agent by his own alone", async () => {
    await grant(sender, { sends_per_hour: 5 });
    const owner: Sender = { ...sender, principalId: gateway.org.userId, actor: 'delegated' };
    await take(owner, 40);
    const { grantIds } = gateway.ports.directory.state;
    await gateway.call(updateGrant, {
      mailbox_id: sender.mailboxId,
      grant_id: grantIds.get(sender.mailboxId)?.get(gateway.org.userId),
      quotas: { sends_per_hour: 3 },
    });
    await take(owner, 3);
    expect(await rejection(take(owner))).to.deep.include({ details: { quota: 'sends_per_hour', limit: 3 } });
    await take(sender, 3);
    expect(await rejection(take(sender))).to.include({ code: 'quota_exceeded' });
  });

  it('writes nothing where nothing is counted', async () => {
    const before = gateway.events.all.length;
    await take({ ...sender, actor: 'person', principalId: gateway.org.userId });
    expect(gateway.events.all.length).to.equal(before);
  });
});

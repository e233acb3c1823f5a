import { expect } from 'chai';
import { actOnEmail } from '../../../../commands/email/act-on-email.ts';
import { createMailbox } from '../../../../commands/mailboxes/create-mailbox.ts';
import type { OperationReply } from '../../../../commands/operations/operation.ts';
import { eventually } from '../../../support/eventually.ts';
import { FakeMailbox } from '../../../support/fake-mailbox.ts';
import { IMAP, SMTP } from '../../../support/mailbox-facts.ts';
import { connectAndSync } from '../../../support/connect.ts';
import { type MemoryGateway, startMemoryGateway } from '../../../support/memory-gateway.ts';
import { rejection } from '../../../support/rejection.ts';
import { verifies } from '../../../support/verifies.ts';

const auth = { type: 'password', username: 'box', password: 'secret' };

/** A mailbox whose moves wait until they are let go. */
class SlowMailbox extends FakeMailbox {
  readonly #gate = Promise.withResolvers<undefined>();
  readonly #reached = Promise.withResolvers<undefined>();
  readonly reached = this.#reached.promise;

  letGo(): void {
    this.#gate.resolve(undefined);
  }

  override async moveMessages(...args: Parameters<FakeMailbox['moveMessages']>) {
    this.#reached.resolve(undefined);
    await this.#gate.promise;
    return await super.moveMessages(...args);
  }
}

describe('an operation while it runs', () => {
  let gateway: MemoryGateway;
  let mailbox: SlowMailbox;
  let input: object;
  /** What the clock is asked to wait for, each with the end of the wait. */
  let sleeps: { readonly milliseconds: number; readonly end: () => void }[];

  const trash = () => gateway.invoke(actOnEmail, input, { key: 'k' });
  const operationId = (): string =>
    gateway.ports.ids.idForKey('opn', gateway.org.orgId, gateway.org.userId, 'k');

  beforeEach(async () => {
    gateway = await startMemoryGateway();
    const { ports } = gateway;
    const box = { email: 'box@example.com', imap: IMAP, smtp: SMTP, auth };
    const { id } = await gateway.call<{ id: string }>(createMailbox, box);
    await connectAndSync(ports, id);
    mailbox = new SlowMailbox();
    gateway.mail.withMailbox = (_, __, work) => work(mailbox);
    const uid = mailbox.add('INBOX', '<one@example.com>');
    const { uidValidity } = mailbox.folder('INBOX');
    const place = { mailboxNumber: 1, folderNumber: 1, uidValidity, uid };
    const select = { message_ids: [ports.locators.message(place)] };
    input = { mailbox_id: id, operation: { type: 'message_actions', select, actions: [{ type: 'trash' }] } };
    sleeps = [];
    gateway.clock.sleep = (milliseconds) =>
      new Promise((resolve) => {
        sleeps.push({ milliseconds, end: resolve });
      });
  });

  it(`is held by a lease, and its run is named in event 0 ${verifies('contract:10:lease')}`, async () => {
    const { ports, events } = gateway;
    const work = trash();
    await mailbox.reached;
    expect((await ports.leases.holder(operationId()))?.runId).to.equal(ports.leases.runId);
    const first = events.all.find(({ streamName }) => streamName === `operation-${operationId()}`);
    expect(first?.data).to.include({ run_id: ports.leases.runId });
    mailbox.letGo();
    expect(((await work).output as OperationReply).summary).to.include({ done: 1 });
    expect(await ports.leases.holder(operationId())).to.equal(null);
  });

  it(`answers 504 after 30 seconds and goes on; the same key tells the outcome ${verifies('contract:6:slow-provider')}`, async () => {
    const refused = rejection(trash());
    await mailbox.reached;
    sleeps.find(({ milliseconds }) => milliseconds === 30_000)?.end();
    expect(await refused).to.deep.include({
      code: 'provider_timeout',
      details: { operation_id: operationId() },
    });
    expect(await rejection(trash())).to.include({ code: 'idempotency_in_progress' });
    mailbox.letGo();
    await eventually(async () => (await gateway.ports.leases.holder(operationId())) === null);
    const { output, replayed } = await trash();
    expect(replayed).to.equal(true);
    expect((output as OperationReply).summary).to.include({ done: 1 });
    expect(mailbox.commands).to.have.length(1);
  });
});

import { expect } from 'chai';
import { actOnEmail } from '../../../../commands/email/act-on-email.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import { createMailbox } from '../../../../commands/mailboxes/manage-mailboxes.ts';
import type { OperationReply } from '../../../../commands/operations/operation.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { FakeMailbox } from '../../../support/fakes/fake-mailbox.ts';
import { Gate, HeldSleeps } from '../../../support/fakes/held-sleeps.ts';
import { IMAP, SMTP } from '../../../support/samples/mailbox-facts.ts';
import { connectAndSync } from '../../../support/worlds/connect.ts';
import { type MemoryGateway, startMemoryGateway } from '../../../support/worlds/memory-gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const auth = { type: 'password', username: 'box', password: 'secret' };

/** A mailbox whose moves wait until the gate opens. */
class SlowMailbox extends FakeMailbox {
  readonly gate = new Gate();

  override async moveMessages(...args: Parameters<FakeMailbox['moveMessages']>) {
    await this.gate.pass();
    return await super.moveMessages(...args);
  }
}

describe('a running operation', () => {
  let gateway: MemoryGateway;
  let mailbox: SlowMailbox;
  let input: object;
  let sleeps: HeldSleeps;

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
    sleeps = new HeldSleeps(gateway.clock);
  });

  it(`holds a lease, and names its run in event 0 ${verifies('contract:10:lease')}`, async () => {
    const { ports, events } = gateway;
    const work = trash();
    await mailbox.gate.reached;
    expect((await ports.leases.holder(operationId()))?.runId).to.equal(ports.leases.runId);
    const first = events.all.find(({ streamName }) => streamName === `operation-${operationId()}`);
    expect(first?.data).to.include({ run_id: ports.leases.runId });
    mailbox.gate.letGo();
    expect(((await work).output as OperationReply).summary).to.include({ done: 1 });
    expect(await ports.leases.holder(operationId())).to.equal(null);
  });

  it(`answers 504 after 30 seconds and continues; the same key returns the outcome ${verifies('contract:6:slow-provider')}`, async () => {
    const refused = rejection(trash());
    await mailbox.gate.reached;
    sleeps.end(30_000);
    expect(await refused).to.deep.include({
      code: 'provider_timeout',
      details: { operation_id: operationId() },
    });
    expect(await rejection(trash())).to.include({ code: 'idempotency_in_progress' });
    mailbox.gate.letGo();
    await eventually(async () => (await gateway.ports.leases.holder(operationId())) === null);
    const { output, replayed } = await trash();
    expect(replayed).to.equal(true);
    expect((output as OperationReply).summary).to.include({ done: 1 });
    expect(mailbox.commands).to.have.length(1);
  });

  it(`returns its id in the 504 even when nothing is recorded yet ${verifies('contract:6:slow-provider')}`, async () => {
    const gate = new Gate();
    gateway.mail.withMailbox = async (_, __, work) => {
      await gate.pass();
      return await work(mailbox);
    };
    const refused = rejection(trash());
    await gate.reached;
    sleeps.end(30_000);
    expect(await refused).to.deep.include({
      code: 'provider_timeout',
      details: { operation_id: operationId() },
    });
    gate.letGo();
    mailbox.gate.letGo();
    const { events } = gateway;
    await eventually(() => events.all.some(({ streamName }) => streamName === `operation-${operationId()}`));
    await eventually(async () => (await trash()).replayed);
  });

  it('asks the store no second time when the append failed after a wait', async () => {
    const { events } = gateway;
    const asked: string[] = [];
    const readStream = events.readStream.bind(events);
    events.append = (stream) => {
      asked.push(`append ${stream}`);
      return Promise.reject(new GatewayError('store_unavailable', 'No answer within ten seconds.'));
    };
    events.readStream = (stream, from) => {
      asked.push(`read ${stream}`);
      return readStream(stream, from);
    };
    expect(await rejection(trash())).to.include({ code: 'store_unavailable' });
    expect(asked).to.deep.equal([`append operation-${operationId()}`]);
  });

  it('returns no id when a preview is too slow, because nothing is stored', async () => {
    const gate = new Gate();
    gateway.mail.withMailbox = () => gate.pass() as Promise<never>;
    const preview = { ...input, authorization: { mode: 'preview' } };
    const refused = rejection(gateway.invoke(actOnEmail, preview));
    await gate.reached;
    sleeps.end(30_000);
    expect(await refused).to.deep.include({ code: 'provider_timeout', details: {} });
  });

  it(`answers 504 in time when a repeat reconciles slowly ${verifies('contract:6:slow-provider')}`, async () => {
    const { events } = gateway;
    const append = events.append.bind(events);
    events.append = (stream, expected, written) =>
      written[0]?.type === 'ActionOutcomesRecorded'
        ? Promise.reject(new Error('the process was killed'))
        : append(stream, expected, written);
    mailbox.gate.letGo();
    await rejection(trash());
    events.append = append;
    const gate = new Gate();
    const away = new GatewayError('mailbox_unavailable', 'No connection.');
    const answers = [() => Promise.reject(away), () => gate.pass()];
    gateway.mail.withMailbox = async (_, __, work) => {
      await answers.shift()?.();
      return await work(mailbox);
    };
    const refused = rejection(trash());
    await gate.reached;
    sleeps.end(30_000);
    expect(await refused).to.deep.include({
      code: 'provider_timeout',
      details: { operation_id: operationId() },
    });
    gate.letGo();
    await eventually(async () => (await gateway.ports.leases.holder(operationId())) === null);
    expect((await trash()).replayed).to.equal(true);
    expect(mailbox.commands).to.have.length(1);
  });
});

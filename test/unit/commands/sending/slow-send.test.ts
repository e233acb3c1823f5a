import { expect } from 'chai';
import { eventually } from '../../../support/suite/eventually.ts';
import { LATER_AT_CONNECT } from '../../../support/fakes/fake-submission.ts';
import { Gate, HeldSleeps } from '../../../support/fakes/held-sleeps.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { SendRig } from '../../../support/worlds/send-rig.ts';
import { verifies } from '../../../support/suite/verifies.ts';

describe('a send that takes longer than half a minute', () => {
  let rig: SendRig;
  let sleeps: HeldSleeps;
  let gate: Gate;
  let draftId: string;

  beforeEach(async () => {
    rig = new SendRig();
    sleeps = new HeldSleeps(rig.ports.clock);
    gate = new Gate();
    draftId = await rig.startDraft();
  });

  const isSlow = async (): Promise<void> => {
    const refused = rejection(rig.send(draftId, 'key-1'));
    await gate.reached;
    sleeps.end(30_000);
    expect(await refused).to.deep.include({
      code: 'provider_timeout',
      details: { operation_id: rig.operationId('key-1') },
    });
    gate.letGo();
    await eventually(async () => (await rig.draft(draftId)).status === 'sent' && rig.leaseTable.size === 0);
    expect(await rig.send(draftId, 'key-1')).to.include({
      status: 'completed',
      original_status: 'completed',
    });
    expect(rig.submission.taken).to.have.length(1);
  };

  it(`answers with a timeout while the message is composed, continues, and is replayed by its key ${verifies('contract:6:slow-provider')}`, async () => {
    const { content } = rig.ports;
    const put = content.put.bind(content);
    content.put = async (facts, source) => {
      if (facts.kind === 'mime') await gate.pass();
      return await put(facts, source);
    };
    await isSlow();
  });

  it(`answers with a timeout when a repeat of its key continues it ${verifies('contract:6:slow-provider')}`, async () => {
    rig.submission.course = LATER_AT_CONNECT;
    expect(await rejection(rig.send(draftId, 'key-1'))).to.include({ code: 'provider_timeout' });
    rig.submission.course = { kind: 'accept' };
    rig.parts.clock.advance(60_000);
    rig.submission.at = (step) => (step === 'connect' ? gate.pass() : undefined);
    await isSlow();
  });
});

import { expect } from 'chai';
import type { Ports } from '../../../../commands/ports/ports.ts';
import { ApprovedSendRig } from '../../../support/worlds/approved-send-rig.ts';
import { SendRig } from '../../../support/worlds/send-rig.ts';

const KEY = 'key-1';

/** Runs the work before the first read of the draft is answered; everything else is read as it is asked. */
function beforeDraft(ports: Ports, draftId: string, work: () => Promise<unknown>): Ports {
  const { events } = ports;
  let isFirst = true;
  return {
    ...ports,
    events: {
      append: (...of) => events.append(...of),
      readStream: async (stream, from) => {
        if (stream === `draft-${draftId}` && isFirst) {
          isFirst = false;
          await work();
        }
        return await events.readStream(stream, from);
      },
      readLast: (stream) => events.readLast(stream),
      headPosition: () => events.headPosition(),
      readAll: (after, most) => events.readAll(after, most),
      subscribeToAll: (from, signal, filter) => events.subscribeToAll(from, signal, filter),
    },
  };
}

/** Runs the work before the first lease is taken. */
function beforeLease(ports: Ports, work: () => Promise<unknown>): Ports {
  const { leases } = ports;
  let isFirst = true;
  const acquire: Ports['leases']['acquire'] = async (name) => {
    if (isFirst) {
      isFirst = false;
      await work();
    }
    return await leases.acquire(name);
  };
  return { ...ports, leases: { ...leases, acquire } };
}

describe('a repeat of a key that the first request overtakes while the repeat reads', () => {
  it('replays the send', async () => {
    const rig = new SendRig();
    const id = await rig.startDraft();
    const ports = beforeDraft(rig.ports, id, () => rig.send(id, KEY));
    expect(await rig.send(id, KEY, { ports })).to.deep.include({
      status: 'completed',
      original_status: 'completed',
    });
    expect(rig.submission.taken.length).to.equal(1);
  });

  it('replays the request for an approval, and leaves its message as it was frozen', async () => {
    const rig = new ApprovedSendRig();
    const id = await rig.startDraft();
    const ports = beforeDraft(rig.ports, id, () => rig.ask(id, KEY));
    expect(await rig.ask(id, KEY, ports)).to.deep.include({
      status: 'awaiting_approval',
      original_status: 'awaiting_approval',
    });
    expect(await rig.typesOf(`draft-${id}`)).to.deep.equal(['DraftStarted', 'DraftFrozen']);
  });

  it('replays the request for an approval also where the first one comes after the reads', async () => {
    const rig = new ApprovedSendRig();
    const id = await rig.startDraft();
    const ports = beforeLease(rig.ports, () => rig.ask(id, KEY));
    expect(await rig.ask(id, KEY, ports)).to.deep.include({
      status: 'awaiting_approval',
      original_status: 'awaiting_approval',
    });
    expect(await rig.typesOf(`draft-${id}`)).to.deep.equal(['DraftStarted', 'DraftFrozen']);
  });
});

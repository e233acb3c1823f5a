import { expect } from 'chai';
import { identifyLog } from '../../../../commands/kernel/log-identity.ts';
import { memoryPorts } from '../../../support/worlds/memory-gateway.ts';

describe('identifyLog', () => {
  it('names a log once, also when many processes start at once', async () => {
    const { ports, events } = memoryPorts();
    const ids = await Promise.all(Array.from({ length: 5 }, () => identifyLog(ports)));
    expect(new Set(ids).size).to.equal(1);
    expect(ids[0]).to.match(/^[0-9a-f]{8}$/);
    expect(await identifyLog(ports)).to.equal(ids[0]);
    expect(events.all.map(({ type }) => type)).to.deep.equal(['LogNamed']);
  });

  it('names each log differently', async () => {
    const [one, other] = [memoryPorts(), memoryPorts()];
    expect(await identifyLog(one.ports)).not.to.equal(await identifyLog(other.ports));
  });
});

import { expect } from 'chai';
import type { Context } from '../../../../commands/kernel/capability.ts';
import { deliveriesThat } from '../../../../read-api/waiting/delivery-wait.ts';

describe('the wait for deliveries', () => {
  it('is woken by the endpoint of a delivery that the read model gets only now', async () => {
    let has = -1n;
    const ports = {
      feed: { reached: 7n },
      readModels: {
        waitFor: (position: bigint) => {
          has = position;
          return Promise.resolve(true);
        },
      },
      sql: {
        query: () =>
          Promise.resolve(has < 7n ? [] : [{ id: 'del_1', endpoint_id: 'whk_1', ended_position: null }]),
      },
    };
    const context = { ports, caller: { org: { id: 'org_1' } } } as unknown as Context;
    const { ids } = await deliveriesThat(context, ['del_1', 'del_1']);
    expect(ids).to.deep.equal(['del_1', 'whk_1']);
  });
});

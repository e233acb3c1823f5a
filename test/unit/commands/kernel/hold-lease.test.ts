import { expect } from 'chai';
import { holdLease, LeaseLost } from '../../../../commands/kernel/hold-lease.ts';
import { memoryLeases } from '../../../support/worlds/memory-gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';

describe('a held lease', () => {
  it('has one holder of all that ask at once, in one process and in several', async () => {
    const table = new Map<string, string>();
    const runs = [memoryLeases('run_1', table), memoryLeases('run_2', table)];
    const asked = await Promise.all([...runs, ...runs, ...runs].map((leases) => holdLease(leases, 'opn_1')));
    expect(asked.filter((lease) => lease !== null)).to.have.length(1);
  });

  it('is free again after its release, and only then', async () => {
    const leases = memoryLeases('run_1');
    const first = await holdLease(leases, 'opn_1');
    expect(await holdLease(leases, 'opn_1')).to.equal(null);
    expect(await holdLease(leases, 'opn_2')).not.to.equal(null);
    await first?.release();
    expect(await leases.holder('opn_1')).to.equal(null);
    expect(await holdLease(leases, 'opn_1')).not.to.equal(null);
  });

  it('stays with another process that has it', async () => {
    const table = new Map([['opn_1', 'run_2']]);
    expect(await holdLease(memoryLeases('run_1', table), 'opn_1')).to.equal(null);
    expect(table.get('opn_1')).to.equal('run_2');
  });

  it('lets nothing be done once somebody else may have it', async () => {
    const table = new Map<string, string>();
    const lease = await holdLease(memoryLeases('run_1', table), 'opn_1');
    lease?.assertHeld();
    table.set('opn_1', 'run_2');
    expect(() => lease?.assertHeld()).to.throw(LeaseLost);
  });

  it('is not kept when the database fails', async () => {
    const working = memoryLeases('run_1');
    let isAway = true;
    const leases = {
      ...working,
      acquire: (name: string) => (isAway ? Promise.reject(new Error('away')) : working.acquire(name)),
    };
    expect((await rejection(holdLease(leases, 'opn_1'))).message).to.equal('away');
    isAway = false;
    expect(await holdLease(leases, 'opn_1')).not.to.equal(null);
  });
});

import { expect } from 'chai';
import { holdLease, LeaseLost } from '../../../../commands/kernel/hold-lease.ts';
import { memoryLeases } from '../../../support/worlds/memory-gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';

describe('holdLease', () => {
  it('gives the lease to one of many callers in one process and in several', async () => {
    const table = new Map<string, string>();
    const runs = [memoryLeases('run_1', table), memoryLeases('run_2', table)];
    const asked = await Promise.all([...runs, ...runs, ...runs].map((leases) => holdLease(leases, 'opn_1')));
    expect(asked.filter((lease) => lease !== null)).to.have.length(1);
  });

  it('frees the lease on release, not before', async () => {
    const leases = memoryLeases('run_1');
    const first = await holdLease(leases, 'opn_1');
    expect(await holdLease(leases, 'opn_1')).to.equal(null);
    expect(await holdLease(leases, 'opn_2')).not.to.equal(null);
    await first?.release();
    expect(await leases.holder('opn_1')).to.equal(null);
    expect(await holdLease(leases, 'opn_1')).not.to.equal(null);
  });

  it('returns null when another process holds the lease', async () => {
    const table = new Map([['opn_1', 'run_2']]);
    expect(await holdLease(memoryLeases('run_1', table), 'opn_1')).to.equal(null);
    expect(table.get('opn_1')).to.equal('run_2');
  });

  it('throws LeaseLost when another process has taken the lease', async () => {
    const table = new Map<string, string>();
    const lease = await holdLease(memoryLeases('run_1', table), 'opn_1');
    lease?.assertHeld();
    table.set('opn_1', 'run_2');
    expect(() => lease?.assertHeld()).to.throw(LeaseLost);
  });

  it('keeps no lease when the database fails', async () => {
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

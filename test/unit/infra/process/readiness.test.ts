import { expect } from 'chai';
import { readinessChecks } from '../../../../infra/process/gateway.ts';
import { verifies } from '../../../support/suite/verifies.ts';

describe('the readiness of sealing', () => {
  const shown = async (state: () => Promise<string>) =>
    await readinessChecks({ ports: { seals: { state } } } as never, {} as never)['audit']?.();

  it(`is shown and never fails ${verifies('contract:12:seal-broken')}`, async () => {
    expect(await shown(() => Promise.resolve('broken'))).to.deep.equal({ sealing: 'broken' });
    expect(await shown(() => Promise.reject(new Error('no database')))).to.deep.equal({ sealing: 'unknown' });
    expect(await shown(() => Promise.withResolvers<never>().promise)).to.deep.equal({ sealing: 'unknown' });
  });
});

describe('the readiness of webhooks', () => {
  const checks = (lagSeconds: () => Promise<number>) =>
    readinessChecks({} as never, {} as never, { lagSeconds });

  it(`says whether deliveries are behind, and does not fail for it ${verifies('contract:20:health')}`, async () => {
    expect(await checks(() => Promise.resolve(60))['webhooks']?.()).to.deep.equal({ behind: false });
    expect(await checks(() => Promise.resolve(61))['webhooks']?.()).to.deep.equal({ behind: true });
  });

  it('counts a lag that cannot be read, or not soon enough, as too long', async () => {
    const lost = checks(() => Promise.reject(new Error('no database')));
    expect(await lost['webhooks']?.()).to.deep.equal({ behind: true });
    const stuck = checks(() => Promise.withResolvers<never>().promise);
    expect(await stuck['webhooks']?.()).to.deep.equal({ behind: true });
  });

  it('is left out in a process that delivers none', () => {
    expect(readinessChecks({} as never, {} as never)).not.to.have.property('webhooks');
  });
});

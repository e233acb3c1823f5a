import { expect } from 'chai';
import type { Sealed } from '../../../../commands/values/sealed.ts';
import { decideDisable } from '../../../../commands/webhooks/disable-endpoint.ts';
import { type EndpointState, webhookEndpoint } from '../../../../commands/webhooks/endpoint.ts';

const url = 'sealed:a' as Sealed;
const state = (changes: Partial<EndpointState> = {}): EndpointState => ({
  ...webhookEndpoint.initial,
  url,
  rightsOf: 'usr_1',
  ...changes,
});
const seen = { url, rightsOf: 'usr_1' };
const reasons = (from: EndpointState, reason: 'gone' | 'failing' | 'rights_gone'): unknown[] =>
  decideDisable(from, reason, seen).map(({ data }) => data);

describe('disabling an endpoint', () => {
  it('happens for what was found, while the endpoint is as it was', () => {
    for (const reason of ['gone', 'failing', 'rights_gone'] as const)
      expect(reasons(state(), reason)).to.deep.equal([{ reason }]);
  });

  it('does not happen after a person gave it another URL, or became the one it stands for', () => {
    const moved = state({ url: 'sealed:b' as Sealed });
    expect([reasons(moved, 'gone'), reasons(moved, 'failing')]).to.deep.equal([[], []]);
    expect(reasons(state({ rightsOf: 'usr_2' }), 'rights_gone')).to.deep.equal([]);
    expect(reasons(moved, 'rights_gone')).to.deep.equal([{ reason: 'rights_gone' }]);
  });

  it('happens once, and not while it is paused, unless its person left', () => {
    for (const status of ['disabled', 'removed'] as const)
      for (const reason of ['gone', 'rights_gone'] as const)
        expect(reasons(state({ status }), reason)).to.deep.equal([]);
    expect(reasons(state({ status: 'paused' }), 'gone')).to.deep.equal([]);
    expect(reasons(state({ status: 'paused' }), 'rights_gone')).to.deep.equal([{ reason: 'rights_gone' }]);
  });
});

import { expect } from 'chai';
import { requireEvents, requireStreamName } from '../../../../infra/event-store/append-checks.ts';

const event = (data: Record<string, unknown>) => ({
  id: '0d7e8a4a-2f0c-5f6e-9d5b-0a1b2c3d4e5f',
  type: 'Checked',
  data,
  metadata: {},
});

const checking = (data: Record<string, unknown>) => (): void => {
  requireEvents([event(data)]);
};

describe('requireEvents and requireStreamName', () => {
  it('accepts JSON values up to a depth', () => {
    expect(checking({ a: [1, 'x', null, true, { b: [] }], c: Object.create(null) as object })).not.to.throw();
    const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);
    expect(checking({ a: nested(30) })).not.to.throw();
    expect(checking({ a: nested(40) })).to.throw(TypeError, 'nested too deeply');
  });

  it('names the place of a value that JSON would drop or rewrite', () => {
    const sparse: unknown[] = [];
    sparse[1] = 1;
    expect(checking({ a: { b: [new Date()] } })).to.throw(TypeError, 'Checked.data.a.b[0]');
    expect(checking({ a: sparse })).to.throw(TypeError, 'Checked.data.a[0] is undefined');
  });

  it('refuses an event so large that the call of all others would fail', () => {
    expect(checking({ text: 'x'.repeat(1_500_000) })).not.to.throw();
    expect(checking({ text: 'x'.repeat(2_200_000) })).to.throw(TypeError, 'too large');
    expect(checking({ ['k'.repeat(2_200_000)]: 1 })).to.throw(TypeError, 'too large');
    expect(checking({ numbers: Array.from({ length: 100_000 }, () => 1) })).to.throw(TypeError, 'too large');
  });

  it('refuses a stream name that the server reserves or cannot handle', () => {
    for (const name of ['$$', '$$a-1', '$ce-a', 'a b-1']) {
      expect(() => {
        requireStreamName(name);
      }, name).to.throw(TypeError);
    }
  });
});

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

describe('checks before an append', () => {
  it('take what JSON holds, up to a depth', () => {
    expect(checking({ a: [1, 'x', null, true, { b: [] }], c: Object.create(null) as object })).not.to.throw();
    const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);
    expect(checking({ a: nested(30) })).not.to.throw();
    expect(checking({ a: nested(40) })).to.throw(TypeError, 'nested too deeply');
  });

  it('name the place of what JSON would drop or rewrite', () => {
    const sparse: unknown[] = [];
    sparse[1] = 1;
    expect(checking({ a: { b: [new Date()] } })).to.throw(TypeError, 'Checked.data.a.b[0]');
    expect(checking({ a: sparse })).to.throw(TypeError, 'Checked.data.a[0] is undefined');
  });

  it('refuse an event whose message would break the call of all others', () => {
    expect(checking({ text: 'x'.repeat(1_500_000) })).not.to.throw();
    expect(checking({ text: 'x'.repeat(2_200_000) })).to.throw(TypeError, 'too large');
    expect(checking({ ['k'.repeat(2_200_000)]: 1 })).to.throw(TypeError, 'too large');
    expect(checking({ numbers: Array.from({ length: 100_000 }, () => 1) })).to.throw(TypeError, 'too large');
  });

  it('refuse a name that would kill a server or belong to it', () => {
    for (const name of ['$$', '$$a-1', '$ce-a', 'a b-1']) {
      expect(() => {
        requireStreamName(name);
      }, name).to.throw(TypeError);
    }
  });
});

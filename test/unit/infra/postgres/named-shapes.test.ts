import { expect } from 'chai';
import { textOf } from '../../../../commands/ports/statement.ts';
import { NamedShapes } from '../../../../infra/postgres/named-shapes.ts';

const nameOf = (statement: ReturnType<NamedShapes['named']>): string | null =>
  typeof statement === 'string' ? null : statement.name;

describe('a named shape', () => {
  it('names a text from its fifth use on, always alike', () => {
    const ask = (shapes: NamedShapes) =>
      Array.from({ length: 6 }, () => nameOf(shapes.named('select a'))).map((name) => name !== null);
    expect(ask(new NamedShapes('page'))).to.deep.equal([false, false, false, false, true, true]);
    const [one, other] = [new NamedShapes('page'), new NamedShapes('page')];
    const used = (shapes: NamedShapes, text: string) => {
      for (let uses = 1; uses < 5; uses += 1) shapes.named(text);
      return shapes.named(text);
    };
    expect(nameOf(used(one, 'select a'))).to.match(/^page_[0-9a-f]{16}$/);
    expect(nameOf(used(other, 'select a'))).to.equal(nameOf(one.named('select a')));
    expect(nameOf(used(one, 'select b'))).not.to.equal(nameOf(one.named('select a')));
    expect(textOf(one.named('select b'))).to.equal('select b');
  });

  it('leaves the rest without a name once a connection would keep too many', () => {
    const shapes = new NamedShapes('page');
    const names = new Set<string>();
    for (let uses = 1; uses <= 6; uses += 1)
      for (let shape = 0; shape < 100; shape += 1) {
        const name = nameOf(shapes.named(`select ${String(shape)}`));
        if (name !== null) names.add(name);
      }
    expect(names.size).to.equal(32);
  });

  it('forgets what is rare', () => {
    const shapes = new NamedShapes('page');
    for (let uses = 1; uses < 5; uses += 1) shapes.named('select a');
    for (let shape = 0; shape < 1_000; shape += 1) shapes.named(`select ${String(shape)}`);
    expect(nameOf(shapes.named('select a'))).to.equal(null);
  });
});

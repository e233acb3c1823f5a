import { expect } from 'chai';
import fc from 'fast-check';
import { groupTests, type TestFile } from '../../support/suite/test-groups.ts';

const file = (path: string, bytes = 20_000, isLengthy = false): TestFile => ({ path, bytes, isLengthy });

const namesOf = (...files: readonly TestFile[]): readonly string[] =>
  groupTests(files).map(({ name }) => name);

describe('groupTests', () => {
  it('groups neighbours up to 60,000 bytes', () => {
    const files = ['a', 'b', 'c', 'd'].map((name) => file(`test/e2e/${name}.test.ts`));
    expect(namesOf(...files)).to.deep.equal([
      'test/e2e/a.test.ts, b.test.ts, c.test.ts',
      'test/e2e/d.test.ts',
    ]);
  });

  it('groups whole folders outside test/e2e', () => {
    const files = ['mcp/a', 'mcp/b', 'infra/http/c'].map((name) => file(`test/integration/${name}.test.ts`));
    expect(namesOf(...files)).to.deep.equal(['test/integration/mcp, infra/http']);
  });

  it('groups all of test/unit', () => {
    const files = ['a', 'commands/b', 'commands/c', 'infra/d'].map((name) =>
      file(`test/unit/${name}.test.ts`),
    );
    expect(namesOf(...files)).to.deep.equal(['test/unit']);
  });

  it('puts a group with a lengthy file first', () => {
    const files = [
      file('test/e2e/a.test.ts'),
      file('test/e2e/b.test.ts', 500, true),
      file('test/e2e/c.test.ts', 50_000),
    ];
    expect(namesOf(...files)).to.deep.equal(['test/e2e/a.test.ts, b.test.ts', 'test/e2e/c.test.ts']);
  });

  it('puts every file in one group', () => {
    const path = fc.stringMatching(/^test\/(unit|e2e|contract|integration)(\/[ab]){0,2}\/[a-e]\.test\.ts$/);
    const files = fc.uniqueArray(fc.record({ path, bytes: fc.nat(90_000), isLengthy: fc.boolean() }), {
      selector: (each) => each.path,
    });
    fc.assert(
      fc.property(files, (all) => {
        expect(groupTests(all).flatMap((group) => group.files))
          .to.have.members(all)
          .and.have.length(all.length);
      }),
    );
  });
});

import { expect } from 'chai';
import { capabilities } from '../../read-api/capabilities.ts';
import { REQUIREMENTS } from '../requirements.ts';
import { allSources } from '../support/suite/sources.ts';

/** Owners whose rules always count. */
const ALWAYS = ['transport', 'kernel'];

const names = capabilities.map(({ name }) => name);
const registered = new Set([...ALWAYS, ...names]);

const cited = new Set(
  allSources()
    .filter(({ path }) => path.startsWith('test/') && path.endsWith('.test.ts'))
    .flatMap(({ text }) => [...text.matchAll(/\bverifies\(([^)]*)\)/g)])
    .flatMap(([, ids = '']) => [...ids.matchAll(/['"`]([^'"`]+)['"`]/g)])
    .map(([, id = '']) => id),
);

const owners = new Set([...REQUIREMENTS.values()].flatMap(([owner]) => owner));

describe('requirements', () => {
  it('are each cited by a test when their capability exists', () => {
    const uncited = [...REQUIREMENTS]
      .filter(([id, [owners]]) => [owners].flat().some((owner) => registered.has(owner)) && !cited.has(id))
      .map(([id, [, text]]) => `${id}: ${text}`);
    expect(uncited, `${String(uncited.length)} without a test:\n${uncited.join('\n')}`).to.deep.equal([]);
  });

  it('are the only ids that tests cite', () => {
    expect([...cited].filter((id) => !REQUIREMENTS.has(id))).to.deep.equal([]);
  });

  it('cover every capability', () => {
    expect(names.filter((name) => !owners.has(name))).to.deep.equal([]);
  });

  it('are owned by capabilities, and by none that is only misspelt', () => {
    const unknown = [...owners].filter((owner) => !registered.has(owner));
    expect(unknown).to.deep.equal([]);
  });
});

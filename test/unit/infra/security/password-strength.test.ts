import { expect } from 'chai';
import { loadedOnce } from '../../../../infra/security/password-strength.ts';
import { rejection } from '../../../support/suite/rejection.ts';

describe('what is loaded once', () => {
  it('is loaded again after a failure, and then kept', async () => {
    let loads = 0;
    const load = loadedOnce(() => {
      loads += 1;
      return loads === 1 ? Promise.reject(new Error('too many open files')) : Promise.resolve(loads);
    });
    const [first, together] = [rejection(load()), rejection(load())];
    expect([await first, await together].map((error) => error.message)).to.deep.equal([
      'too many open files',
      'too many open files',
    ]);
    expect([await load(), await load()]).to.deep.equal([2, 2]);
  });
});

import { expect } from 'chai';
import { linesUpTo } from '../../../../read-api/audit/begin-export.ts';
import { rejection } from '../../../support/suite/rejection.ts';

describe('linesUpTo', () => {
  it('leaves three of five seconds to the checkpoint when the read model stays behind', async () => {
    let waitedMs = 0;
    const waitFor = (_: bigint, ms: number): Promise<boolean> => {
      waitedMs += ms;
      return Promise.resolve(false);
    };
    const error = await rejection(linesUpTo({ waitFor }, 7n));
    expect(error).to.include({ code: 'seal_behind', retryAfterSeconds: 5 });
    expect(waitedMs).to.equal(2_000);
  });
});

import { expect } from 'chai';
import { type AuthzEpoch, watchAuthzEpoch } from '../../../../infra/directory/authz-epoch.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { openRig, type Rig } from '../projector/projector-rig.ts';

describe('the authorization epoch', () => {
  let rig: Rig;
  let opened: AuthzEpoch[] = [];
  beforeEach(async () => {
    rig = await openRig();
    opened = [];
  });
  afterEach(async () => {
    for (const epoch of opened) epoch.close();
    await rig[Symbol.asyncDispose]();
  });

  const open = async (end: bigint, meanwhile?: () => Promise<void>): Promise<AuthzEpoch> => {
    const endOfLog = async (): Promise<bigint> => {
      await meanwhile?.();
      return end;
    };
    const epoch = await watchAuthzEpoch({ sql: rig.sql, log: silentLog, endOfLog });
    opened.push(epoch);
    return epoch;
  };
  const stored = async (): Promise<string | undefined> =>
    (await rig.sql.query<{ position: string }>('select position from work.authz_epoch'))[0]?.position;

  it('closes every process whose directory is behind a raised position until it catches up', async () => {
    const [here, there] = [await open(100n), await open(100n)];
    await here.raise(50n);
    await eventually(() => !there.allows(49n));
    expect(there.allows(50n)).to.equal(true);
  });

  it('never decreases while the log is whole', async () => {
    const epoch = await open(100n);
    await epoch.raise(50n);
    await epoch.raise(40n);
    expect(await stored()).to.equal('50');
  });

  it('is raised by any process that has a change whose writer was interrupted', async () => {
    const epoch = await open(100n);
    epoch.applied(60n);
    await eventually(async () => (await stored()) === '60');
  });

  it('is reset at a start when the log ends before it', async () => {
    await (await open(100n)).raise(90n);
    const epoch = await open(30n);
    expect(await stored()).to.equal('30');
    expect(epoch.allows(30n)).to.equal(true);
  });

  it('is not reset by a start that read the log just before a change', async () => {
    const running = await open(100n);
    await running.raise(90n);
    // The change at 110 is stored and answered between the two looks of the one that starts.
    await open(100n, () => running.raise(110n));
    expect(await stored()).to.equal('110');
  });

  it('is as old as the wall clock says when the monotonic clock stopped', async () => {
    const epoch = await open(100n);
    await eventually(() => epoch.ageMs() < 300);
    const { now } = Date;
    Date.now = () => now() + 60_000;
    try {
      expect(epoch.allows(100n)).to.equal(false);
    } finally {
      Date.now = now;
    }
    await eventually(() => epoch.allows(100n));
  });
});

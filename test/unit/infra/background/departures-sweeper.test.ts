import { setImmediate } from 'node:timers/promises';
import { expect } from 'chai';
import type { DirectoryState, TokenEntry } from '../../../../commands/ports/directory.ts';
import { departuresSweeper } from '../../../../infra/background/departures-sweeper.ts';
import { SweeperRun } from '../../../../infra/background/run-sweeper.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { SendRig } from '../../../support/worlds/send-rig.ts';

const MINUTE = 60_000;

/** Of a person who is no member. */
const leftToken = (id: string): TokenEntry =>
  ({
    ...{ id, orgId: 'org_1', principalId: 'usr_gone', principalKind: 'user', scopes: [] },
    ...{ revokedAt: null, expiresAt: '2100-01-01T00:00:00.000Z' },
  }) as unknown as TokenEntry;

describe('departuresSweeper', () => {
  it('goes over the directory once for all that was left behind, and again a minute later', async () => {
    const { ports } = new SendRig();
    const clock = new ManualClock();
    const tokens = new Map(
      Array.from({ length: 100 }, (_, n) => [`tok_${String(n)}`, leftToken(`tok_${String(n)}`)]),
    );
    let scans = 0;
    const empty = new Map();
    const state = {
      ...{ organisations: empty, people: empty, members: empty, userIdsByOrg: empty, orgIdsByUser: empty },
      ...{ sessions: empty, tokens, oauthGrants: empty, agents: empty, grants: empty, invites: empty },
      get mailboxes() {
        scans += 1;
        return empty;
      },
    };
    const ended: string[] = [];
    const events: typeof ports.events = {
      ...ports.events,
      readStream: (name) => {
        ended.push(name);
        tokens.delete(name.slice('token-'.length));
        return Promise.resolve([]);
      },
    };
    const directory = { ...ports.directory, state: state as unknown as DirectoryState };
    const sweeper = departuresSweeper({ ...ports, clock, events, directory });
    const run = new SweeperRun(sweeper, { clock, log: silentLog });
    const pass = async (): Promise<void> => {
      await run.pass();
      while (!run.isIdle) await setImmediate();
    };
    while (ended.length < 100) await pass();
    expect(scans).to.equal(1);
    await pass();
    expect([scans, new Set(ended).size, ended.length]).to.deep.equal([2, 100, 100]);
    tokens.set('tok_late', leftToken('tok_late'));
    clock.advance(MINUTE);
    await pass();
    expect(ended.at(-1)).to.equal('token-tok_late');
  });
});

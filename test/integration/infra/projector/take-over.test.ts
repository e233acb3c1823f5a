import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import {
  type ConnectedEventStore,
  openEventStore,
} from '../../../../infra/event-store/event-store-client.ts';
import { embeddedStore, type EmbeddedStore } from '../../../contract/event-store/store-under-test.ts';
import { happened } from '../../../support/event-author.ts';
import { ORG } from '../../../support/sample-history.ts';
import { silentLog } from '../../../support/silent-log.ts';
import { openRig, type Rig } from './projector-rig.ts';

const PROCESS = fileURLToPath(new URL('projector-process.ts', import.meta.url));
const STREAMS = 300;

describe('projector, when its process is killed', () => {
  let rig: Rig;
  let store: EmbeddedStore;
  let events: ConnectedEventStore;
  let child: ChildProcess | null = null;
  before(async () => {
    [rig, store] = await Promise.all([openRig(), embeddedStore()]);
    events = openEventStore({ url: store.url, log: silentLog });
  });
  after(async () => {
    child?.kill('SIGKILL');
    await rig[Symbol.asyncDispose]();
    await events.close();
    await store.remove();
  });

  it('is followed by another within seconds, and every event is applied once', async () => {
    child = spawn(process.execPath, [PROCESS, rig.url, store.url], { stdio: ['ignore', 'pipe', 'inherit'] });
    if (!child.stdout) throw new Error('the process has no output');
    await once(child.stdout, 'data');
    const follower = await rig.start({ events });
    let position = -1n;
    for (let n = 0; n < STREAMS; n += 1) {
      const created = { type: 'OrganisationCreated' as const, data: { name: 'Many' } };
      ({ position } = await happened(events, `organisation-org_${String(n)}`, [created]));
      if (n === STREAMS / 2) child.kill('SIGKILL');
    }
    expect(await follower.readModels.waitFor(position, 5_000)).to.equal(true);
    expect(follower.status().leader).to.equal(true);
    const [lines] = await rig.sql.query(
      'select count(*)::int as lines, max(seq)::int as last from read.audit where org_id = $1',
      [ORG],
    );
    expect(lines).to.deep.equal({ lines: STREAMS, last: STREAMS });
  });
});

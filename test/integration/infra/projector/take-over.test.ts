import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import {
  type ConnectedEventStore,
  openEventStore,
} from '../../../../infra/event-store/event-store-client.ts';
import { embeddedStore, type EmbeddedStore } from '../../../contract/event-store/store-under-test.ts';
import { happened } from '../../../support/samples/event-author.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { figure, timesOf } from '../../../support/suite/long.ts';
import { ORG } from '../../../support/samples/sample-history.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { wholeLog } from '../../../support/samples/whole-log.ts';
import { openRig, type Rig } from './projector-rig.ts';

const PROCESS = fileURLToPath(new URL('projector-process.ts', import.meta.url));
const STREAMS = 300;

describe('a projector whose process is killed', () => {
  let rig: Rig;
  let store: EmbeddedStore;
  let events: ConnectedEventStore;
  let child: ChildProcess | null = null;
  beforeEach(async () => {
    [rig, store] = await Promise.all([openRig(), embeddedStore()]);
    events = openEventStore({ url: store.url, log: silentLog });
  });
  afterEach(async () => {
    child?.kill('SIGKILL');
    await rig[Symbol.asyncDispose]();
    await events.close();
    await store.remove();
  });

  it('is replaced within seconds, and every event is applied once', async () => {
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
      'select count(*)::int as lines, max(seq)::int as last from read.audit where trail = $1',
      [ORG],
    );
    expect(lines).to.deep.equal({ lines: STREAMS, last: STREAMS });
  });

  it('is replaced within 5 s at every kill or freeze, and nothing is applied twice', async function () {
    const times = timesOf(3, 24);
    this.timeout(times * 60_000);
    const running = new Set<ChildProcess>();
    const startChild = (): { child: ChildProcess; leading: Promise<unknown> } => {
      const started = spawn(process.execPath, [PROCESS, rig.url, store.url], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      running.add(started);
      return { child: started, leading: once(started.stdout, 'data') };
    };
    const write = async (): Promise<string> => {
      const created = { type: 'OrganisationCreated' as const, data: { name: 'Counted' } };
      const { position } = await happened(events, `organisation-org_${randomUUID()}`, [created]);
      return String(position);
    };
    const writeMany = async (): Promise<void> => {
      for (let n = 0; n < 50; n += 1) await write();
    };
    const slowest = { kill: 0, freeze: 0 };
    try {
      let leader = startChild();
      await leader.leading;
      for (let round = 0; round < times; round += 1) {
        const follower = startChild();
        await eventually(async () => (await lockConnections()) >= 2);
        await writeMany();
        const isFrozen = round % 2 === 0;
        leader.child.kill(isFrozen ? 'SIGSTOP' : 'SIGKILL');
        const endedAt = performance.now();
        const position = await write();
        await eventually(() => isApplied(position), 20_000);
        const tookMs = performance.now() - endedAt;
        const manner = isFrozen ? 'freeze' : 'kill';
        slowest[manner] = Math.max(slowest[manner], tookMs);
        expect(tookMs).to.be.lessThan(timesOf(20_000, 5_000));
        await follower.leading;
        if (isFrozen) {
          // Awake again it believes in its lead for a moment.
          leader.child.kill('SIGCONT');
          await writeMany();
        }
        leader.child.kill('SIGKILL');
        leader = follower;
      }
      const last = await write();
      await eventually(() => isApplied(last));
      const [counted] = await rig.sql.query(
        'select count(*)::int as events, min(times) as least, max(times) as most from read.counted',
      );
      const all = await wholeLog(events);
      expect(counted).to.deep.equal({ events: all.length, least: 1, most: 1 });
      figure(`slowest take-over of ${String(times)}: ${JSON.stringify(slowest)} ms`);
    } finally {
      for (const one of running) one.kill('SIGKILL');
    }
  });

  const lockConnections = async (): Promise<number> => {
    const [row] = await rig.sql.query<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity
       where application_name = 'projector in a process' and datname = current_database()`,
    );
    return row?.count ?? 0;
  };
  const isApplied = async (position: string): Promise<boolean> => {
    const [row] = await rig.sql.query('select min(position) >= $1 as done from read.checkpoint', [position]);
    return row?.['done'] === true;
  };
});

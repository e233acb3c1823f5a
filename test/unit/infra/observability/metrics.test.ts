import { expect } from 'chai';
import type { MailboxEntry } from '../../../../commands/ports/directory.ts';
import { watchGateway } from '../../../../infra/observability/gateway-gauges.ts';
import { createMetrics, measureAppends, type Metrics } from '../../../../infra/observability/metrics.ts';
import { MemoryEventStore } from '../../../support/fakes/memory-event-store.ts';
import { rejection } from '../../../support/suite/rejection.ts';

const fact = (id: string) => ({ id, type: 'NoteTaken', data: {}, metadata: {} });

describe('createMetrics', () => {
  let metrics: Metrics;

  beforeEach(() => {
    metrics = createMetrics();
  });

  const lines = async (prefix: string): Promise<string[]> =>
    (await metrics.text()).split('\n').filter((line) => line.startsWith(prefix));

  it('says how busy the event loop was since the last scrape, and samples nothing', async () => {
    await lines('gateway_event_loop_utilization');
    const until = performance.now() + 50;
    while (performance.now() < until);
    const [busy = ''] = await lines('gateway_event_loop_utilization');
    expect(Number(busy.split(' ')[1])).to.be.within(0.5, 1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const [idle = ''] = await lines('gateway_event_loop_utilization');
    expect(Number(idle.split(' ')[1])).to.be.below(0.5);
    expect(await lines('nodejs_eventloop_lag')).to.deep.equal([]);
  });

  it('measures appends by outcome without changing them', async () => {
    const store = new MemoryEventStore();
    const events = measureAppends(store, metrics);
    const appended = await events.append('note-1', 'no-stream', [fact('a')]);
    expect(appended).to.deep.equal({ revision: 0n, position: await store.headPosition() });
    expect(await rejection(events.append('note-1', 'no-stream', [fact('b')]))).to.include({
      name: 'WrongExpectedRevision',
    });
    store.away = true;
    expect(await rejection(events.append('note-1', 0n, [fact('c')]))).to.include({
      code: 'store_unavailable',
    });
    store.comeBack();
    expect((await lines('gateway_append_seconds_count')).sort()).to.deep.equal([
      'gateway_append_seconds_count{outcome="appended"} 1',
      'gateway_append_seconds_count{outcome="failed"} 1',
      'gateway_append_seconds_count{outcome="refused"} 1',
    ]);
    expect(await events.readStream('note-1')).to.deep.equal(await store.readStream('note-1'));
    expect(await events.readStream('note-1', 1n)).to.deep.equal([]);
    expect((await events.readLast('note-1'))?.id).to.equal('a');
    expect(await events.headPosition()).to.equal(appended.position);
    const ended = new AbortController();
    for await (const item of events.subscribeToAll(null, ended.signal, { streamPrefixes: ['note-'] })) {
      expect(item).to.deep.include({ kind: 'event' });
      ended.abort();
    }
    expect(ended.signal.aborted).to.equal(true);
  });

  it('measures outcome and duration of mail commands', async () => {
    metrics.mailCommandDone({ outcome: 'done', seconds: 0.02 });
    metrics.mailCommandDone({ outcome: 'lost', seconds: 30 });
    expect(await lines('gateway_mail_command_seconds_')).to.include.members([
      'gateway_mail_command_seconds_count{outcome="done"} 1',
      'gateway_mail_command_seconds_sum{outcome="lost"} 30',
    ]);
  });

  it('reads the state of the process and the mailboxes at each scrape', async () => {
    const mailboxes = new Map<string, MailboxEntry>();
    const put = (id: string, state: MailboxEntry['state']): void => {
      mailboxes.set(id, { id, state } as MailboxEntry);
    };
    const audit = { name: 'audit', lagEvents: 7, lagSeconds: 1.5, parked: 2 };
    const status = { leader: true, models: [audit] };
    const state = { mailboxes } as never;
    const mail = { connections: 3 };
    watchGateway(metrics, {
      directory: { state, untilCurrent: () => Promise.resolve(true) },
      projector: { status: () => status },
      mail,
    });
    put('mbx_1', 'connected');
    put('mbx_2', 'connected');
    put('mbx_3', 'auth_failed');
    expect(await lines('gateway_')).to.include.members([
      'gateway_projector_leader 1',
      'gateway_directory_current 1',
      'gateway_imap_connections 3',
      'gateway_mailboxes{state="connected"} 2',
      'gateway_mailboxes{state="auth_failed"} 1',
      'gateway_projector_lag_events{projection="audit"} 7',
      'gateway_projector_lag_seconds{projection="audit"} 1.5',
      'gateway_events_parked{projection="audit"} 2',
    ]);
    put('mbx_3', 'connected');
    status.leader = false;
    expect(await lines('gateway_projector_leader')).to.deep.equal(['gateway_projector_leader 0']);
    expect(await lines('gateway_mailboxes')).to.deep.equal(['gateway_mailboxes{state="connected"} 3']);
  });
});

import { expect } from 'chai';
import { LogWriter } from '../../../../infra/event-store/node/log-writer.ts';
import { RecentEvents } from '../../../../infra/event-store/node/recent-events.ts';
import type { CommitNotifier } from '../../../../infra/event-store/node/commit-notifier.ts';
import { StreamStates } from '../../../../infra/event-store/node/stream-states.ts';
import type { LogRows } from '../../../../infra/event-store/node/log-rows.ts';
import type { WriterSession } from '../../../../infra/event-store/node/writer-session.ts';

describe('a commit of the event node', () => {
  it('answers its writer before it wakes subscribers', async () => {
    const order: string[] = [];
    const bells = {
      ring: (records: readonly unknown[]) => order.push(`${String(records.length)} events`),
      ringAll: () => undefined,
    } as unknown as CommitNotifier;
    const recent = new RecentEvents(0);
    const writer = new LogWriter(
      { states: new StreamStates({} as unknown as LogRows), recent, bells },
      (error) => {
        throw error;
      },
    );
    writer.attach({
      lastPosition: 0,
      logEnd: 1,
      commit: () => Promise.resolve(true),
    } as unknown as WriterSession);
    const id = '6f6d2b1a-9c3e-4b57-8d0a-1f2e3d4c5b6a';
    const event = {
      id,
      type: 'Happened',
      isJson: true,
      data: Buffer.from('{}'),
      metadata: Buffer.from('{}'),
    };
    writer.submit({
      action: 'append',
      stream: 'operation-1',
      expected: 'no-stream',
      records: [event],
      expiresAtMs: Infinity,
      settle: ({ kind }) => {
        order.push(kind);
        expect(recent.lastPosition, 'what was answered can be read').to.equal(1);
      },
    });
    await writer.idle();
    expect(order).to.deep.equal(['written', '1 events']);
  });
});

import { expect } from 'chai';
import type { AnswerStream } from '../../../../infra/event-store/node/answer-stream.ts';
import type { EventLog } from '../../../../infra/event-store/node/event-log.ts';
import { readStream } from '../../../../infra/event-store/node/finite-reads.ts';
import { encodeEvent } from '../../../../infra/event-store/node/read-answers.ts';
import type { StreamRead } from '../../../../infra/event-store/node/read-plan.ts';
import { RecentEvents } from '../../../../infra/event-store/node/recent-events.ts';
import type { StoredRecord } from '../../../../infra/event-store/node/stored-record.ts';
import { NO_METADATA } from '../../../../infra/event-store/node/stream-state.ts';

const STREAM = 'draft-1';

const record = (revision: number): StoredRecord => ({
  position: 1 + revision,
  stream: STREAM,
  revision,
  id: '6f6d2b1a-9c3e-4b57-8d0a-1f2e3d4c5b6a',
  type: 'Happened',
  isJson: true,
  data: Buffer.from(`{"at":${String(revision)}}`),
  metadata: Buffer.from('{}'),
  createdMs: 1_700_000_000_000,
});

/** What a read of a stream of five events, all in memory, answers; and how often it asked the database. */
async function reading(asked: Partial<StreamRead>, visibleFrom = 0) {
  const recent = new RecentEvents(0);
  recent.publish([0, 1, 2, 3, 4].map(record));
  let statements = 0;
  const answered: Buffer[] = [];
  const metadata = { ...NO_METADATA, truncateBefore: visibleFrom };
  const log = {
    recent,
    // The last event was appended after the read began.
    states: { read: () => Promise.resolve({ head: 3, metaHead: -1, metadata }) },
    rows: {
      streamFrom: () => {
        statements += 1;
        return Promise.resolve([]);
      },
    },
  } as unknown as EventLog;
  const answers = {
    gone: false,
    send: (answer: Buffer) => {
      answered.push(answer);
      return true;
    },
  } as unknown as AnswerStream;
  const plan = { stream: STREAM, direction: 'forwards', from: 'start', count: 100, resolveLinks: false };
  await readStream(log, { ...plan, ...asked } as StreamRead, answers);
  return { answered, statements };
}

const encoded = (revisions: readonly number[]): readonly Buffer[] =>
  revisions.map((revision) => encodeEvent(record(revision)));

describe('a read of a stream whose events are all in memory', () => {
  it('asks the database nothing, and ends where the stream ended when it began', async () => {
    expect(await reading({})).to.deep.equal({ answered: encoded([0, 1, 2, 3]), statements: 0 });
  });

  it('begins at the revision asked for, returns no more than asked for and no hidden event', async () => {
    expect((await reading({ from: 2 })).answered).to.deep.equal(encoded([2, 3]));
    expect((await reading({ from: 9 })).answered).to.deep.equal([]);
    expect((await reading({ count: 2 })).answered).to.deep.equal(encoded([0, 1]));
    expect((await reading({}, 3)).answered).to.deep.equal(encoded([3]));
  });

  it('asks the database backwards', async () => {
    expect((await reading({ direction: 'backwards', from: 'end' })).statements).to.equal(1);
  });
});

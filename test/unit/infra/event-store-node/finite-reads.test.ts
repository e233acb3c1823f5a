/** How often a read of a stream asks the database, and what it answers. */
import { expect } from 'chai';
import type { AnswerStream } from '../../../../infra/event-store/node/answer-stream.ts';
import type { EventLog } from '../../../../infra/event-store/node/event-log.ts';
import { readStream } from '../../../../infra/event-store/node/finite-reads.ts';
import { encodeEvent } from '../../../../infra/event-store/node/read-answers.ts';
import type { StreamRead } from '../../../../infra/event-store/node/read-plan.ts';
import { RecentEvents } from '../../../../infra/event-store/node/recent-events.ts';
import type { StoredRecord } from '../../../../infra/event-store/node/stored-record.ts';
import { NO_METADATA } from '../../../../infra/event-store/node/stream-state.ts';

const PAGE = 3;
const STREAM = 'operation-1';

const record = (revision: number): StoredRecord => ({
  ...{ position: 1 + revision, stream: STREAM, revision, id: '6f6d2b1a-9c3e-4b57-8d0a-1f2e3d4c5b6a' },
  ...{ type: 'Happened', isJson: true, data: Buffer.from('{}'), metadata: Buffer.from('{}'), createdMs: 0 },
});

const recordsOf = (count: number): readonly StoredRecord[] =>
  Array.from({ length: count }, (_, revision) => record(revision));

interface Stream {
  /** When the read begins. */
  readonly events: number;
  readonly appendedSince?: number;
  /** The first revision in memory; default none. */
  readonly recentFrom?: number;
  readonly truncateBefore?: number;
}

/** Reads a stream; returns how many pages the database was asked for and the revisions that were sent. */
async function readingOf(
  { events, appendedSince = 0, recentFrom = Infinity, truncateBefore = 0 }: Stream,
  asked: Partial<StreamRead> = {},
): Promise<{ pages: number; sent: readonly number[] }> {
  const stored = recordsOf(events + appendedSince);
  const answers = stored.map(encodeEvent);
  const counted = { pages: 0, sent: [] as number[] };
  const recent = new RecentEvents(0);
  recent.publish(stored.slice(Math.min(recentFrom, stored.length)));
  const metadata = { ...NO_METADATA, truncateBefore };
  const log = {
    recent,
    states: { read: () => Promise.resolve({ head: events - 1, metaHead: -1, metadata }) },
    rows: {
      streamFrom: (_stream: string, from: number) => {
        counted.pages += 1;
        return Promise.resolve(stored.slice(from, from + PAGE));
      },
    },
  } as unknown as EventLog;
  const caller = {
    gone: false,
    send: (answer: Buffer) => counted.sent.push(answers.findIndex((each) => each.equals(answer))),
  } as unknown as AnswerStream;
  const plan = { kind: 'read-stream', stream: STREAM, direction: 'forwards', from: 'start' } as const;
  await readStream(log, { ...plan, count: Infinity, resolveLinks: false, ...asked }, caller);
  return counted;
}

describe('readStream of the event node', () => {
  it('reads a stream that fits on a page with one question', async () => {
    expect(await readingOf({ events: 2 })).to.deep.equal({ pages: 1, sent: [0, 1] });
    expect(await readingOf({ events: PAGE })).to.deep.equal({ pages: 1, sent: [0, 1, 2] });
  });

  it('reads a longer stream page by page to its end', async () => {
    expect(await readingOf({ events: PAGE + 1 })).to.deep.equal({ pages: 2, sent: [0, 1, 2, 3] });
  });

  it('is not prolonged by events that are appended meanwhile', async () => {
    const stream = { events: PAGE, appendedSince: 5 * PAGE };
    expect(await readingOf(stream)).to.deep.equal({ pages: 1, sent: [0, 1, 2] });
    expect(await readingOf({ ...stream, recentFrom: 0 })).to.deep.equal({ pages: 0, sent: [0, 1, 2] });
  });

  it('asks the database nothing of a stream that is in memory', async () => {
    const stream = { events: 5, recentFrom: 0 };
    expect(await readingOf(stream)).to.deep.equal({ pages: 0, sent: [0, 1, 2, 3, 4] });
    expect(await readingOf(stream, { from: 3 })).to.deep.equal({ pages: 0, sent: [3, 4] });
    expect(await readingOf(stream, { count: 2 })).to.deep.equal({ pages: 0, sent: [0, 1] });
    expect(await readingOf({ ...stream, truncateBefore: 3 })).to.deep.equal({ pages: 0, sent: [3, 4] });
    expect(await readingOf({ ...stream, truncateBefore: 2.5 })).to.deep.equal({ pages: 0, sent: [3, 4] });
  });

  it('reads what is older from the database, and the rest from memory', async () => {
    const stream = { events: 7, recentFrom: 5 };
    expect(await readingOf(stream)).to.deep.equal({ pages: 2, sent: [0, 1, 2, 3, 4, 5, 6] });
    expect(await readingOf(stream, { from: 5 })).to.deep.equal({ pages: 0, sent: [5, 6] });
    expect((await readingOf(stream, { from: 6, direction: 'backwards', count: 1 })).pages).to.equal(1);
  });
});

/** How often a read of a stream asks the database. */
import { expect } from 'chai';
import type { AnswerStream } from '../../../../infra/event-store/node/answer-stream.ts';
import type { EventLog } from '../../../../infra/event-store/node/event-log.ts';
import { readStream } from '../../../../infra/event-store/node/finite-reads.ts';
import type { StoredRecord } from '../../../../infra/event-store/node/stored-record.ts';
import { NO_METADATA } from '../../../../infra/event-store/node/stream-state.ts';

const PAGE = 3;

const record = (revision: number): StoredRecord => ({
  ...{ position: revision, stream: 'operation-1', revision, id: String(revision), type: 'Happened' },
  ...{ isJson: true, data: Buffer.from('{}'), metadata: Buffer.from('{}'), createdMs: 0 },
});

/** Reads a stream of so many events to its end; returns how many pages were asked for and how many events were sent. */
async function readingOf(events: number, appendedSince = 0): Promise<{ pages: number; sent: number }> {
  const counted = { pages: 0, sent: 0 };
  const stored = Array.from({ length: events + appendedSince }, (_, revision) => record(revision));
  const log = {
    states: {
      read: () => Promise.resolve({ head: events - 1, metaHead: -1, metadata: NO_METADATA }),
    },
    rows: {
      streamFrom: (_stream: string, from: number) => {
        counted.pages += 1;
        return Promise.resolve(stored.slice(from, from + PAGE));
      },
    },
  } as unknown as EventLog;
  const answers = {
    gone: false,
    send: () => {
      counted.sent += 1;
      return true;
    },
  } as unknown as AnswerStream;
  const plan = { kind: 'read-stream', stream: 'operation-1', from: 'start', count: Infinity } as const;
  await readStream(log, { ...plan, direction: 'forwards', resolveLinks: false }, answers);
  return counted;
}

describe('readStream of the event node', () => {
  it('reads a stream that fits on a page with one question', async () => {
    expect(await readingOf(2)).to.deep.equal({ pages: 1, sent: 2 });
    expect(await readingOf(PAGE)).to.deep.equal({ pages: 1, sent: PAGE });
  });

  it('reads a longer stream page by page to its end', async () => {
    expect(await readingOf(PAGE + 1)).to.deep.equal({ pages: 2, sent: PAGE + 1 });
  });

  it('is not prolonged by events that are appended meanwhile', async () => {
    expect(await readingOf(PAGE, 5 * PAGE)).to.deep.equal({ pages: 1, sent: PAGE });
  });
});

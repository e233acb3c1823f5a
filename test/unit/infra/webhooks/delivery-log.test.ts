import { expect } from 'chai';
import { readEvent } from '../../../../commands/values/event.ts';
import { eventCatalogue } from '../../../../commands/event-catalogue.ts';
import { endedEntry } from '../../../../commands/webhooks/ended-entry.ts';
import type { AccessEntry } from '../../../../commands/ports/ports.ts';
import { type DeliveryStream, openDeliveryLog } from '../../../../infra/webhooks/delivery-log.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { MemoryEventStore } from '../../../support/fakes/memory-event-store.ts';
import { randomIds, sampleAuthor, sealSample } from '../../../support/samples/event-author.ts';
import { rejection } from '../../../support/suite/rejection.ts';

/** Its sleeps end when the test says so. */
class HeldClock extends ManualClock {
  #wake = Promise.withResolvers<undefined>();
  wake(): void {
    this.advance(1_001);
    this.#wake.resolve(undefined);
    this.#wake = Promise.withResolvers();
  }
  override sleep(_: number, signal?: AbortSignal): Promise<void> {
    const aborted = new Promise<void>((resolve) => {
      signal?.addEventListener('abort', () => {
        resolve();
      });
    });
    return Promise.race([this.#wake.promise, aborted]).then(() => undefined);
  }
}

describe('the stream of outcomes', () => {
  let clock: HeldClock;
  let events: MemoryEventStore;
  let log: DeliveryStream;

  beforeEach(() => {
    clock = new HeldClock('2026-01-01T10:00:00.000Z');
    events = new MemoryEventStore();
    log = openDeliveryLog({ events, ids: randomIds, clock, runId: 'run' });
  });
  afterEach(async () => {
    events.comeBack();
    await log.close();
  });

  const ended = (n: number): AccessEntry =>
    endedEntry(sampleAuthor('org_a'), clock.now(), {
      delivery_id: `obx_${String(n)}`,
      endpoint_id: 'whk_1',
      event_id: 'evt_1',
      event_type: 'message.received',
      trigger: 'event',
      attempt: 1,
      failures: 0,
      sequence: n,
      status: 'succeeded',
      started_at: clock.now().toISOString(),
      duration_ms: 3,
      http_status: 200,
      error: null,
      response_excerpt: null,
      withheld: false,
      next: null,
      not_before: null,
    });
  const ids = (): unknown[] => events.all.map(({ data }) => data['delivery_id']);
  const until = async (condition: () => boolean): Promise<void> => {
    for (let n = 0; n < 1_000 && !condition(); n += 1)
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    expect(condition()).to.equal(true);
  };

  it('is of this run and hour, and an outcome has the same id whenever it is stored', async () => {
    await log.record(ended(1));
    const [event] = events.all;
    expect(event?.streamName).to.equal('webhookDeliveries-run-2026010110');
    expect(event && readEvent(eventCatalogue, event)?.type).to.equal('WebhookDeliveryEnded');
    const elsewhere = new MemoryEventStore();
    const other = openDeliveryLog({ events: elsewhere, ids: randomIds, clock, runId: 'run' });
    await other.keep(ended(1));
    expect(elsewhere.all.map(({ id }) => id)).to.deep.equal([event?.id]);
  });

  it('keeps outcomes while the store is away, and stores each once, in order', async () => {
    events.away = true;
    const kept = [1, 2, 3].map((n) => log.keep(ended(n)));
    await until(() => log.isAway);
    kept.push(log.keep(ended(4)));
    expect(await rejection(log.record(ended(5)))).to.have.property('code', 'store_unavailable');
    clock.wake();
    await until(() => log.isAway);
    events.comeBack();
    clock.wake();
    await Promise.all(kept);
    expect(ids()).to.deep.equal(['obx_1', 'obx_2', 'obx_3', 'obx_4']);
    expect(log.isAway).to.equal(false);
  });

  it('sends a batch again as it was, to the stream it was for, when only the answer was lost', async () => {
    events.loseNextAnswer = true;
    const kept = log.keep(ended(1));
    await until(() => log.isAway);
    clock.advance(3_600_000);
    clock.wake();
    await kept;
    await log.keep(ended(2));
    expect(events.all.map(({ streamName, revision }) => `${streamName}@${String(revision)}`)).to.deep.equal([
      'webhookDeliveries-run-2026010110@0',
      'webhookDeliveries-run-2026010111@0',
    ]);
  });

  it('gives up when the process ends, and says so', async () => {
    events.away = true;
    const kept = log.keep(ended(1));
    await until(() => log.isAway);
    const end = rejection(kept);
    await log.close();
    expect(await end).to.have.property('code', 'store_unavailable');
    expect(await rejection(log.keep(ended(2)))).to.have.property('code', 'store_unavailable');
  });

  it('makes no append that a store refuses for its size, however long the answers were', async () => {
    const sizes: number[] = [];
    const append = events.append.bind(events);
    events.append = async (stream, expected, facts) => {
      sizes.push(JSON.stringify(facts).length);
      return await append(stream, expected, facts);
    };
    const excerpt = sealSample('x'.repeat(4_000));
    await Promise.all(
      Array.from({ length: 400 }, (_, n) => {
        const entry = ended(n + 1);
        return log.keep({ ...entry, data: { ...entry.data, response_excerpt: excerpt } });
      }),
    );
    expect(Math.max(...sizes)).to.be.lessThan(1_000_000);
    expect(ids()).to.have.length(400);
  });
});

import { expect } from 'chai';
import { z } from 'zod';
import {
  type Aggregate,
  appendFacts,
  decideAndAppend,
  loadAggregate,
} from '../../../../commands/kernel/decide-and-append.ts';
import { catalogueOf, defineEvent, readEvent } from '../../../../commands/values/event.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import type { StoredEvent } from '../../../../commands/values/event.ts';
import { randomIds, sampleAuthor } from '../../../support/samples/event-author.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { MemoryEventStore } from '../../../support/fakes/memory-event-store.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

/** Version 1 was `{by}`, version 2 `{by, unit}`; both are still in streams. */
const Counted = defineEvent({
  type: 'Counted',
  summary: 'Something was counted.',
  data: z.object({ amount: z.int(), unit: z.enum(['one', 'dozen']) }),
  upcasters: [(data) => ({ ...data, unit: 'one' }), ({ by, ...data }) => ({ ...data, amount: by })],
  webhook: null,
});
const Renamed = defineEvent({
  type: 'Renamed',
  summary: 'It was renamed.',
  data: z.object({ name: z.string() }),
  webhook: null,
});

const counter: Aggregate<number, typeof Counted> = {
  category: 'counter',
  catalogue: catalogueOf([Counted]),
  initial: 0,
  evolve: (sum, { data }) => sum + data.amount * (data.unit === 'dozen' ? 12 : 1),
};
const AUTHOR = sampleAuthor('org_1');
const one = { type: 'Counted', data: { amount: 1, unit: 'one' } } as const;

describe('decideAndAppend', () => {
  let clock: ManualClock;
  let events: MemoryEventStore;
  const writer = () => ({ events, ids: randomIds, clock });
  const count = (most = Infinity) =>
    decideAndAppend(writer(), AUTHOR, counter, { id: 'c', decide: (sum) => (sum < most ? [one] : []) });

  beforeEach(() => {
    clock = new ManualClock();
    events = new MemoryEventStore(() => clock.now());
  });

  it('decides on the current state and returns the state after', async () => {
    expect(await count()).to.deep.include({ state: 1 });
    const { state, appended, position } = await count();
    expect(state).to.equal(2);
    expect(position).to.equal(appended?.position);
    expect(appended).to.deep.include({ revision: 1n });
    expect(await loadAggregate(events, counter, 'c')).to.deep.equal({
      state: 2,
      revision: 1n,
      position: appended?.position,
    });
  });

  it('appends nothing when the decision has no events', async () => {
    const { position } = await count();
    expect(await count(1)).to.deep.equal({ state: 1, appended: null, position });
    expect(events.all).to.have.length(1);
  });

  it('decides again when another writer appended first', async () => {
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => count(3)));
    expect(outcomes.filter(({ appended }) => appended !== null)).to.have.length(3);
    expect((await loadAggregate(events, counter, 'c')).state).to.equal(3);
    expect(events.attempts.length).to.be.above(3);
  });

  it('fails as overloaded when another writer is always first', async () => {
    let decided = 0;
    const racing = decideAndAppend(writer(), AUTHOR, counter, {
      id: 'c',
      decide: (sum) => {
        decided += 1;
        // Another writer is always faster, because its append is sent first.
        void appendFacts(writer(), AUTHOR, {
          stream: 'counter-c',
          expected: sum === 0 ? 'no-stream' : BigInt(sum - 1),
          catalogue: counter.catalogue,
          facts: [one],
        });
        return [one];
      },
    });
    expect(await rejection(racing))
      .to.be.instanceOf(GatewayError)
      .and.include({ code: 'overloaded' });
    expect(decided).to.equal(8);
  });

  it('passes a refusal on and appends nothing', async () => {
    const refused = decideAndAppend(writer(), AUTHOR, counter, {
      id: 'c',
      decide: () => {
        throw new GatewayError('conflict', 'Not like this.');
      },
    });
    expect(await rejection(refused)).to.include({ code: 'conflict' });
    expect(events.attempts).to.deep.equal([]);
  });

  it('gives every attempt its own event ids, so that a refused one is not taken for a repeat', async () => {
    await Promise.all([count(), count(), count()]);
    const ids = events.attempts.flatMap((attempt) => attempt.events.map(({ id }) => id));
    expect(ids.length).to.be.above(3);
    expect(new Set(ids).size).to.equal(ids.length);
    expect(
      ids.every((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id)),
    ).to.equal(true);
  });

  it('gives the same attempt the same ids, so that it can be sent again', async () => {
    const ids = { ...randomIds, newUuid: () => '00000000-0000-4000-8000-000000000001' };
    const append = {
      stream: 'counter-c',
      expected: 'no-stream',
      catalogue: counter.catalogue,
      facts: [one, one],
    } as const;
    const first = await appendFacts({ events, ids, clock }, AUTHOR, append);
    expect(await appendFacts({ events, ids, clock }, AUTHOR, append)).to.deep.equal(first);
    expect(events.all).to.have.length(2);
    expect(new Set(events.all.map(({ id }) => id)).size).to.equal(2);
    const elsewhere = await appendFacts({ events, ids, clock }, AUTHOR, { ...append, stream: 'counter-d' });
    expect(elsewhere.position > first.position).to.equal(true);
    expect(new Set(events.all.map(({ id }) => id)).size).to.equal(4);
  });

  it(`salts every event separately, and sends identical bytes again ${verifies('contract:12:salt')}`, async () => {
    const sent: unknown[] = [];
    const lost = {
      ...writer(),
      events: Object.assign(Object.create(events) as MemoryEventStore, {
        append: async (...append: Parameters<MemoryEventStore['append']>) => {
          // The first answer is lost, and a client of the store then sends the same append again.
          sent.push(JSON.stringify(append[2]), JSON.stringify(append[2]));
          await events.append(...append);
          return await events.append(...append);
        },
      }),
    };
    await appendFacts(lost, AUTHOR, {
      stream: 'counter-c',
      expected: 'no-stream',
      catalogue: counter.catalogue,
      facts: [one, one],
    });
    expect(new Set(sent).size).to.equal(1);
    const salts = events.all.map(({ metadata }) => Buffer.from(String(metadata['salt']), 'base64url'));
    expect(salts.map(({ length }) => length)).to.deep.equal([16, 16]);
    expect(salts[0]).not.to.deep.equal(salts[1]);
  });

  it('puts mailbox, approval and session of an event in the envelope', async () => {
    const About = defineEvent({
      type: 'About',
      summary: 'It names a mailbox.',
      data: z.object({ mailbox_id: z.string() }),
      webhook: null,
    });
    const author = { ...AUTHOR, mcpSession: 'hashed' };
    await appendFacts(writer(), author, {
      stream: 'about-1',
      expected: 'no-stream',
      catalogue: catalogueOf([About]),
      facts: [{ type: 'About', data: { mailbox_id: 'mbx_1' } }],
      about: { approval_id: 'chk_1' },
    });
    expect(events.all[0]?.metadata).to.include({
      mailbox_id: 'mbx_1',
      approval_id: 'chk_1',
      mcp_session: 'hashed',
    });
  });

  it('refuses invalid or unknown facts before it appends anything', async () => {
    const append = (facts: readonly { type: string; data: unknown }[]) =>
      rejection(
        appendFacts(writer(), AUTHOR, {
          stream: 'counter-c',
          expected: 'no-stream',
          catalogue: counter.catalogue,
          facts,
        }),
      );
    await append([one, { type: 'Counted', data: { amount: 1.5, unit: 'one' } }]);
    expect((await append([{ type: 'Renamed', data: { name: 'x' } }])).message).to.contain('Renamed');
    expect(events.attempts).to.deep.equal([]);
  });

  it('puts the whole envelope on every event', async () => {
    await count();
    const { salt, ...metadata } = events.all[0]?.metadata ?? {};
    expect(salt).to.match(/^[A-Za-z0-9_-]{22}$/);
    expect(metadata).to.deep.equal({
      v: 3,
      org_id: 'org_1',
      actor: AUTHOR.actor,
      surface: 'rest',
      request_id: 'req_1',
      $correlationId: 'req_1',
      $causationId: 'req_1',
      occurred_at: '2026-01-01T00:00:00.000Z',
    });
  });
});

describe('readEvent', () => {
  const metadata = (v: number) => ({
    v,
    org_id: null,
    actor: { type: 'system', id: 'system', token_id: null, session_id: null },
    surface: 'system',
    request_id: 'req_1',
    $correlationId: 'req_1',
    $causationId: 'req_1',
    occurred_at: '2025-01-01T00:00:00.000Z',
  });
  const stored = (v: number, data: Record<string, unknown>, type = 'Counted'): StoredEvent => ({
    id: '00000000-0000-4000-8000-000000000001',
    type,
    streamName: 'counter-c',
    revision: 0n,
    position: 1n,
    data,
    metadata: metadata(v),
    storedAt: new Date(0),
  });
  const read = (event: StoredEvent) => readEvent(counter.catalogue, event)?.data;

  it('reads every version as the newest', () => {
    expect(read(stored(1, { by: 2 }))).to.deep.equal({ amount: 2, unit: 'one' });
    expect(read(stored(2, { by: 2, unit: 'dozen' }))).to.deep.equal({ amount: 2, unit: 'dozen' });
    expect(read(stored(3, { amount: 2, unit: 'dozen' }))).to.deep.equal({ amount: 2, unit: 'dozen' });
  });

  it('leaves the stored event unchanged', () => {
    const event = stored(1, { by: 2 });
    read(event);
    expect(event.data).to.deep.equal({ by: 2 });
  });

  it('throws when an event does not fit its schema or version', () => {
    expect(() => read(stored(3, { by: 2 }))).to.throw();
    expect(() => read(stored(4, { amount: 2, unit: 'one', sign: -1 }))).to.throw('newer');
    expect(() => read({ ...stored(3, { amount: 2, unit: 'one' }), metadata: {} })).to.throw();
  });

  it('returns null when the stream does not know the type', () => {
    expect(readEvent(counter.catalogue, stored(1, {}, 'Renamed'))).to.equal(null);
  });

  it('refuses a catalogue with two events of one name', () => {
    expect(() => catalogueOf([Renamed, Counted, Renamed])).to.throw('two events are called Renamed');
  });
});

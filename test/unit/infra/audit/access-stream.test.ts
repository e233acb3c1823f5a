import { expect } from 'chai';
import { RefusalsCounted, refusalEntry, readEntry } from '../../../../commands/kernel/access-events.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import { readEvent } from '../../../../commands/values/event.ts';
import { eventCatalogue } from '../../../../commands/event-catalogue.ts';
import type { AccessEntry } from '../../../../commands/ports/ports.ts';
import { type AccessStream, openAccessStream } from '../../../../infra/audit/access-stream.ts';
import { randomIds, sampleAuthor } from '../../../support/samples/event-author.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { MemoryEventStore } from '../../../support/fakes/memory-event-store.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { plainPersonalData } from '../../../support/worlds/memory-gateway.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { verifies } from '../../../support/suite/verifies.ts';

describe('access stream', () => {
  let clock: ManualClock;
  let events: MemoryEventStore;
  let stream: AccessStream;
  let personal: ReturnType<typeof plainPersonalData>;

  beforeEach(() => {
    clock = new ManualClock('2026-01-01T10:00:00.000Z');
    events = new MemoryEventStore();
    personal = plainPersonalData();
    stream = openAccessStream({ events, ids: randomIds, personal, clock, log: silentLog, runId: 'run' });
  });
  afterEach(async () => {
    events.comeBack();
    await stream.close();
  });

  const read = (): AccessEntry =>
    readEntry(sampleAuthor('org_a'), clock.now(), {
      mailboxId: 'mbx_1',
      messageIds: ['m'],
      what: 'text',
    });
  const refused = (code = 'not_found'): AccessEntry =>
    refusalEntry(sampleAuthor('org_a'), clock.now(), { capability: 'archive', code, mailboxId: null });
  const counted = (): unknown[] =>
    events.all.filter(({ type }) => type === RefusalsCounted.type).map(({ data }) => data);

  it('answers when the entry is in the stream of this run and hour', async () => {
    await stream.record(read());
    expect(events.all.map(({ streamName, revision }) => [streamName, revision])).to.deep.equal([
      ['access-run-2026010110', 0n],
    ]);
    expect(events.all.map((stored) => readEvent(eventCatalogue, stored)?.type)).to.deep.equal(['BodiesRead']);
  });

  it('batches entries that arrive during an append, at most a hundred', async () => {
    const first = stream.record(read());
    await Promise.resolve();
    await Promise.resolve();
    const others = Array.from({ length: 150 }, () => stream.record(read()));
    await Promise.all([first, ...others]);
    expect(events.attempts.map((attempt) => attempt.events.length)).to.deep.equal([1, 100, 50]);
    expect(new Set(events.all.map(({ id }) => id)).size).to.equal(151);
  });

  it('starts a new stream with each hour', async () => {
    await stream.record(read());
    clock.advance(3_600_000);
    await stream.record(read());
    await stream.record(read());
    expect(events.all.map(({ streamName, revision }) => `${streamName}@${String(revision)}`)).to.deep.equal([
      'access-run-2026010110@0',
      'access-run-2026010111@0',
      'access-run-2026010111@1',
    ]);
  });

  it(`records sixty refusals of a token in a minute and counts the others ${verifies('contract:12:denials-counted')}`, async () => {
    for (let n = 0; n < 63; n += 1) await stream.record(refused());
    expect(events.all).to.have.length(60);
    await stream.flushCounts();
    expect(counted()).to.deep.equal([]);
    clock.advance(60_000);
    await stream.record(refused());
    await stream.flushCounts();
    expect(counted()).to.deep.equal([
      {
        minute: '2026-01-01T10:00:00.000Z',
        code: 'not_found',
        credential_id: 'tok_sample',
        source: null,
        count: 3,
      },
    ]);
    expect(events.all.at(-1)?.metadata).to.deep.include({ org_id: 'org_a', surface: 'system' });
    expect(events.all.filter(({ type }) => type === 'RequestRefused')).to.have.length(61);
  });

  it('counts policy denials with the other refusals of the token', async () => {
    const policy = { decision: 'deny', rule_id: 'no-mail', version: 3 };
    const denial = { capability: 'archive', code: 'policy_denied', mailboxId: null, details: { policy } };
    for (let n = 0; n < 40; n += 1) {
      await stream.record(refused());
      await stream.record(refusalEntry(sampleAuthor('org_a'), clock.now(), denial));
    }
    expect(events.all.map(({ type }) => type).filter((type) => type === 'PolicyDenied')).to.have.length(30);
    clock.advance(60_000);
    await stream.flushCounts();
    expect(counted()).to.deep.include.members([
      {
        minute: '2026-01-01T10:00:00.000Z',
        code: 'policy_denied',
        credential_id: 'tok_sample',
        source: null,
        count: 10,
      },
    ]);
  });

  it(`counts unauthenticated refusals per minute, code and source ${verifies('contract:12:unauthenticated-counted')}`, async () => {
    for (const source of ['10.0.0.1', '10.0.0.1', '10.0.0.2']) stream.countRefusal('unauthenticated', source);
    clock.advance(60_000);
    stream.countRefusal('unauthenticated', '10.0.0.1');
    await stream.flushCounts();
    expect(counted().map((data) => (data as { source: string; count: number }).count)).to.deep.equal([2, 1]);
    expect(events.all.every(({ metadata }) => metadata['org_id'] === null)).to.equal(true);
  });

  it(`seals the source of a refusal for its day ${verifies('contract:12:sources-sealed')}`, async () => {
    stream.countRefusal('unauthenticated', '10.0.0.1');
    clock.advance(86_400_000);
    stream.countRefusal('unauthenticated', '10.0.0.1');
    clock.advance(60_000);
    await stream.flushCounts();
    const sources = counted().map((data) => (data as { source: string }).source);
    expect(sources).to.deep.equal(['sealed:net_20260101:10.0.0.1', 'sealed:net_20260102:10.0.0.1']);
  });

  it('keeps counts whose source could not be sealed', async () => {
    stream.countRefusal('unauthenticated', '10.0.0.1');
    clock.advance(60_000);
    Object.assign(personal, { seal: () => Promise.reject(new Error('the database is away')) });
    expect(String(await rejection(stream.flushCounts()))).to.include('the database is away');
    expect(counted()).to.deep.equal([]);
    Object.assign(personal, plainPersonalData());
    await stream.flushCounts();
    expect(counted()).to.have.length(1);
  });

  it('counts a thousand sources separately, and the others together', async () => {
    for (let n = 0; n < 1_200; n += 1) stream.countRefusal('unauthenticated', `10.0.${String(n)}`);
    clock.advance(60_000);
    await stream.flushCounts();
    expect(counted()).to.have.length(1_001);
    expect(counted().at(-1)).to.deep.include({ credential_id: null, source: null, count: 200 });
  });

  it('rejects when the store is unavailable, and continues at the end of the stream', async () => {
    await stream.record(read());
    events.away = true;
    const failure = await rejection(stream.record(read()));
    expect(failure).to.be.instanceOf(GatewayError).and.to.have.property('code', 'store_unavailable');
    const tried = events.attempts.length;
    await rejection(stream.record(read()));
    expect(events.attempts.length).to.equal(tried);
    events.comeBack();
    clock.advance(1_001);
    await stream.record(read());
    expect(events.all.map(({ revision }) => revision)).to.deep.equal([0n, 1n]);
  });

  it('retries the store a second later, even when the system clock changes', async () => {
    events.away = true;
    await rejection(stream.record(read()));
    events.comeBack();
    clock.step(-3_600_000);
    clock.advance(1_001);
    await stream.record(read());
    expect(events.all).to.have.length(1);
  });

  it('keeps counts that could not be stored', async () => {
    stream.countRefusal('unauthenticated', '10.0.0.1');
    clock.advance(60_000);
    events.away = true;
    await rejection(stream.flushCounts());
    events.comeBack();
    clock.advance(1_001);
    await stream.flushCounts();
    expect(counted()).to.have.length(1);
    await stream.flushCounts();
    expect(counted()).to.have.length(1);
  });

  it('finds the end of the stream again when the answer of an append was lost', async () => {
    await stream.record(read());
    events.loseNextAnswer = true;
    await rejection(stream.record(read()));
    clock.advance(1_001);
    await stream.record(read());
    expect(events.all.map(({ revision }) => revision)).to.deep.equal([0n, 1n, 2n]);
  });

  it('stores every count when it is closed, and accepts no more entries', async () => {
    stream.countRefusal('unauthenticated', '10.0.0.1');
    const last = stream.record(read());
    await stream.close();
    await last;
    expect(counted()).to.have.length(1);
    expect(await rejection(stream.record(read()))).to.have.property('code', 'store_unavailable');
  });
});

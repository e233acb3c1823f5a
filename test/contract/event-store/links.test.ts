/** Links: events of type `$>` that name another event, resolved for whoever asks. */
import { expect } from 'chai';
import { BACKWARDS, END, NO_STREAM, binaryEvent, streamNameFilter } from '@eventstore/db-client';
import type { EventData, ResolvedEvent } from '@eventstore/db-client';
import { eventually } from '../../support/suite/eventually.ts';
import { describeStores, freshStream, numbered } from './store-under-test.ts';

/** Where an event stands, or null for none. */
const placeOf = (event: { streamId: string; revision: bigint } | undefined): string | null =>
  event ? `${String(event.revision)}@${event.streamId}` : null;

describeStores('link', (store) => {
  const append = (stream: string, events: EventData[]) =>
    store().client.appendToStream(stream, events, { ...store().appendOptions, expectedRevision: NO_STREAM });

  const given = async (): Promise<string> => {
    const stream = freshStream();
    await append(stream, numbered(3));
    return stream;
  };

  const links = async (...names: string[]): Promise<string> => {
    const stream = freshStream('links');
    await append(
      stream,
      names.map((name) => binaryEvent({ type: '$>', data: Buffer.from(name) })),
    );
    return stream;
  };

  /** Event and link of each answer. */
  const pairs = async (answers: AsyncIterable<ResolvedEvent>): Promise<unknown[]> => {
    const seen: unknown[] = [];
    for await (const { event, link } of answers) seen.push([placeOf(event), placeOf(link)]);
    return seen;
  };

  const resolved = (stream: string): Promise<unknown[]> =>
    pairs(store().client.readStream(stream, { resolveLinkTos: true }));

  it('returns the event it names, and only itself when the caller does not resolve links', async () => {
    const target = await given();
    const stream = await links(`2@${target}`, `0@${target}`);
    expect(await resolved(stream)).to.deep.equal([
      [`2@${target}`, `0@${stream}`],
      [`0@${target}`, `1@${stream}`],
    ]);
    expect(await resolved(target)).to.deep.equal([0, 1, 2].map((n) => [`${String(n)}@${target}`, null]));
    const asTheyAre = await pairs(store().client.readStream(stream));
    expect(asTheyAre).to.deep.equal([
      [`0@${stream}`, null],
      [`1@${stream}`, null],
    ]);
  });

  it('has its own place in $all, with data and place of the event it names', async () => {
    const target = await given();
    await links(`1@${target}`);
    const newest = { direction: BACKWARDS, fromPosition: END, maxCount: 1, resolveLinkTos: true } as const;
    for await (const { event, link, commitPosition } of store().client.readAll(newest)) {
      expect(event?.data).to.deep.equal({ n: 1 });
      expect(commitPosition).to.equal(link?.position.commit);
      expect(Number(event?.position.commit)).to.be.below(Number(link?.position.commit));
    }
  });

  it('returns only itself when the event it names is missing, truncated or deleted', async () => {
    const { client } = store();
    const [cut, hidden, ended] = [await given(), await given(), await given()];
    await client.setStreamMetadata(cut, { truncateBefore: 1 });
    await client.deleteStream(hidden);
    await client.tombstoneStream(ended);
    const stream = await links(
      `3@${cut}`,
      `0@${cut}`,
      `0@${hidden}`,
      `0@${ended}`,
      `0@${freshStream()}`,
      '7',
    );
    const alone = Array.from({ length: 6 }, (_unused, n) => [null, `${String(n)}@${stream}`]);
    expect(await resolved(stream)).to.deep.equal(alone);
  });

  it('is a plain event when it names no revision, and is not followed when it names a link', async () => {
    const target = await given();
    const first = await links(`0@${target}`);
    const stream = await links('nonsense', `0@${first}`);
    expect(await resolved(stream)).to.deep.equal([
      [`0@${stream}`, null],
      [`0@${first}`, `1@${stream}`],
    ]);
  });

  it('is resolved for subscriptions, for stored and for new events', async () => {
    const target = await given();
    const prefix = freshStream('followed');
    const link = (n: number) => [binaryEvent({ type: '$>', data: Buffer.from(`${String(n)}@${target}`) })];
    await append(`${prefix}-a`, link(0));
    const filter = streamNameFilter({ prefixes: [prefix] });
    const all = store().client.subscribeToAll({ resolveLinkTos: true, filter });
    const one = store().client.subscribeToStream(`${prefix}-b`, { resolveLinkTos: true });
    const seen = { all: [] as unknown[], one: [] as unknown[] };
    all.on('data', (answer: ResolvedEvent) => seen.all.push(placeOf(answer.event)));
    one.on('data', (answer: ResolvedEvent) => seen.one.push(placeOf(answer.event)));
    await eventually(() => seen.all.length === 1);
    await append(`${prefix}-b`, link(2));
    await eventually(() => seen.all.length === 2 && seen.one.length === 1);
    expect(seen).to.deep.equal({ all: [`0@${target}`, `2@${target}`], one: [`2@${target}`] });
    await Promise.all([all.unsubscribe(), one.unsubscribe()]);
  });
});

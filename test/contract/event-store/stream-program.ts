/** Random programs of writes, and how one is run against a store and held against the model. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import {
  ANY,
  BACKWARDS,
  EventStoreDBClient,
  FORWARDS,
  NO_STREAM,
  STREAM_EXISTS,
  StreamDeletedError,
  StreamNotFoundError,
  WrongExpectedVersionError,
  jsonEvent,
} from '@eventstore/db-client';
import type { AppendExpectedRevision, ExpectedRevision, Position } from '@eventstore/db-client';
import fc from 'fast-check';
import type { StoreUnderTest } from './store-under-test.ts';
import { StreamModel } from './stream-model.ts';
import type { Expected, Outcome, Write } from './stream-model.ts';

/** An expectation as a program names it: the head is whatever it is when the write is sent. */
type DeleteWish = 'head' | 'behind-head' | 'any' | 'no-stream';
type Wish = Expected | DeleteWish;

/** A write as a program names it: streams, ids and earlier appends by number. */
export type Intent =
  | {
      readonly kind: 'append';
      readonly stream: number;
      readonly expected: Wish;
      readonly ids: readonly number[];
    }
  | { readonly kind: 'again'; readonly nth: number }
  | { readonly kind: 'delete'; readonly stream: number; readonly expected: DeleteWish }
  | {
      readonly kind: 'metadata';
      readonly stream: number;
      readonly maxCount?: number;
      readonly truncateBefore?: number;
    };

export type Step =
  | { readonly kind: 'together'; readonly intents: readonly Intent[] }
  | {
      readonly kind: 'read';
      readonly stream: number;
      readonly back: boolean;
      readonly from: number;
      readonly count: number;
    }
  | { readonly kind: 'restart' };

const STREAMS = 3;
const stream = fc.nat(STREAMS - 1);
const wish: fc.Arbitrary<Wish> = fc.oneof(
  { weight: 4, arbitrary: fc.constant('head' as const) },
  { weight: 3, arbitrary: fc.constantFrom<Wish>('no-stream', 'any', 'stream-exists', 'behind-head') },
  { weight: 1, arbitrary: fc.nat(6) },
);
/** The client cannot say "stream exists" of a delete. */
const deleteWish = fc.constantFrom<DeleteWish>('head', 'head', 'behind-head', 'any', 'no-stream');
const intent: fc.Arbitrary<Intent> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('append' as const),
      stream,
      expected: wish,
      // Few ids, so that programs meet them again in every order.
      ids: fc.array(fc.nat(7), { minLength: 1, maxLength: 3 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('again' as const), nth: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), stream, expected: deleteWish }) },
  {
    weight: 1,
    arbitrary: fc.record(
      {
        kind: fc.constant('metadata' as const),
        stream,
        maxCount: fc.integer({ min: 1, max: 4 }),
        truncateBefore: fc.nat(6),
      },
      { requiredKeys: ['kind', 'stream'] },
    ),
  },
);

/** `mayRestart`: only an embedded node is there to be restarted. */
export const programs = (mayRestart: boolean): fc.Arbitrary<readonly Step[]> =>
  fc.array(
    fc.oneof<fc.MaybeWeightedArbitrary<Step>[]>(
      {
        weight: 8,
        arbitrary: fc.record({
          kind: fc.constant('together' as const),
          intents: fc.array(intent, { minLength: 1, maxLength: 3 }),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          kind: fc.constant('read' as const),
          stream,
          back: fc.boolean(),
          from: fc.nat(8),
          count: fc.integer({ min: 1, max: 5 }),
        }),
      },
      ...(mayRestart ? [{ weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) }] : []),
    ),
    { minLength: 4, maxLength: 16 },
  );

/** What the store answered. */
type Answer =
  | { readonly kind: 'success'; readonly revision: number | null; readonly position: bigint | null }
  | { readonly kind: 'wrong-version'; readonly actual: number | null }
  | { readonly kind: 'deleted' };

const EXPECTATIONS = { 'no-stream': NO_STREAM, any: ANY, 'stream-exists': STREAM_EXISTS } as const;

const onTheWire = (expected: Expected): AppendExpectedRevision =>
  typeof expected === 'number' ? BigInt(expected) : EXPECTATIONS[expected];

/** Writes that go together come from different callers. */
export const connectTwice = (url: string): EventStoreDBClient[] =>
  [0, 1].map(() => EventStoreDBClient.connectionString(url));

/** Runs one program against streams of its own. */
export class ProgramRun {
  readonly #store: StoreUnderTest;
  readonly #streams = Array.from({ length: STREAMS }, () => `model-${randomUUID()}`);
  readonly #ids = Array.from({ length: 8 }, () => randomUUID());
  readonly #sent: Write[] = [];
  readonly #clients: EventStoreDBClient[];
  #model = new StreamModel();
  #lastPosition = -1n;

  /** `clients` outlive the run, because the end of one ends the pending appends of all; a restart replaces them. */
  constructor(store: StoreUnderTest, clients: EventStoreDBClient[]) {
    this.#store = store;
    this.#clients = clients;
  }

  async run(program: readonly Step[]): Promise<void> {
    const mark = jsonEvent({ type: 'Mark', data: {} });
    const { position } = await this.#client(0).appendToStream(`model-${randomUUID()}`, mark, {
      ...this.#store.appendOptions,
      expectedRevision: NO_STREAM,
    });
    if (!position) throw new Error('an append without a position');
    for (const step of program) await this.#step(step);
    for (const name of this.#streams) await this.#expectStream(name);
    await this.#expectAll(position);
  }

  #client(nth: number): EventStoreDBClient {
    const client = this.#clients[nth % this.#clients.length];
    if (!client) throw new Error('no client');
    return client;
  }

  #name(nth: number): string {
    return this.#streams[nth] ?? '';
  }

  async #step(step: Step): Promise<void> {
    if (step.kind === 'together') return this.#together(step.intents);
    if (step.kind === 'read') return this.#read(step);
    await Promise.all(this.#clients.splice(0).map((client) => client.dispose()));
    await this.#store.restart?.();
    this.#model = this.#model.restarted();
    this.#clients.push(...connectTwice(this.#store.url));
  }

  #resolve(intent: Intent): Write | undefined {
    if (intent.kind === 'again') return this.#sent[intent.nth % Math.max(1, this.#sent.length)];
    const name = this.#name(intent.stream);
    if (intent.kind === 'metadata') return { ...intent, stream: name };
    const head = this.#model.head(name);
    const wished = intent.expected;
    const near = wished === 'head' ? head : wished === 'behind-head' ? Math.max(head - 1, -1) : wished;
    const expected = near === -1 ? 'no-stream' : near;
    if (intent.kind === 'delete') return { kind: 'delete', stream: name, expected };
    const write: Write = {
      kind: 'append',
      stream: name,
      expected,
      ids: intent.ids.map((nth) => this.#ids[nth] ?? ''),
    };
    this.#sent.push(write);
    return write;
  }

  /** Sends writes at once: the answers must be those of the model in some order. */
  async #together(intents: readonly Intent[]): Promise<void> {
    const wished = intents.map((intent) => this.#resolve(intent)).filter((write) => write !== undefined);
    const writes = wished.filter(
      (write, nth) => !wished.slice(0, nth).some((other) => isResend(write, other)),
    );
    const answers = await Promise.all(writes.map((write, nth) => this.#send(write, this.#client(nth))));
    const pairs = writes.map((write, nth) => ({ write, answer: answers[nth] }));
    for (const order of permutations(pairs)) {
      const next = this.#follow(order);
      if (next === null) continue;
      this.#model = next.model;
      this.#lastPosition = next.lastPosition;
      return;
    }
    const inOrder = writes.map((write) => this.#model.decide(write));
    expect(answers, `no order of the writes gives these answers: ${JSON.stringify(writes)}`).to.deep.equal(
      inOrder,
    );
  }

  #follow(
    order: readonly { write: Write; answer: Answer | undefined }[],
  ): { model: StreamModel; lastPosition: bigint } | null {
    let model = this.#model;
    let lastPosition = this.#lastPosition;
    for (const { write, answer } of order) {
      const outcome = model.decide(write);
      if (!answer || !agree(outcome, answer, lastPosition)) return null;
      if (outcome.kind !== 'written' || answer.kind !== 'success') continue;
      lastPosition = answer.position ?? lastPosition;
      model = model.after(write, lastPosition);
    }
    return { model, lastPosition };
  }

  async #send(write: Write, client: EventStoreDBClient): Promise<Answer> {
    try {
      return await this.#sendTo(write, client);
    } catch (error) {
      if (error instanceof StreamDeletedError) return { kind: 'deleted' };
      if (!(error instanceof WrongExpectedVersionError)) throw error;
      const { actualVersion } = error;
      return {
        kind: 'wrong-version',
        actual: typeof actualVersion === 'bigint' ? Number(actualVersion) : -1,
      };
    }
  }

  async #sendTo(write: Write, client: EventStoreDBClient): Promise<Answer> {
    if (write.kind === 'delete') {
      const { position } = await client.deleteStream(write.stream, {
        expectedRevision: onTheWire(write.expected) as ExpectedRevision,
      });
      return { kind: 'success', revision: null, position: position?.commit ?? null };
    }
    if (write.kind === 'metadata') {
      const { kind: _kind, stream: name, ...metadata } = write;
      const { position } = await client.setStreamMetadata(name, metadata);
      return { kind: 'success', revision: null, position: position?.commit ?? null };
    }
    const events = write.ids.map((id) => jsonEvent({ id, type: 'Modelled', data: {} }));
    const expectedRevision = onTheWire(write.expected);
    const options = { ...this.#store.appendOptions, expectedRevision };
    const { nextExpectedRevision, position } = await client.appendToStream(write.stream, events, options);
    return { kind: 'success', revision: Number(nextExpectedRevision), position: position?.commit ?? null };
  }

  async #read({ stream: nth, back, from, count }: Step & { kind: 'read' }): Promise<void> {
    const name = this.#name(nth);
    const all = this.#model.visible(name);
    const wanted = back
      ? all?.filter(([revision]) => revision <= from).toReversed()
      : all?.filter(([revision]) => revision >= from);
    const options = { direction: back ? BACKWARDS : FORWARDS, fromRevision: BigInt(from), maxCount: count };
    // Backwards under a limit the count is of what may be seen, wherever the read begins.
    expect(await this.#contents(name, options)).to.deep.equal(wanted?.slice(0, count) ?? null);
  }

  async #contents(name: string, options: object): Promise<[number, string][] | null> {
    const seen: [number, string][] = [];
    try {
      for await (const { event } of this.#client(0).readStream(name, options)) {
        seen.push([Number(event?.revision), event?.id ?? '']);
      }
      return seen;
    } catch (error) {
      if (error instanceof StreamNotFoundError) return null;
      throw error;
    }
  }

  async #expectStream(name: string): Promise<void> {
    expect(await this.#contents(name, {}), name).to.deep.equal(this.#model.visible(name));
    const metadata = await this.#contents(`$$${name}`, {});
    const revision = this.#model.metadataRevision(name);
    expect(metadata?.map(([at]) => at) ?? null, `$$${name}`).to.deep.equal(
      revision === null ? null : [revision],
    );
  }

  async #expectAll(from: Position): Promise<void> {
    const own = new Set(this.#streams.flatMap((name) => [name, `$$${name}`]));
    const seen: unknown[] = [];
    for await (const { event } of this.#client(0).readAll({ fromPosition: from })) {
      if (!event || !own.has(event.streamId)) continue;
      const isMetadata = event.streamId.startsWith('$$');
      seen.push({
        stream: event.streamId,
        revision: Number(event.revision),
        id: isMetadata ? null : event.id,
      });
    }
    expect(seen).to.deep.equal(this.#model.log);
  }
}

/**
 * True for an append that would be sent while another with one of its ids is under way: a server may drop it without an
 * answer. What is said of those is in the tests of appends.
 */
const isResend = (write: Write, other: Write): boolean =>
  write.kind === 'append' &&
  other.kind === 'append' &&
  write.stream === other.stream &&
  write.ids.some((id) => other.ids.includes(id));

function agree(outcome: Outcome, answer: Answer, lastPosition: bigint): boolean {
  switch (outcome.kind) {
    case 'deleted':
      return answer.kind === 'deleted';
    case 'wrong-version':
      return answer.kind === 'wrong-version' && [null, answer.actual].includes(outcome.actual);
    case 'written':
      return (
        answer.kind === 'success' &&
        [null, outcome.revision].includes(answer.revision) &&
        answer.position !== null &&
        answer.position > lastPosition
      );
    case 'repeated':
      return (
        answer.kind === 'success' &&
        answer.revision === outcome.revision &&
        (outcome.position === 'unknown' ? answer.position !== null : answer.position === outcome.position)
      );
  }
}

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length <= 1) return [[...items]];
  return items.flatMap((item, index) =>
    permutations(items.toSpliced(index, 1)).map((rest) => [item, ...rest]),
  );
}

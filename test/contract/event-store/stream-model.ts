/**
 * What a real 24.6 server answers to appends, soft deletes and metadata, as it was seen and as its source has it
 * (IndexWriter.CheckCommit, StorageWriterService), as a model in memory. It knows nothing of the node. Where both are silent
 * it says so.
 */

export type Expected = number | 'no-stream' | 'any' | 'stream-exists';

interface Append {
  readonly kind: 'append';
  readonly stream: string;
  readonly expected: Expected;
  readonly ids: readonly string[];
}

interface SetMetadata {
  readonly kind: 'metadata';
  readonly stream: string;
  readonly maxCount?: number;
  readonly truncateBefore?: number;
}

export type Write =
  Append | { readonly kind: 'delete'; readonly stream: string; readonly expected: Expected } | SetMetadata;

export type Outcome =
  /** Written now, the last event at this revision. */
  | { readonly kind: 'written'; readonly revision: number }
  /** There already; the position is the old one, unknown to the model inside an append, or left out of hidden events. */
  | { readonly kind: 'repeated'; readonly revision: number; readonly position: bigint | 'unknown' | null }
  /** `actual`: -1 = no stream; null where no observation says what a deleted stream gives. */
  | { readonly kind: 'wrong-version'; readonly actual: number | null }
  | { readonly kind: 'deleted' };

/** An event of a stream or, without an id, of a metadata stream; the server chooses those ids. */
export interface ModelEvent {
  readonly stream: string;
  readonly revision: number;
  readonly id: string | null;
}

interface ModelStream {
  readonly ids: readonly string[];
  /** Positions of the last events of appends, by revision. */
  readonly positions: ReadonlyMap<number, bigint>;
  readonly metadataCount: number;
  readonly isDeleted: boolean;
  readonly truncateBefore: number;
  readonly maxCount: number;
}

const NOTHING: ModelStream = {
  ids: [],
  positions: new Map(),
  metadataCount: 0,
  isDeleted: false,
  truncateBefore: 0,
  maxCount: Infinity,
};

const head = ({ ids }: ModelStream): number => ids.length - 1;

/** The lowest revision that is not hidden. */
const lowest = ({ isDeleted, truncateBefore, ids, maxCount }: ModelStream): number =>
  isDeleted ? Infinity : Math.max(truncateBefore, ids.length - maxCount);

export class StreamModel {
  /** Every event written, in the order of `$all`. */
  readonly log: readonly ModelEvent[];
  readonly #streams: ReadonlyMap<string, ModelStream>;
  /** Recent ids and where each was written first; one place per id. */
  readonly #recent: ReadonlyMap<string, { readonly stream: string; readonly revision: number }>;

  constructor(
    log: StreamModel['log'] = [],
    streams: ReadonlyMap<string, ModelStream> = new Map(),
    recent: ReadonlyMap<string, { readonly stream: string; readonly revision: number }> = new Map(),
  ) {
    this.log = log;
    this.#streams = streams;
    this.#recent = recent;
  }

  #stream(name: string): ModelStream {
    return this.#streams.get(name) ?? NOTHING;
  }

  /** -1 when there is no event. */
  head(name: string): number {
    return head(this.#stream(name));
  }

  /** The ids a read of the stream gives with their revisions, or null for "not found". */
  visible(name: string): readonly (readonly [revision: number, id: string])[] | null {
    const stream = this.#stream(name);
    if (head(stream) < 0 || stream.isDeleted) return null;
    return [...stream.ids.entries()].filter(([revision]) => revision >= lowest(stream));
  }

  /** Revision of the newest metadata, null when none was ever set. */
  metadataRevision(name: string): number | null {
    const { metadataCount } = this.#stream(name);
    return metadataCount === 0 ? null : metadataCount - 1;
  }

  decide(write: Write): Outcome {
    const stream = this.#stream(write.stream);
    if (write.kind === 'metadata') return { kind: 'written', revision: stream.metadataCount };
    if (write.kind === 'append') return this.#decideAppend(write, stream);
    // A deleted stream takes "no stream" as well as its last revision.
    const isMet =
      write.expected === 'no-stream'
        ? head(stream) < 0 || stream.isDeleted
        : ['any', head(stream)].includes(write.expected);
    return isMet && exists(stream)
      ? { kind: 'written', revision: stream.metadataCount }
      : wrongVersion(stream);
  }

  #decideAppend(write: Append, stream: ModelStream): Outcome {
    const { expected } = write;
    if (expected === 'any' || expected === 'stream-exists') return this.#decideLoosely(write, stream);
    const after = expected === 'no-stream' ? -1 : expected;
    if (after === head(stream)) return writtenNext(write, stream);
    const isRepeat = write.ids.every((id, index) => stream.ids[after + 1 + index] === id);
    if (isRepeat) return repeated(stream, after + write.ids.length);
    // A deleted stream takes "no stream" as well as its old last revision, but not what begins with its own first event.
    const isNew = stream.ids[0] !== write.ids[0];
    return isNew && expected === 'no-stream' && stream.isDeleted
      ? writtenNext(write, stream)
      : wrongVersion(stream);
  }

  #decideLoosely(write: Append, stream: ModelStream): Outcome {
    if (write.expected === 'stream-exists' && stream.isDeleted) return { kind: 'deleted' };
    if (write.expected === 'stream-exists' && !exists(stream)) return wrongVersion(stream);
    const known = write.ids.map((id) => {
      const place = this.#recent.get(id);
      return place?.stream === write.stream ? place.revision : null;
    });
    if (known[0] === null) return writtenNext(write, stream);
    return known.includes(null) ? wrongVersion(stream) : repeated(stream, known.at(-1) ?? -1);
  }

  /** The model after a write that was decided to be written, whose last event came to stand at `position`. */
  after(write: Write, position: bigint): StreamModel {
    const before = this.#stream(write.stream);
    const metadataEvent = { stream: `$$${write.stream}`, revision: before.metadataCount, id: null };
    if (write.kind === 'delete') {
      const metadataCount = before.metadataCount + 1;
      const stream = { ...before, metadataCount, isDeleted: true, truncateBefore: 0, maxCount: Infinity };
      return new StreamModel([...this.log, metadataEvent], this.#with(write.stream, stream), this.#recent);
    }
    if (write.kind === 'metadata') return this.#afterMetadata(write, before, metadataEvent);
    const first = before.ids.length;
    const events = write.ids.map((id, index) => ({ stream: write.stream, revision: first + index, id }));
    const last = first + events.length - 1;
    const appended = {
      ...before,
      ids: [...before.ids, ...write.ids],
      positions: new Map([...before.positions, [last, position]]),
    };
    const recent = new Map(this.#recent);
    for (const { id, stream, revision } of events) {
      if (!recent.has(id)) recent.set(id, { stream, revision });
    }
    if (!before.isDeleted) {
      return new StreamModel([...this.log, ...events], this.#with(write.stream, appended), recent);
    }
    // The server says then that the stream begins anew here.
    const metadataCount = before.metadataCount + 1;
    const reopened = { ...appended, metadataCount, isDeleted: false, truncateBefore: first };
    const log = [...this.log, ...events, metadataEvent];
    return new StreamModel(log, this.#with(write.stream, reopened), recent);
  }

  /** Metadata of a deleted stream opens it again without its events: the server writes once more where it begins. */
  #afterMetadata(write: SetMetadata, before: ModelStream, event: ModelEvent): StreamModel {
    const rewritten = { ...event, revision: event.revision + 1 };
    const written = before.isDeleted ? [event, rewritten] : [event];
    const stream = {
      ...before,
      metadataCount: before.metadataCount + written.length,
      isDeleted: false,
      truncateBefore: before.isDeleted ? before.ids.length : (write.truncateBefore ?? 0),
      maxCount: write.maxCount ?? Infinity,
    };
    return new StreamModel([...this.log, ...written], this.#with(write.stream, stream), this.#recent);
  }

  /** After a restart only what stands in the streams is known. */
  restarted(): StreamModel {
    return new StreamModel(this.log, this.#streams);
  }

  #with(name: string, stream: ModelStream): ReadonlyMap<string, ModelStream> {
    return new Map([...this.#streams, [name, stream]]);
  }
}

/** Also when only metadata was set. */
const exists = (stream: ModelStream): boolean => head(stream) >= 0 || stream.metadataCount > 0;

const writtenNext = ({ ids }: Append, stream: ModelStream): Outcome => ({
  kind: 'written',
  revision: head(stream) + ids.length,
});

const wrongVersion = (stream: ModelStream): Outcome => ({
  kind: 'wrong-version',
  actual: stream.isDeleted ? null : head(stream),
});

const repeated = (stream: ModelStream, revision: number): Outcome => ({
  kind: 'repeated',
  revision,
  // The server reads the event to tell where it is, and finds none that is hidden.
  position: revision < lowest(stream) ? null : (stream.positions.get(revision) ?? 'unknown'),
});

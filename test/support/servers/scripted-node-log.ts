/** The state of a scripted node: one small correct log, with the idempotency of a real server. */
import { EventEmitter } from 'node:events';

export interface ScriptedEvent {
  readonly id: string;
  readonly stream: string;
  readonly revision: number;
  readonly position: number;
  readonly type: string;
  readonly data: Uint8Array;
}

export type ProposedEvent = Pick<ScriptedEvent, 'id' | 'type' | 'data'>;

/** Last revision and position of a write, new or repeated; after a conflict the stream's revision. */
export type WriteOutcome =
  { readonly revision: number; readonly position: number } | { readonly actual: number };

/** Positions are byte offsets in a real log: gaps of any size, the first well above 0. */
const FIRST_POSITION = 733;
const POSITION_STEP = 100;

export class ScriptedLog {
  readonly events: ScriptedEvent[] = [];
  readonly #written = new EventEmitter().setMaxListeners(0);

  stream(name: string): ScriptedEvent[] {
    return this.events.filter(({ stream }) => stream === name);
  }

  /** The numbers `n` in the data of a stream's events. */
  numbers(name: string): unknown[] {
    return this.stream(name).map(({ data }) => (JSON.parse(Buffer.from(data).toString()) as { n: number }).n);
  }

  /** `expected` -1 = no stream. */
  write(stream: string, expected: number, proposed: readonly ProposedEvent[]): WriteOutcome {
    const before = this.stream(stream);
    const repeat = before.slice(expected + 1, expected + 1 + proposed.length);
    const isRepeat = repeat.length > 0 && proposed.every(({ id }, index) => repeat[index]?.id === id);
    const last = isRepeat ? repeat.at(-1) : undefined;
    if (last) return { revision: last.revision, position: last.position };
    if (before.length - 1 !== expected) return { actual: before.length - 1 };
    for (const [index, event] of proposed.entries()) {
      const position = FIRST_POSITION + POSITION_STEP * this.events.length;
      this.events.push({ ...event, stream, revision: expected + 1 + index, position });
    }
    this.#written.emit('written');
    const { revision, position } = this.events.at(-1) ?? { revision: -1, position: -1 };
    return { revision, position };
  }

  /** Calls back after every write until the function returned is called. */
  onWritten(listener: () => void): () => void {
    this.#written.on('written', listener);
    return () => this.#written.off('written', listener);
  }
}

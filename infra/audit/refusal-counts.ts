/** Refusals that are counted instead of recorded individually: per minute, code and source. */
import { envelope, systemAuthor } from '../../commands/kernel/decide-and-append.ts';
import { RefusalsCounted } from '../../commands/kernel/access-events.ts';
import type { AccessEntry, Clock, Ids } from '../../commands/ports/ports.ts';

/** Refusals recorded individually per credential and minute. */
const RECORDED_PER_MINUTE = 60;
/** Counters kept at once; addresses are cheap for an attacker, events are not. */
const MOST_COUNTERS = 1_000;
const MANY_SOURCES = 'others';

interface Counter {
  readonly minute: string;
  readonly code: string;
  readonly source: string;
  readonly orgId: string | null;
  count: number;
}

export class RefusalCounts {
  readonly #ids: Ids;
  readonly #clock: Clock;
  readonly #counters = new Map<string, Counter>();
  readonly #recorded = new Map<string, number>();
  #recordedIn = '';

  constructor({ ids, clock }: { readonly ids: Ids; readonly clock: Clock }) {
    this.#ids = ids;
    this.#clock = clock;
  }

  /** True if one more refusal of the credential is recorded individually in this minute. */
  admits(tokenId: string): boolean {
    const minute = this.#minute();
    if (minute !== this.#recordedIn) {
      this.#recordedIn = minute;
      this.#recorded.clear();
    }
    const recorded = this.#recorded.get(tokenId) ?? 0;
    this.#recorded.set(tokenId, recorded + 1);
    return recorded < RECORDED_PER_MINUTE;
  }

  count(code: string, source: string, orgId: string | null): void {
    const minute = this.#minute();
    const own = { minute, code, source: source.slice(0, 200), orgId, count: 1 };
    const known = this.#counters.has(keyOf(own)) || this.#counters.size < MOST_COUNTERS;
    this.#add(known ? own : { ...own, source: MANY_SOURCES, orgId: null });
  }

  /** Removes and returns the counts of earlier minutes, as entries. */
  takeFinished(): readonly AccessEntry[] {
    const minute = this.#minute();
    return this.#take((counter) => counter.minute < minute);
  }

  takeAll(): readonly AccessEntry[] {
    return this.#take(() => true);
  }

  /** Restores the count of an entry that could not be stored. */
  putBack({ data, metadata }: AccessEntry): void {
    const { minute, code, source, count } = RefusalsCounted.data.parse(data);
    const orgId = typeof metadata['org_id'] === 'string' ? metadata['org_id'] : null;
    this.#add({ minute, code, source, count, orgId });
  }

  #add(counter: Counter): void {
    const key = keyOf(counter);
    const known = this.#counters.get(key);
    if (known) known.count += counter.count;
    else this.#counters.set(key, counter);
  }

  #take(wanted: (counter: Counter) => boolean): readonly AccessEntry[] {
    const taken = [...this.#counters].filter(([, counter]) => wanted(counter));
    for (const [key] of taken) this.#counters.delete(key);
    return taken.map(([, { orgId, ...data }]) => ({
      type: RefusalsCounted.type,
      data,
      metadata: envelope(systemAuthor({ ids: this.#ids }, orgId), RefusalsCounted, this.#clock.now()),
    }));
  }

  #minute(): string {
    return `${this.#clock.now().toISOString().slice(0, 16)}:00.000Z`;
  }
}

const keyOf = ({ minute, code, source, orgId }: Counter): string =>
  [minute, code, source, orgId ?? ''].join('\u0000');

/** Refusals that are counted instead of recorded individually: per minute, code and source. */
import type { Clock } from '../../commands/ports/ports.ts';

/** Refusals recorded individually per credential and minute. */
const RECORDED_PER_MINUTE = 60;
/** Counters kept at once; addresses are cheap for an attacker, events are not. */
const MOST_COUNTERS = 1_000;
const MOST_CHARACTERS = 200;

/** Who was refused: a known caller, or where the request came from. */
export type RefusedFrom = { readonly credentialId: string } | { readonly source: string };

export interface Counter {
  readonly minute: string;
  readonly code: string;
  readonly credentialId: string | null;
  /** Null for a known caller, and for many sources. */
  readonly source: string | null;
  readonly orgId: string | null;
  count: number;
}

export class RefusalCounts {
  readonly #clock: Clock;
  readonly #counters = new Map<string, Counter>();
  readonly #recorded = new Map<string, number>();
  #recordedIn = '';

  constructor({ clock }: { readonly clock: Clock }) {
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

  count(code: string, from: RefusedFrom, orgId: string | null): void {
    const of =
      'source' in from
        ? { credentialId: null, source: from.source.slice(0, MOST_CHARACTERS) }
        : { credentialId: from.credentialId, source: null };
    const own = { minute: this.#minute(), code, ...of, orgId, count: 1 };
    const known = this.#counters.has(keyOf(own)) || this.#counters.size < MOST_COUNTERS;
    this.add(known ? own : { ...own, credentialId: null, source: null, orgId: null });
  }

  /** Removes and returns the counts of earlier minutes. */
  takeFinished(): readonly Counter[] {
    const minute = this.#minute();
    return this.#take((counter) => counter.minute < minute);
  }

  takeAll(): readonly Counter[] {
    return this.#take(() => true);
  }

  /** Also restores a count that could not be stored. */
  add(counter: Counter): void {
    const key = keyOf(counter);
    const known = this.#counters.get(key);
    if (known) known.count += counter.count;
    else this.#counters.set(key, counter);
  }

  #take(wanted: (counter: Counter) => boolean): readonly Counter[] {
    const taken = [...this.#counters].filter(([, counter]) => wanted(counter));
    for (const [key] of taken) this.#counters.delete(key);
    return taken.map(([, counter]) => counter);
  }

  #minute(): string {
    return `${this.#clock.now().toISOString().slice(0, 16)}:00.000Z`;
  }
}

const keyOf = ({ minute, code, credentialId, source, orgId }: Counter): string =>
  [minute, code, credentialId ?? '', source ?? '', orgId ?? ''].join('\u0000');

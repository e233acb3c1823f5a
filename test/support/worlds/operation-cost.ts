/** What an operation costs a gateway in this process, beyond what it does unasked in the same time. */
import { setTimeout as sleep } from 'node:timers/promises';
import { WorkCounter, type WorkCounts } from './work-counts.ts';

const IDLE_SECONDS = 4;

/** Of one operation. */
export interface Cost {
  readonly statements: number;
  readonly transactions: number;
  /** Taken by a statement that does nothing else. */
  readonly leases: number;
  /** Of streams, asked of the event store. */
  readonly reads: number;
  readonly logins: number;
}

export interface Counted {
  /** How many warm it up. */
  readonly warm: number;
  readonly count: number;
  /** From the end of one to the begin of the next. */
  readonly paceMs: number;
  /** What follows an operation has ended by then. */
  readonly aftermathMs: number;
}

/** Counts from its start on, until it is disposed; call `rest` once nothing else happens. */
export class OperationCost implements Disposable {
  readonly #counter = new WorkCounter();
  #idle: WorkCounts | null = null;

  /** Counts what the gateway does while nobody asks it anything. */
  async rest(): Promise<void> {
    this.#idle = await this.#counter.during(() => sleep(1_000 * IDLE_SECONDS));
  }

  /** `SHOW_COUNTS=1` prints the statements. */
  async of(operate: () => Promise<void>, { warm, count, paceMs, aftermathMs }: Counted): Promise<Cost> {
    const idle = this.#idle;
    if (idle === null) throw new Error('what an idle gateway does was not counted');
    const all = async (times: number): Promise<void> => {
      for (let number = 0; number < times; number += 1) {
        await operate();
        if (paceMs > 0) await sleep(paceMs);
      }
      await sleep(aftermathMs);
    };
    await all(warm);
    const beganAt = performance.now();
    const counts = await this.#counter.during(() => all(count));
    const idles = (performance.now() - beganAt) / 1_000 / IDLE_SECONDS;
    if (process.env['SHOW_COUNTS'] === '1') show(counts, idle, idles, count);
    const sumOf = (start: string): number =>
      [...counts.byText].reduce((sum, [text, times]) => (text.startsWith(start) ? sum + times : sum), 0);
    return {
      statements: (counts.statements - idles * idle.statements) / count,
      transactions: (counts.transactions - idles * idle.transactions) / count,
      leases: sumOf('insert into work.lease') / count,
      reads: (counts.streamReads - idles * idle.streamReads) / count,
      logins: counts.imapLogins / count,
    };
  }

  [Symbol.dispose](): void {
    this.#counter[Symbol.dispose]();
  }
}

function show(all: WorkCounts, idle: WorkCounts, idles: number, count: number): void {
  const rows = [...all.byText].map(([text, times]) => ({
    text,
    each: (times - idles * (idle.byText.get(text) ?? 0)) / count,
  }));
  const lines = rows
    .filter(({ each }) => Math.abs(each) >= 0.05)
    .sort((a, b) => b.each - a.each)
    .map(({ text, each }) => `${each.toFixed(2).padStart(7)}  ${text}`);
  const sum = (all.statements - idles * idle.statements) / count;
  const logins = (all.imapLogins / count).toFixed(2);
  const commands = [...all.commands]
    .map(([name, times]) => `${name} ${(times / count).toFixed(2)}`)
    .join(', ');
  process.stdout.write(
    `${sum.toFixed(2).padStart(7)}  statements, ${logins} logins, ${commands}\n${lines.join('\n')}\n`,
  );
}

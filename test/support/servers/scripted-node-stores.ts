/** Event stores that one test opened on scripted nodes, with their logs. */
import type { Log } from '../../../commands/ports/ports.ts';
import { openEventStore } from '../../../infra/event-store/event-store-client.ts';
import type {
  ConnectedEventStore,
  EventStoreOptions,
} from '../../../infra/event-store/event-store-client.ts';

export interface OpenStores {
  open(options: Omit<EventStoreOptions, 'log'>): ConnectedEventStore;
  /** Lines logged at a level since the last `close`: text and fields. */
  lines(level: keyof Log): string[];
  /** Closes every store opened. Throws for an unhandled rejection in the meantime: that ends a process. */
  close(): Promise<void>;
}

export function openStores(): OpenStores {
  const opened: ConnectedEventStore[] = [];
  const lines: { level: keyof Log; line: string }[] = [];
  const note =
    (level: keyof Log) =>
    (text: string, fields: object = {}): void => {
      lines.push({ level, line: `${text} ${JSON.stringify(fields)}` });
    };
  const unheard: unknown[] = [];
  const noteUnheard = (reason: unknown): void => {
    unheard.push(reason);
  };
  const log: Log = { info: note('info'), warn: note('warn'), error: note('error') };
  return {
    open: (options) => {
      if (opened.length === 0) process.on('unhandledRejection', noteUnheard);
      const store = openEventStore({ ...options, log });
      opened.push(store);
      return store;
    },
    lines: (level) => lines.filter((entry) => entry.level === level).map(({ line }) => line),
    close: async () => {
      await Promise.all(opened.splice(0).map((store) => store.close()));
      lines.length = 0;
      process.off('unhandledRejection', noteUnheard);
      const [reason] = unheard.splice(0);
      if (reason !== undefined) throw new Error('a rejection nobody heard', { cause: reason });
    },
  };
}

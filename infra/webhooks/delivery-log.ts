/** The `DeliveryLog` port: this process's own stream of the outcomes of attempts. */
import type { EventStore } from '../../commands/ports/event-store.ts';
import type { AccessEntry, Clock, Ids } from '../../commands/ports/ports.ts';
import type { DeliveryLog } from '../../commands/ports/webhook-port.ts';
import { uuidV5 } from '../../commands/values/ids.ts';
import { OwnStream } from '../event-store/own-stream.ts';

export interface DeliveryLogOptions {
  readonly events: EventStore;
  readonly ids: Ids;
  readonly clock: Clock;
  readonly runId: string;
}

export interface DeliveryStream extends DeliveryLog {
  /** As `record`, and tries until the outcome is stored; throws only when the process ends before. */
  keep(entry: AccessEntry): Promise<void>;
  /** True while the store does not take outcomes. */
  readonly isAway: boolean;
  close(): Promise<void>;
}

const MOST_PER_APPEND = 500;

export function openDeliveryLog(options: DeliveryLogOptions): DeliveryStream {
  const stream = new OwnStream({
    ...options,
    name: 'webhookDeliveries',
    mostPerAppend: MOST_PER_APPEND,
    what: 'the outcome of this delivery',
    // A run makes at most one attempt of a delivery.
    idOf: ({ data }) => uuidV5(String(data['delivery_id']), options.runId),
  });
  return {
    record: (entry) => stream.append(entry),
    keep: (entry) => stream.append(entry, 'keep'),
    get isAway() {
      return stream.isAway;
    },
    close: () => stream.close(),
  };
}

import type { RequirementTable } from './requirement.ts';

/** The event store, embedded or another: section 20. */
export const contractEventStore = {
  'contract:20:no-such-position': ['kernel', 'A checkpoint above 2^63 is none.'],
  'contract:20:checkpoint-beside-event': [
    'kernel',
    'A checkpoint commit/0 of a filtered catch-up is progress: the next subscription begins there.',
  ],
  'contract:20:another-log': [
    'kernel',
    'After every reconnect the log is compared: a shorter one, or another event at the place, stops writes with 503 and an error line.',
  ],
  'contract:20:start-waits': [
    'kernel',
    'A gateway started while an external store is unreachable waits for it: live, not ready, and no restart is needed.',
  ],
  'contract:20:node-signs-in': [
    'kernel',
    'The embedded event node takes reads and appends only with the password of its folder.',
  ],
} as const satisfies RequirementTable;

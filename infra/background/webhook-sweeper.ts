/** The background work on what webhooks leave in `vault`, as a row for the table in `sweepers.ts`. */
import type { Ports } from '../../commands/ports/ports.ts';
import { eraseWebhookLeftovers } from '../webhooks/webhook-leftovers.ts';
import { row, type Sweeper } from './run-sweeper.ts';

const MINUTE = 60_000;

export const webhookSweeper = (ports: Ports): Sweeper =>
  row({
    name: 'webhook-leftovers',
    // What it erases is days old, and it goes over all secrets.
    everyMs: 60 * MINUTE,
    atOnce: 1,
    pauses: { firstMs: MINUTE, mostMs: MINUTE },
    find: ({ now }) => Promise.resolve([{ now }]),
    keyOf: () => 'all',
    settle: async ({ now }) => {
      await eraseWebhookLeftovers(ports, now);
      return 'settled';
    },
  });

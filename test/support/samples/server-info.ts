import { WEBHOOK_TIMES } from '../fakes/memory-webhooks.ts';
import type { ServerInfo } from '../../../commands/ports/ports.ts';

/** A server with the default limits. Each caller has its own, because some tests change it. */
export const sampleServer = (): ServerInfo => ({
  baseUrl: 'http://127.0.0.1',
  version: '0.0.0',
  limits: {
    readsPerMinute: 600,
    writesPerMinute: 120,
    concurrentRequests: 20,
    concurrentWaits: 50,
    providerConnections: 4,
    jsonBodyBytes: 1_048_576,
    mcpResultBytes: 98_304,
    sendsPerHour: 30,
    signInsPerMinute: 10,
  },
  sendTimes: {
    retryAfterMs: [60_000, 300_000, 900_000, 1_800_000],
    giveUpAfterMs: 86_400_000,
    judgeAfterMs: 900_000,
    ownCopyWithinMs: 5_000,
  },
  webhookTimes: WEBHOOK_TIMES,
  mcpTextBlock: true,
  signUp: 'invite',
  mailboxNumberBlock: 0,
  logId: '0a1b2c3d',
  mcpRevisions: [],
  strictOutput: true,
});

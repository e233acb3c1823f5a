/** `/health/live` and `/health/ready`: the only routes that need no bearer. */
import express, { type Router } from 'express';
import type { Log } from '../../commands/ports/ports.ts';
import { within } from '../concurrency/within.ts';

/** Resolves with public facts when its part works; throws with the problem, which is logged. */
export type Check = () => Promise<Readonly<Record<string, unknown>>>;
export type Checks = Readonly<Record<string, Check>>;

const CHECK_WITHIN_MS = 2_000;

/**
 * Live while the process serves; ready while every check passes, each within `withinMs`. The answer names the failing
 * check; the log has the problem, once each time it begins.
 */
export function healthRouter(checks: Checks, log: Log, withinMs = CHECK_WITHIN_MS): Router {
  const router = express.Router();
  const failing = new Set<string>();
  const judged = ({ ok, facts, problem }: Result, name: string): object => {
    if (!ok && !failing.has(name)) log.warn('readiness: check failed', { check: name, problem });
    if (ok) failing.delete(name);
    else failing.add(name);
    return { ok, ...facts };
  };
  router.get('/live', (_, response) => {
    response.set('Cache-Control', 'no-store').json({ status: 'live' });
  });
  const runAll = () =>
    Promise.all(
      Object.entries(checks).map(async ([name, check]) => [name, await run(check, withinMs)] as const),
    );
  let running: ReturnType<typeof runAll> | null = null;
  router.get('/ready', async (_, response) => {
    // Concurrent requests share one check: an answer that began in an outage must not follow one that began later.
    running ??= runAll().finally(() => {
      running = null;
    });
    const results = await running;
    const ready = results.every(([, result]) => result.ok);
    response
      .status(ready ? 200 : 503)
      .set('Cache-Control', 'no-store')
      .json({
        status: ready ? 'ready' : 'not_ready',
        checks: Object.fromEntries(results.map(([name, result]) => [name, judged(result, name)])),
      });
  });
  return router;
}

interface Result {
  readonly ok: boolean;
  readonly facts?: Readonly<Record<string, unknown>>;
  readonly problem?: string;
}

async function run(check: Check, withinMs: number): Promise<Result> {
  try {
    return { ok: true, facts: await within(withinMs, check(), 'no answer in time') };
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : 'failed' };
  }
}

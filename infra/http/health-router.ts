/** `/health/live` and `/health/ready`: the only routes that need no bearer. */
import express, { type Router } from 'express';

/** Resolves with facts when its part answers; throws with what is wrong. */
export type Check = () => Promise<Readonly<Record<string, unknown>>>;
export type Checks = Readonly<Record<string, Check>>;

const CHECK_WITHIN_MS = 2_000;

/** Live while the process serves; ready while every check passes, each within `withinMs`. */
export function healthRouter(checks: Checks, withinMs = CHECK_WITHIN_MS): Router {
  const router = express.Router();
  router.get('/live', (_, response) => {
    response.set('Cache-Control', 'no-store').json({ status: 'live' });
  });
  router.get('/ready', async (_, response) => {
    const results = await Promise.all(
      Object.entries(checks).map(async ([name, check]) => [name, await run(check, withinMs)] as const),
    );
    const ready = results.every(([, result]) => result.ok);
    response
      .status(ready ? 200 : 503)
      .set('Cache-Control', 'no-store')
      .json({ status: ready ? 'ready' : 'not_ready', checks: Object.fromEntries(results) });
  });
  return router;
}

async function run(check: Check, withinMs: number): Promise<{ ok: boolean } & Record<string, unknown>> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error('no answer in time'));
    }, withinMs);
  });
  try {
    return { ok: true, ...(await Promise.race([check(), late])) };
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : 'failed' };
  } finally {
    clearTimeout(timer);
  }
}

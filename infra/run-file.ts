/** `<DATA_DIR>/run.json`: where a running gateway's parts answer, for the admin command and against a second start. */
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../commands/kernel/ports.ts';

const RunFacts = z.object({
  pid: z.int(),
  base_url: z.string(),
  database_url: z.string(),
  eventstore_url: z.string(),
  started_at: z.string(),
});
export type RunFacts = z.output<typeof RunFacts>;

const fileIn = (dataDir: string): string => join(dataDir, 'run.json');

/** The facts left by a run, or null when there are none or they cannot be read. */
export function readRunFile(dataDir: string): RunFacts | null {
  if (!existsSync(fileIn(dataDir))) return null;
  try {
    const parsed = RunFacts.safeParse(JSON.parse(readFileSync(fileIn(dataDir), 'utf8')));
    return parsed.success ? parsed.data : null;
  } catch {
    // Half-written by a process that was killed: as good as none.
    return null;
  }
}

/** Readable by its owner only: the database address holds a password. */
export function writeRunFile(dataDir: string, facts: RunFacts): void {
  writeFileSync(fileIn(dataDir), `${JSON.stringify(facts, null, 2)}\n`, { mode: 0o600 });
  chmodSync(fileIn(dataDir), 0o600);
}

export const removeRunFile = (dataDir: string): void => {
  rmSync(fileIn(dataDir), { force: true });
};

/** True when a process of that run still answers. */
export async function isAlive({ pid, base_url }: RunFacts): Promise<boolean> {
  try {
    process.kill(pid, 0);
    const answer = await fetch(`${base_url}/health/live`, { signal: AbortSignal.timeout(2_000) });
    return answer.ok;
  } catch {
    return false;
  }
}

/** How long an earlier run whose npm was killed may take to end itself. */
const HAND_OVER_MS = 8_000;

/** Waits for an earlier run on this folder to end. Throws one sentence when it goes on. */
export async function awaitFolder(dataDir: string, clock: Clock): Promise<void> {
  const until = clock.now().getTime() + HAND_OVER_MS;
  for (;;) {
    const facts = readRunFile(dataDir);
    if (facts === null || facts.pid === process.pid || !(await isAlive(facts))) return;
    if (clock.now().getTime() > until) {
      throw new Error(
        `A gateway already runs on ${dataDir} (pid ${String(facts.pid)}, ${facts.base_url}); stop it or set another DATA_DIR.`,
      );
    }
    await clock.sleep(250);
  }
}

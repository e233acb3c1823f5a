/** `<DATA_DIR>/run.json`: where the stores of the process that owns the folder answer, for whoever works beside it. */
import { chmodSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../commands/ports/ports.ts';
import { processIdentity } from '../postgres/embedded/folder-owner.ts';

const RunFacts = z.object({
  pid: z.int(),
  /** Tells the process from a later one with its pid. */
  process: z.string(),
  /** Null when nobody said under which address callers reach the gateways beside a process with stores only. */
  base_url: z.string().nullable(),
  database_url: z.string(),
  database_direct_url: z.string(),
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
    // Removed meanwhile, or of another version: as good as none.
    return null;
  }
}

type OwnFacts = Omit<RunFacts, 'pid' | 'process' | 'started_at'>;

/** What the file says of a process with these stores. */
export const runFactsOf = (running: {
  readonly baseUrl: string | null;
  readonly databaseUrl: string;
  readonly directUrl: string;
  readonly sharedEventStoreUrl: string;
}): OwnFacts => ({
  base_url: running.baseUrl,
  database_url: running.databaseUrl,
  database_direct_url: running.directUrl,
  eventstore_url: running.sharedEventStoreUrl,
});

/** Of this process, readable by its owner only: the addresses hold passwords. */
export async function writeRunFile(dataDir: string, facts: OwnFacts, clock: Clock): Promise<void> {
  const { pid } = process;
  const identity = (await processIdentity(pid)) ?? '';
  const whole: RunFacts = { pid, process: identity, ...facts, started_at: clock.now().toISOString() };
  const draft = `${fileIn(dataDir)}.${String(pid)}`;
  writeFileSync(draft, `${JSON.stringify(whole, null, 2)}\n`, { mode: 0o600 });
  chmodSync(draft, 0o600);
  renameSync(draft, fileIn(dataDir));
}

export const removeRunFile = (dataDir: string): void => {
  rmSync(fileIn(dataDir), { force: true });
};

/** True while the process of that run lives, whether or not it answers. */
export const isAlive = async ({ pid, process: identity }: RunFacts): Promise<boolean> =>
  (await processIdentity(pid)) === identity;

/** How long an earlier run whose npm was killed may take to end itself. */
const HAND_OVER_MS = 8_000;

/** Waits for an earlier run on this folder to end. Throws one sentence when it goes on. */
export async function awaitFolder(dataDir: string, clock: Clock): Promise<void> {
  const until = clock.elapsedMs() + HAND_OVER_MS;
  for (;;) {
    const facts = readRunFile(dataDir);
    if (facts === null || facts.pid === process.pid || !(await isAlive(facts))) return;
    if (clock.elapsedMs() > until) {
      throw new Error(
        `Another process owns ${dataDir} (pid ${String(facts.pid)}, ${facts.base_url ?? 'stores only'}): stop it, set another DATA_DIR, or set ROLES without embedded to work beside it.`,
      );
    }
    await clock.sleep(250);
  }
}

/**
 * `<DATA_DIR>/run.json`: the addresses of the stores of the process that owns the folder, for processes
 * beside it.
 */
import { chmodSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../commands/ports/ports.ts';
import { processIdentity } from '../postgres/embedded/folder-owner.ts';

const RunFacts = z.object({
  pid: z.int(),
  /** Distinguishes the process from a later one with its pid. */
  process: z.string(),
  /** Null for a process with stores only, when BASE_URL is not set. */
  base_url: z.string().nullable(),
  database_url: z.string(),
  database_direct_url: z.string(),
  eventstore_url: z.string(),
  started_at: z.string(),
});
export type RunFacts = z.output<typeof RunFacts>;

const fileIn = (dataDir: string): string => join(dataDir, 'run.json');

/** The facts left by a run, or null when they are missing or unreadable. */
export function readRunFile(dataDir: string): RunFacts | null {
  if (!existsSync(fileIn(dataDir))) return null;
  try {
    const parsed = RunFacts.safeParse(JSON.parse(readFileSync(fileIn(dataDir), 'utf8')));
    return parsed.success ? parsed.data : null;
  } catch {
    // Removed meanwhile, or written by another version: counts as missing.
    return null;
  }
}

type OwnFacts = Omit<RunFacts, 'pid' | 'process' | 'started_at'>;

/** The file's facts for a process with these stores. */
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

/** Writes the facts of this process, readable by its owner only: the addresses contain passwords. */
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

/** How long an earlier run may take to end after its npm was killed. */
const HAND_OVER_MS = 8_000;

/** Waits for an earlier run on this folder to end. Throws one sentence when it does not. */
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

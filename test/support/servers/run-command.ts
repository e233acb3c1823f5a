/** A command of the gateway as a person runs it: a separate process, configured by the environment alone. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { inheritedEnvironment } from '../worlds/inherited-environment.ts';

const ROOT = join(import.meta.dirname, '../../..');

export interface CommandResult {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `script` (from the root of the project) to its end. Settings of this process are not passed on. */
export const runCommand = (
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<CommandResult> => runNode([join(ROOT, script), ...args], env);

/** Runs Node with these arguments and only `env` and `inheritedEnvironment` as environment. */
export function runNode(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      env: { ...inheritedEnvironment(), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 60_000,
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    child.once('error', reject);
    child.once('close', (code) => {
      resolve({ code, stdout, stderr });
    });
  });
}

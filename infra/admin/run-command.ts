/** Runs a long command on a terminal: a signal stops it cleanly, and an error is one sentence. */
import { sentenceOf } from '../process/config.ts';
import { endRequested } from '../process/end-signals.ts';

export const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/** Aborts when the process is asked to end. */
export function stopSignal(): AbortSignal {
  const stopping = new AbortController();
  void endRequested().then((reason) => {
    stopping.abort(new Error(`Stopped (${reason}).`));
  });
  return stopping.signal;
}

/** Runs `command` with the arguments of the process; the exit code is 1 when it throws. */
export async function runCommand(
  command: (args: readonly string[], signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const signal = stopSignal();
  try {
    await command(process.argv.slice(2), signal);
  } catch (error) {
    process.stderr.write(`${sentenceOf(error)}\n`);
    process.exitCode = 1;
  }
}

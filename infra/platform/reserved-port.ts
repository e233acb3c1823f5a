/** Ports that other processes know: chosen once, stored in a file, used again at every start. */
import { randomInt } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';

/**
 * Below the ports that Linux and macOS assign to outgoing connections (from 32768 and 49152): there, a client
 * that repeatedly tries an unused port of its own machine may be assigned that port and connect to itself.
 */
const LOWEST = 20_000;
const HIGHEST = 29_999;
const MOST_TRIES = 100;

/** A port on which no process listens now. Throws one sentence when a hundred were taken. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  for (let attempt = 0; attempt < MOST_TRIES; attempt += 1) {
    const port = randomInt(LOWEST, HIGHEST + 1);
    if (await isFree(host, port)) return port;
  }
  throw new Error(`No free port was found on ${host} between ${String(LOWEST)} and ${String(HIGHEST)}.`);
}

/** True when no process listens on the port now. */
export const isFree = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => {
      resolve(false);
    });
    probe.listen(port, host, () => {
      probe.close(() => {
        resolve(true);
      });
    });
  });

/** The sentence for a configured port on which the process cannot listen. */
export const portRefused = (host: string, port: number, setting: string): string =>
  `Cannot listen on port ${String(port)} of ${host}: is another program using it? Set ${setting}.`;

/** Throws one sentence when the port is taken, before anything is created that would be left behind. */
export async function requireFree(host: string, port: number, setting = 'PORT'): Promise<void> {
  if (!(await isFree(host, port))) throw new Error(portRefused(host, port, setting));
}

/** The port in `file`, or null. */
export async function readPort(file: string): Promise<number | null> {
  const port = Number(await readFile(file, 'utf8').catch(() => ''));
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : null;
}

/** Stores a port. */
export const writePort = (file: string, port: number): Promise<void> => writeFile(file, `${String(port)}\n`);

/** The error for a stored port that another program uses. */
export const portTaken = (part: string, port: number, file: string): Error =>
  new Error(
    `Port ${String(port)}, where other processes expect ${part}, is taken by another program: end that one, or remove ${file} to let ${part} take another port.`,
  );

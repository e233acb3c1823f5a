/** Ports that other processes know: chosen once, remembered in a file, taken again at every start. */
import { randomInt } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';

/**
 * Below the ports that Linux and macOS lend to outgoing connections (from 32768 and 49152 on): there a client that
 * tries an unused port of its own machine again and again may be lent that very port, and talk to itself.
 */
const LOWEST = 20_000;
const HIGHEST = 29_999;
const MOST_TRIES = 100;

/** A port that nobody listens on now. Throws one sentence when a hundred were taken. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  for (let attempt = 0; attempt < MOST_TRIES; attempt += 1) {
    const port = randomInt(LOWEST, HIGHEST + 1);
    if (await isFree(host, port)) return port;
  }
  throw new Error(`No free port was found on ${host} between ${String(LOWEST)} and ${String(HIGHEST)}.`);
}

/** True when nobody listens on the port now. */
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

/** The sentence for a port of the settings that cannot be listened on. */
export const portRefused = (host: string, port: number, setting: string): string =>
  `Port ${String(port)} on ${host} cannot be listened on: is another program using it? Set ${setting}.`;

/** Throws one sentence when the port cannot be listened on now: before anything is made that would be left behind. */
export async function requireFree(host: string, port: number, setting = 'PORT'): Promise<void> {
  if (!(await isFree(host, port))) throw new Error(portRefused(host, port, setting));
}

/** The port in `file`, or null when there is none yet. */
export async function readPort(file: string): Promise<number | null> {
  const port = Number(await readFile(file, 'utf8').catch(() => ''));
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : null;
}

/** Remembers a port. */
export const writePort = (file: string, port: number): Promise<void> => writeFile(file, `${String(port)}\n`);

/** The sentence for a remembered port that another program has. */
export const portTaken = (part: string, port: number, file: string): Error =>
  new Error(
    `Port ${String(port)}, where other processes look for ${part}, is taken by another program: end that one, or remove ${file} to let ${part} take another port.`,
  );

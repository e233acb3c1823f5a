/** The server process: started on a free loopback port, watched, ended quickly. */
import { spawn } from 'node:child_process';
import { open, readFile, rename, stat } from 'node:fs/promises';
import { freePort } from '../../platform/reserved-port.ts';
import { pollUntil } from './process-facts.ts';
import { SERVER_ENVIRONMENT } from './postgres-cluster.ts';
import { readPostmasterFile } from './postgres-orphan.ts';
import { runAs } from './server-account.ts';
import type { ChildProcess } from 'node:child_process';
import type { ServerAccount } from './server-account.ts';

/** Sized for one gateway on a shared machine. Everything else, durability included, is Postgres' default. */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  shared_buffers: '256MB',
  max_wal_size: '512MB',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
};

const START_TIMEOUT_MS = 60_000; // a crashed server replays its log first
const LOG_BYTES = 10 * 1024 * 1024;

export interface LaunchOptions {
  readonly program: string;
  readonly cluster: string;
  readonly logFile: string;
  readonly account: ServerAccount | null;
  readonly settings: Readonly<Record<string, string>>;
  /** The port that clients know already; absent = a free one. */
  readonly port?: number;
  /** Gives the start up when it aborts. */
  readonly signal?: AbortSignal;
}

export interface PostgresProcess {
  readonly port: number;
  readonly pid: number;
  /** Resolves when the process has ended, for any reason. */
  readonly gone: Promise<void>;
  stop(): Promise<void>;
}

/** The requested port belongs to another program. */
export class PortInUse extends Error {
  constructor(port: number) {
    super(`Port ${String(port)} is in use.`);
    this.name = 'PortInUse';
  }
}

/**
 * Starts the server and waits until it accepts connections. Throws `PortInUse` when the requested port is
 * taken, the reason of the signal when it aborts, else one sentence that names the log.
 */
export async function launchPostgres(options: LaunchOptions): Promise<PostgresProcess> {
  for (let attempt = 1; ; attempt += 1) {
    const port = options.port ?? (await freePort());
    const { child, logStart } = await spawnServer(options, port);
    const gone = ended(child);
    if (await becomesReady(child, gone, options)) {
      const endWithUs = (): void => void child.kill('SIGINT');
      process.once('exit', endWithUs);
      void gone.then(() => process.off('exit', endWithUs));
      return { port, pid: child.pid ?? 0, gone, stop: () => stop(child, gone) };
    }
    await stop(child, gone);
    options.signal?.throwIfAborted();
    const said = (await readFile(options.logFile)).subarray(logStart).toString();
    if (said.includes('could not bind')) {
      if (options.port !== undefined) throw new PortInUse(port);
      // Another program may have taken the port after it was found free.
      if (attempt < 3) continue;
    }
    throw new Error(`The embedded Postgres did not start: ${fatalLine(said)} (see ${options.logFile})`);
  }
}

async function spawnServer(
  options: LaunchOptions,
  port: number,
): Promise<{ child: ChildProcess; logStart: number }> {
  const logStart = await rotateLog(options.logFile);
  const log = await open(options.logFile, 'a', 0o600);
  const settings = { ...SETTINGS, ...options.settings };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  try {
    const command = runAs(options.account, options.program, [
      '-D',
      options.cluster,
      '-p',
      String(port),
      ...flags,
    ]);
    const child = spawn(command.program, command.args, {
      cwd: options.cluster,
      env: SERVER_ENVIRONMENT,
      stdio: ['ignore', log.fd, log.fd],
      // A separate process group: Ctrl-C reaches only the gateway, which ends the server last.
      detached: true,
      ...command.identity,
    });
    // The server alone must not keep this process alive.
    child.unref();
    return { child, logStart };
  } finally {
    await log.close();
  }
}

const ended = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    // A server that refuses its settings may have ended before the listeners are attached.
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) resolve();
    child.once('exit', () => {
      resolve();
    });
    child.once('error', () => {
      resolve();
    });
  });

async function becomesReady(
  child: ChildProcess,
  gone: Promise<void>,
  { cluster, signal }: LaunchOptions,
): Promise<boolean> {
  let over = false;
  let ready = false;
  void gone.then(() => (over = true));
  const settled = async (): Promise<boolean> => {
    const file = await readPostmasterFile(cluster);
    ready = file?.pid === child.pid && file?.ready === true;
    return ready || over || signal?.aborted === true;
  };
  await pollUntil(settled, 5, START_TIMEOUT_MS);
  return ready;
}

/**
 * Fast shutdown (sessions are closed, a checkpoint is written); after 10 s immediate shutdown, which recovers
 * at the next start; after 15 s the end of a server that does not even handle signals.
 */
async function stop(child: ChildProcess, gone: Promise<void>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  child.ref();
  child.kill('SIGINT');
  const patience = setTimeout(() => child.kill('SIGQUIT'), 10_000);
  const end = setTimeout(() => child.kill('SIGKILL'), 15_000);
  await gone;
  clearTimeout(patience);
  clearTimeout(end);
}

/** The size of the log where this run begins. A large log is renamed first. */
async function rotateLog(file: string): Promise<number> {
  const size = await stat(file).then(
    (facts) => facts.size,
    () => 0,
  );
  if (size < LOG_BYTES) return size;
  await rename(file, `${file}.1`);
  return 0;
}

const fatalLine = (text: string): string => {
  const lines = text.trim().split('\n');
  return lines.find((line) => line.includes('FATAL:')) ?? lines.at(-1) ?? 'it gave no reason';
};

/** A private Dovecot: started on free loopback ports, ended as a whole group of processes. */
import { spawn } from 'node:child_process';
import { access, chown, constants, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { userInfo } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { lookUpProcess, pollUntil } from '../../../infra/postgres/embedded/process-facts.ts';
import { serverAccount } from '../../../infra/postgres/embedded/server-account.ts';
import {
  type DovecotAccount,
  dovecotConfig,
  type DovecotPorts,
  type DovecotSettings,
} from './dovecot-config.ts';

export interface DovecotOptions extends Pick<
  DovecotSettings,
  'folder' | 'password' | 'tls' | 'capability' | 'specialUse' | 'maxUserConnections' | 'mostClients'
> {
  readonly introspectionFile?: string;
  /** Absent = no LMTP. */
  readonly lmtp?: boolean;
  readonly program: string;
  /** Ports of an earlier run that clients still use; absent = free ones. */
  readonly ports?: DovecotPorts;
}

export interface DovecotProcess {
  readonly ports: DovecotPorts;
  readonly configFile: string;
  /** Ends every process of the server; `SIGKILL` simulates a crash. */
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

/** Distributions install it outside a plain user's PATH. */
const SYSTEM_FOLDERS = ['/usr/sbin', '/usr/local/sbin', '/opt/homebrew/sbin'];
const START_TIMEOUT_MS = 40_000;
const MOST_STARTS = 10;
const START_AGAIN_MS = 300;
const STOP_PATIENCE_MS = 1_000;

/** The Dovecot program of this machine, or null. */
export async function findDovecot(): Promise<string | null> {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...SYSTEM_FOLDERS];
  for (const folder of folders.filter((entry) => entry !== '')) {
    const program = join(folder, 'dovecot');
    if (await isExecutable(program)) return program;
  }
  return null;
}

const isExecutable = (file: string): Promise<boolean> =>
  access(file, constants.X_OK).then(
    () => true,
    () => false,
  );

/** The account that owns the mail: this process's own, or `nobody` for root, as Dovecot refuses uid 0. */
export async function mailAccount(): Promise<DovecotAccount> {
  const other = await serverAccount();
  if (other === null) {
    const { username, uid, gid } = userInfo();
    return { user: username, uid, group: String(gid), gid };
  }
  return { user: String(other.uid), uid: other.uid, group: String(other.gid), gid: other.gid };
}

/** Starts the server; resolves when it accepts connections. Throws one sentence naming the log otherwise. */
export async function startDovecot(options: DovecotOptions): Promise<DovecotProcess> {
  const { folder } = options;
  const account = await mailAccount();
  const asRoot = process.getuid?.() === 0;
  const configFile = join(folder, 'dovecot.conf');
  for (const name of ['run', 'state', 'mail'])
    await mkdir(join(folder, name), { recursive: true, mode: 0o755 });
  await endOrphan(folder, configFile);
  if (asRoot) await chown(join(folder, 'mail'), account.uid, account.gid);
  const ports = options.ports ?? (await freePorts());
  await writeFile(
    configFile,
    dovecotConfig({ introspectionFile: null, lmtp: false, ...options, ports, account, asRoot }),
    { mode: 0o600 },
  );
  const group = await startGroup(() => spawnGroup(options.program, ['-F', '-c', configFile]), ports.imap);
  if (group === null) throw new Error(`Dovecot did not start; see ${join(folder, 'dovecot.log')}.`);
  const stop = async (signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> => {
    await group.stop(signal);
    // Children may hold the port a moment longer than their master.
    await pollUntil(async () => !(await greets(ports.imap)), 5, STOP_PATIENCE_MS);
  };
  return { ports, configFile, stop };
}

/** Null when it does not greet. It is started again when it ends: a connection may hold a port for a moment. */
async function startGroup(start: () => ProcessGroup, port: number): Promise<ProcessGroup | null> {
  for (let tries = 0; tries < MOST_STARTS; tries += 1) {
    const group = start();
    await pollUntil(async () => group.isOver() || (await greets(port)), 10, START_TIMEOUT_MS);
    if (!group.isOver() && (await greets(port))) return group;
    const isOver = group.isOver();
    await group.stop('SIGKILL');
    if (!isOver) break;
    await sleep(START_AGAIN_MS);
  }
  return null;
}

interface ProcessGroup {
  isOver(): boolean;
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

/** A program in its own process group. Signals go to the group: Dovecot's children outlive their master. */
function spawnGroup(program: string, flags: readonly string[]): ProcessGroup {
  const child = spawn(program, flags, { stdio: 'ignore', detached: true });
  // The server alone never keeps this process alive.
  child.unref();
  const pid = child.pid ?? 0;
  let over = false;
  const gone = new Promise<void>((resolve) => {
    const end = (): void => {
      over = true;
      resolve();
    };
    child.once('exit', end);
    child.once('error', end);
  });
  const endWithUs = (): void => {
    signalGroup(pid, 'SIGTERM');
  };
  process.once('exit', endWithUs);
  void gone.then(() => process.off('exit', endWithUs));
  return {
    isOver: () => over,
    stop: async (signal) => {
      if (over) return;
      child.ref();
      signalGroup(pid, signal);
      const patience = setTimeout(() => {
        signalGroup(pid, 'SIGKILL');
      }, STOP_PATIENCE_MS);
      await gone;
      clearTimeout(patience);
    },
  };
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  if (pid <= 0) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    // The group may have ended already.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** A server whose starter was killed still occupies the folder: it is ended if it is this folder's server. */
async function endOrphan(folder: string, configFile: string): Promise<void> {
  const pidFile = join(folder, 'run', 'master.pid');
  const pid = Number.parseInt(await readFile(pidFile, 'utf8').catch(() => ''), 10);
  if (!Number.isInteger(pid) || pid <= 0) return;
  const facts = await lookUpProcess(pid);
  if (facts?.command.includes(configFile) === true) {
    signalGroup(pid, 'SIGTERM');
    await pollUntil(async () => (await lookUpProcess(pid)) === null, 20, 5_000);
  }
  await rm(pidFile, { force: true });
}

/** True when a server on the port sends a greeting, as IMAP servers do. */
const greets = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    const end = (answer: boolean) => (): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('data', end(true));
    socket.once('error', end(false));
    socket.once('close', end(false));
    socket.setTimeout(1_000, end(false));
  });

/** Free loopback ports, all bound at once so that they differ. */
async function freePorts(): Promise<DovecotPorts> {
  const servers = [createServer(), createServer(), createServer()];
  const ports = await Promise.all(
    servers.map(
      (server) =>
        new Promise<number>((resolve, reject) => {
          server.once('error', reject);
          server.listen(0, '127.0.0.1', () => {
            const address = server.address();
            resolve(typeof address === 'object' && address !== null ? address.port : 0);
          });
        }),
    ),
  );
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  const [imap = 0, imaps = 0, lmtp = 0] = ports;
  return { imap, imaps, lmtp };
}

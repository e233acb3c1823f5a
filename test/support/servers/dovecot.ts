/** A private Dovecot for one test file that can simulate a bad server. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { HostSettings } from '../../../commands/ports/mail-port.ts';
import { type DovecotOptions, type DovecotProcess, startDovecot } from './dovecot-process.ts';
import { ensureDovecot } from './ensure-dovecot.ts';
import { selfSigned } from './self-signed.ts';

const run = promisify(execFile);

export interface Levers {
  /** The capabilities the server announces, for example `NO_MOVE`. */
  readonly capability?: string;
  readonly specialUse?: boolean;
  readonly maxUserConnections?: number;
  /** The introspection address; with it, access tokens are also accepted (see `AuthorizationServer`). */
  readonly introspectionUrl?: string;
}

const BASE = 'IMAP4rev1 SASL-IR LITERAL+ ID ENABLE IDLE NAMESPACE UNSELECT CHILDREN LIST-EXTENDED';
/** Everything but MOVE. */
export const NO_MOVE = `${BASE} UIDPLUS LIST-STATUS SPECIAL-USE CONDSTORE ESEARCH`;
/** Neither MOVE nor UIDPLUS, CONDSTORE, LIST-STATUS or SPECIAL-USE. */
export const BARE = 'IMAP4rev1 SASL-IR LITERAL+ IDLE NAMESPACE';
/** MOVE without UIDPLUS. Dovecot still reports where a message went. */
export const MOVE_ONLY = `${BARE} MOVE`;

export const PASSWORD = 'open-sesame-42';

export class TestDovecot {
  readonly host = '127.0.0.1';
  readonly certificate: string;
  readonly #options: DovecotOptions;
  #process: DovecotProcess;

  constructor(options: DovecotOptions, server: DovecotProcess, certificate: string) {
    this.#options = options;
    this.#process = server;
    this.certificate = certificate;
  }

  get ports(): DovecotProcess['ports'] {
    return this.#process.ports;
  }

  /** The address for clients; plain by default. */
  imap(security: HostSettings['security'] = 'none'): HostSettings {
    const { imap, imaps } = this.ports;
    return {
      host: security === 'none' ? this.host : 'localhost',
      port: security === 'tls' ? imaps : imap,
      security,
    };
  }

  /** Ends every connection of one user with a BYE. */
  async kick(user: string): Promise<void> {
    await run('doveadm', ['-c', this.#process.configFile, 'kick', user]);
  }

  /** The number of connections of one user. */
  async connectionsOf(user: string): Promise<number> {
    const { stdout } = await run('doveadm', ['-c', this.#process.configFile, '-f', 'tab', 'who', '-1', user]);
    // One line per connection, below the column names.
    return stdout.trim().split('\n').length - 1;
  }

  /** Ends the server; its ports refuse connections until `start`. */
  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    await this.#process.stop(signal);
  }

  /** Starts it on the same ports with the same mail. */
  async start(): Promise<void> {
    this.#process = await startDovecot({ ...this.#options, ports: this.ports });
  }

  /** Ends the server and removes its mail. */
  async dispose(): Promise<void> {
    await this.stop('SIGKILL');
    await rm(this.#options.folder, { recursive: true, force: true });
  }
}

/** Starts a server on which every user name is a mailbox with `PASSWORD`; null without Dovecot. */
async function startTestDovecot(levers: Levers = {}): Promise<TestDovecot | null> {
  const program = await ensureDovecot();
  if (program === null) return null;
  // Below the real temp folder, which every account may enter: under root another account owns the mail.
  const folder = await mkdtemp(join(tmpdir(), 'gateway-test-dovecot-'));
  await run('chmod', ['755', folder]);
  const tls = await selfSigned(folder);
  const options: DovecotOptions = {
    program,
    folder,
    tls,
    capability: levers.capability ?? null,
    specialUse: levers.specialUse ?? true,
    maxUserConnections: levers.maxUserConnections ?? 500,
    password: PASSWORD,
    lmtp: true,
    ...(levers.introspectionUrl && {
      introspectionFile: await writeIntrospection(folder, levers.introspectionUrl),
    }),
  };
  const server = await startDovecot(options);
  return new TestDovecot(options, server, await readFile(tls.certificateFile, 'utf8'));
}

/** Skips the calling suite where there is no server; in CI `ensureDovecot` has already thrown. */
export async function requireTestDovecot(context: Mocha.Context, levers: Levers = {}): Promise<TestDovecot> {
  const server = await startTestDovecot(levers);
  if (server !== null) return server;
  return context.skip();
}

async function writeIntrospection(folder: string, url: string): Promise<string> {
  const file = join(folder, 'dovecot-oauth2.conf.ext');
  const lines = [
    'introspection_mode = post',
    `introspection_url = ${url}`,
    'force_introspection = yes',
    'username_attribute = username',
    'active_attribute = active',
    'active_value = true',
  ];
  await writeFile(file, `${lines.join('\n')}\n`);
  // Dovecot reads it as another account.
  await run('chmod', ['644', file]);
  return file;
}

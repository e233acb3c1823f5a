/** The demo's mail server: Dovecot where there is one, else servers from npm. Its mail lives in the data folder. */
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Log } from '../../commands/ports/ports.ts';
import { sentenceOf } from '../process/config-sentences.ts';
import type { DemoMailAccess } from './demo-client.ts';
import { dovecotFor, startDemoDovecot } from './demo-dovecot.ts';
import { startDemoImapServer } from './demo-imap-server.ts';
import { startDemoSmtpServer } from './demo-smtp-server.ts';
import { freeOrAny } from './free-port.ts';

export interface DemoMail {
  readonly kind: 'dovecot' | 'npm';
  /** One line that says which server it is and why. */
  readonly line: string;
  readonly imap: DemoMailAccess;
  readonly smtp: DemoMailAccess;
  stop(): Promise<void>;
}

const Account = z.object({
  kind: z.enum(['dovecot', 'npm']),
  user: z.string(),
  password: z.string(),
  imapPort: z.int(),
  smtpPort: z.int(),
});
type Account = z.output<typeof Account>;

const HOST = '127.0.0.1';
const USER = 'anna@example.com';

interface Running {
  readonly kind: DemoMail['kind'];
  readonly line: string;
  readonly port: number;
  readonly deliver: (raw: Buffer) => Promise<void>;
  stop(): Promise<void>;
}

/** Starts the servers, on the ports of last time when those are free. Throws one sentence when they do not start. */
export async function startDemoMail(options: {
  readonly dataDir: string;
  readonly log: Log;
}): Promise<DemoMail> {
  const folder = join(options.dataDir, 'demo-mail');
  await mkdir(folder, { recursive: true });
  const earlier = await readAccount(folder);
  const user = earlier?.user ?? USER;
  const password = earlier?.password ?? randomBytes(12).toString('hex');
  const login = { user, password };
  const running = await startImap({
    folder,
    earlier,
    log: options.log,
    ...login,
    port: earlier?.imapPort ?? 0,
  });
  try {
    const smtpPort = await freeOrAny(earlier?.smtpPort);
    const smtp = await startDemoSmtpServer({ ...login, port: smtpPort, deliver: running.deliver });
    const account: Account = { kind: running.kind, ...login, imapPort: running.port, smtpPort: smtp.port };
    await writeAccount(folder, account);
    return {
      kind: running.kind,
      line: running.line,
      imap: { host: HOST, port: running.port, ...login },
      smtp: { host: HOST, port: smtp.port, ...login },
      stop: async () => {
        await smtp.stop();
        await running.stop();
      },
    };
  } catch (error) {
    await running.stop();
    throw error;
  }
}

interface ImapStart {
  readonly folder: string;
  readonly earlier: Account | null;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly log: Log;
}

/** Dovecot where it is there and starts; a mailbox that began on one of the two stays there, as mail does not move between them. */
async function startImap({ folder, earlier, ...options }: ImapStart): Promise<Running> {
  const dovecotFolder = join(folder, 'dovecot');
  if (earlier?.kind === 'npm')
    return await startNpm(folder, options, 'the mailbox of this data folder began on it');
  const dovecot = await dovecotFor(dovecotFolder);
  if (!('program' in dovecot)) return await startNpm(folder, options, dovecot.reason);
  const { program } = dovecot;
  try {
    const server = await startDemoDovecot({ ...options, program, folder: dovecotFolder });
    const line = `Mail server: Dovecot (${program}), mail in ${dovecotFolder}`;
    return { ...server, kind: 'dovecot', line };
  } catch (error) {
    if (earlier?.kind === 'dovecot') throw error;
    return await startNpm(folder, options, sentenceOf(error).replace(/\.$/, ''));
  }
}

/** `reason` says why not Dovecot. */
async function startNpm(
  folder: string,
  options: Omit<ImapStart, 'folder' | 'earlier'>,
  reason: string,
): Promise<Running> {
  const npmFolder = join(folder, 'npm');
  const port = await freeOrAny(options.port);
  const server = await startDemoImapServer({ ...options, port, folder: npmFolder });
  return {
    kind: 'npm',
    line: `Mail server: hoodiecrow from npm, mail in ${npmFolder} (${reason})`,
    port: server.port,
    deliver: (raw) => {
      server.deliver(raw);
      return Promise.resolve();
    },
    stop: () => server.stop(),
  };
}

async function writeAccount(folder: string, account: Account): Promise<void> {
  const file = join(folder, 'account.json');
  await writeFile(`${file}.new`, JSON.stringify(account), { mode: 0o600 });
  await rename(`${file}.new`, file);
}

async function readAccount(folder: string): Promise<Account | null> {
  const text = await readFile(join(folder, 'account.json'), 'utf8').catch(() => null);
  if (text === null) return null;
  return Account.parse(JSON.parse(text));
}

/** The demo's mail server: IMAP and SMTP from npm in this process, its mail in the data folder. */
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Log } from '../../commands/ports/ports.ts';
import { isFree } from '../platform/reserved-port.ts';
import { startDemoImapServer } from './demo-imap-server.ts';
import { startDemoSmtpServer } from './demo-smtp-server.ts';
import type { DemoMailAccess } from './seed-mailbox.ts';

export interface DemoMail {
  readonly folder: string;
  readonly imap: DemoMailAccess;
  readonly smtp: DemoMailAccess;
  stop(): Promise<void>;
}

const Account = z.object({
  user: z.string(),
  password: z.string(),
  imapPort: z.int(),
  smtpPort: z.int(),
});
type Account = z.output<typeof Account>;

const HOST = '127.0.0.1';
const USER = 'anna@example.com';

/** Starts the servers, on the ports of the previous run when those are free. Throws one sentence when they do not start. */
export async function startDemoMail(options: {
  readonly dataDir: string;
  readonly log: Log;
}): Promise<DemoMail> {
  const { dataDir, log } = options;
  const folder = join(dataDir, 'demo-mail');
  await mkdir(folder, { recursive: true });
  const earlier = await readAccount(folder);
  const user = earlier?.user ?? USER;
  const password = earlier?.password ?? randomBytes(12).toString('hex');
  const login = { user, password };
  const imap = await startDemoImapServer({ folder, log, ...login, port: await freeOrAny(earlier?.imapPort) });
  try {
    const deliver = (raw: Buffer): void => {
      imap.deliver(raw);
    };
    const smtp = await startDemoSmtpServer({ ...login, port: await freeOrAny(earlier?.smtpPort), deliver });
    await writeAccount(folder, { ...login, imapPort: imap.port, smtpPort: smtp.port });
    return {
      folder,
      imap: { host: HOST, port: imap.port, ...login },
      smtp: { host: HOST, port: smtp.port, ...login },
      stop: async () => {
        await smtp.stop();
        await imap.stop();
      },
    };
  } catch (error) {
    await imap.stop();
    throw error;
  }
}

/** The port if it is free, else 0, which takes any. */
const freeOrAny = async (port = 0): Promise<number> => (port !== 0 && (await isFree(HOST, port)) ? port : 0);

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

/** Dovecot for the demo: below the data folder, its mail kept over restarts. */
import { chmod, mkdir } from 'node:fs/promises';
import { firstUnreachable, serverAccount } from '../postgres/embedded/server-account.ts';
import { demoClient } from './demo-client.ts';
import { findDovecot, startDovecot } from './dovecot-process.ts';

export interface DemoDovecot {
  readonly port: number;
  /** By APPEND: LMTP is a package of its own, which is not everywhere. */
  deliver(raw: Buffer): Promise<void>;
  stop(): Promise<void>;
}

/** The program when it can keep its mail in `folder`; otherwise one sentence why not. */
export async function dovecotFor(folder: string): Promise<{ program: string } | { reason: string }> {
  const program = await findDovecot();
  if (program === null) return { reason: 'Dovecot is not installed' };
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o755);
  const account = await serverAccount();
  const closed = account === null ? null : await firstUnreachable(folder, account);
  if (closed === null) return { program };
  return { reason: `Dovecot drops root's rights and could then not enter ${closed}` };
}

/** Starts it. Throws one sentence naming its log when it does not come up. */
export async function startDemoDovecot(options: {
  readonly program: string;
  readonly folder: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
}): Promise<DemoDovecot> {
  const { program, folder, password, user } = options;
  const server = await startDovecot({
    program,
    folder,
    password,
    imapPort: options.port,
    tls: null,
    capability: null,
    specialUse: true,
    maxUserConnections: 100,
  });
  return {
    port: server.ports.imap,
    deliver: async (raw) => {
      const client = await demoClient({ host: '127.0.0.1', port: server.ports.imap, user, password });
      try {
        if (!(await client.append('INBOX', raw))) throw new Error('Dovecot did not take the message.');
      } finally {
        await client.logout();
      }
    },
    stop: () => server.stop(),
  };
}

/** A mail port without a network: a folder list, blocked hosts, and failures chosen by a test. */
import { GatewayError } from '../../../commands/values/errors.ts';
import type {
  ConnectionReport,
  FolderListing,
  HostSettings,
  Priority,
  MailLogin,
  MailPort,
  MailSession,
} from '../../../commands/ports/mail-port.ts';
import type { Filter } from '../../../commands/mail/mail-filter.ts';

export const listedFolder = (path: string, change: Partial<FolderListing> = {}): FolderListing => ({
  path,
  name: path,
  parentPath: null,
  selectable: true,
  role: null,
  roleSource: null,
  total: 0,
  unseen: 0,
  uidValidity: 1,
  ...change,
});

export class FakeMailPort implements MailPort {
  folders: FolderListing[] = [
    listedFolder('INBOX', { role: 'inbox', roleSource: 'extension', uidValidity: 11 }),
    listedFolder('Trash', { role: 'trash', roleSource: 'extension', uidValidity: 12 }),
  ];
  capabilityNames: string[] = ['IDLE', 'MOVE', 'UIDPLUS'];
  /** The failure of the next connections. */
  failure: GatewayError | null = null;
  readonly blockedHosts = new Set<string>();
  readonly disconnected: string[] = [];
  /** The arguments of each connection test. */
  readonly tested: { readonly settings: HostSettings; readonly login: MailLogin }[] = [];

  async withMailbox<T>(_: string, __: Priority, work: (mail: MailSession) => Promise<T>): Promise<T> {
    if (this.failure) throw this.failure;
    const session: Partial<MailSession> = {
      capabilities: {
        move: true,
        uidPlus: true,
        specialUse: true,
        condstore: false,
        idle: true,
        sharesMessages: false,
        names: this.capabilityNames,
      },
      listFolders: () => Promise.resolve([...this.folders]),
      createFolder: (path) => {
        this.folders.push(listedFolder(path, { uidValidity: 100 + this.folders.length }));
        return Promise.resolve();
      },
    };
    return await work(session as MailSession);
  }

  withThreadIds(_: string, filter: Filter): Promise<Filter> {
    return Promise.resolve(filter);
  }

  query(): never {
    throw new Error('this mail port has folders only');
  }

  testImap(settings: HostSettings, login: MailLogin): Promise<ConnectionReport> {
    this.tested.push({ settings, login });
    return Promise.resolve({ ok: true, stage: 'ready', latencyMs: 5 });
  }

  assertReachable({ host }: HostSettings): Promise<void> {
    return this.blockedHosts.has(host)
      ? Promise.reject(new GatewayError('target_blocked', 'The host is not public.'))
      : Promise.resolve();
  }

  disconnect(mailboxId: string): Promise<void> {
    this.disconnected.push(mailboxId);
    return Promise.resolve();
  }
}

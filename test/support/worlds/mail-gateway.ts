/** The real mail gateway in front of a test server, and the arguments of its callbacks. */
import type { GatewayError } from '../../../commands/values/errors.ts';
import type { HostSettings, MailSession } from '../../../commands/ports/mail-port.ts';
import type { MailQuery } from '../../../commands/mail/query.ts';
import type { FolderRef } from '../../../commands/mail/message.ts';
import { createEgressGuard } from '../../../infra/egress/egress-guard.ts';
import { ImapGateway, type ImapGatewayOptions } from '../../../infra/mail/imap-gateway.ts';
import { PASSWORD } from '../servers/dovecot.ts';
import { silentLog } from '../fakes/silent-log.ts';

export const INBOX: FolderRef = { number: 1, path: 'INBOX' };
export const ARCHIVE: FolderRef = { number: 2, path: 'Archive' };

export interface MailGatewayUnderTest {
  readonly gateway: ImapGateway;
  readonly troubles: GatewayError[];
  healthy: number;
  /** Runs `work` on the one mailbox. */
  readonly mail: <T>(work: (mail: MailSession) => Promise<T>) => Promise<T>;
}

/** A gateway whose only mailbox is `user` at `imap`. */
export function mailGateway(
  imap: HostSettings,
  user: string,
  options: Partial<ImapGatewayOptions> & { readonly password?: string } = {},
): MailGatewayUnderTest {
  const troubles: GatewayError[] = [];
  const { password = PASSWORD, ...rest } = options;
  const gateway = new ImapGateway({
    loadSettings: () =>
      Promise.resolve({ imap, smtp: null, login: { kind: 'password', username: user, password } }),
    guard: createEgressGuard(['127.0.0.0/8:*', '[::1/128]:*']),
    log: silentLog,
    onMailboxTrouble: (_, error) => void troubles.push(error),
    onMailboxHealthy: () => {
      underTest.healthy += 1;
    },
    providerConnections: 4,
    ...rest,
  });
  const underTest: MailGatewayUnderTest = {
    gateway,
    troubles,
    healthy: 0,
    mail: (work) => gateway.withMailbox('mbx_test', 'interactive', work),
  };
  return underTest;
}

/** A query of INBOX, newest first by default. */
export const queryOf = (fields: Partial<MailQuery> = {}): MailQuery => ({
  folders: [INBOX],
  filter: {},
  order: 'received_desc',
  limit: 50,
  after: null,
  depth: 'structure',
  textChars: null,
  countOnly: false,
  ...fields,
});

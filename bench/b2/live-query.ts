/** The live path of a query: the mail side of the gateway alone, without a mirror. */
import type { MailQuery } from '../../commands/mail/query.ts';
import { createEgressGuard } from '../../infra/egress/egress-guard.ts';
import { ImapGateway } from '../../infra/mail/imap-gateway.ts';
import type { LargeMailbox } from '../large-mailbox.ts';

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

export function liveGateway({ imap: { host, port, user, password } }: LargeMailbox): ImapGateway {
  return new ImapGateway({
    loadSettings: () =>
      Promise.resolve({
        imap: { host, port, security: 'none' },
        smtp: null,
        login: { kind: 'password', username: user, password },
      }),
    guard: createEgressGuard(['127.0.0.0/8:*']),
    log: silent,
    onMailboxTrouble: () => undefined,
    onMailboxHealthy: () => undefined,
    providerConnections: 4,
  });
}

/** Unseen messages with the term, newest first. Returns how many. */
export async function fromServer(live: ImapGateway, term: string, limit: number): Promise<number> {
  const query: MailQuery = {
    folders: [{ number: 1, path: 'INBOX' }], filter: { seen: false, subject_contains: term },
    order: 'received_desc', limit, after: null, depth: 'envelope', textChars: null, countOnly: false,
  }; // prettier-ignore
  return (await live.query('bench', query)).messages.length;
}

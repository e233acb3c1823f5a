/** Facts of a mailbox that tests of its decisions start from. */
import type { Sealed } from '../../../commands/values/sealed.ts';
import { MAILBOX_SCOPES, type MailboxScope } from '../../../commands/values/scopes.ts';
import { addMailbox } from '../../../commands/mailboxes/decide-settings.ts';
import { mailbox, type MailboxFact } from '../../../commands/mailboxes/mailbox.ts';

export const sealed = (text: string): Sealed => text as Sealed;
export const IMAP = { host: 'imap.example.com', port: 993, security: 'tls' } as const;
export const SMTP = { host: 'smtp.example.com', port: 465, security: 'tls' } as const;
export const ADD = {
  number: 7,
  email: sealed('box@example.com'),
  displayName: null,
  imap: IMAP,
  smtp: SMTP,
  auth: { type: 'password' },
  creator: { id: 'usr_1', kind: 'user', grantId: 'grt_1' },
} as const;

/** A mailbox just added by `usr_1`, who has `grt_1` with every scope. */
export const added: readonly MailboxFact[] = addMailbox(mailbox.initial, ADD);
export const connected: MailboxFact = { type: 'MailboxConnected', data: { capabilities: ['IDLE'] } };

export const folderAdded = (number: number, pathKey: string, uidValidity: number | null): MailboxFact => ({
  type: 'FolderAdded',
  data: { number, path: sealed(pathKey), path_key: pathKey, selectable: true, uid_validity: uidValidity },
});

export const grantGiven = (
  id: string,
  principalId: string,
  scopes: readonly MailboxScope[] = MAILBOX_SCOPES,
  terms: {
    folder_roles?: ('inbox' | 'archive')[];
    expires_at?: string;
    quotas?: { sends_per_hour: number };
  } = {},
): MailboxFact => ({
  type: 'GrantGiven',
  data: {
    grant_id: id,
    principal_id: principalId,
    principal_kind: 'user',
    scopes: [...scopes],
    folder_roles: null,
    expires_at: null,
    quotas: null,
    ...terms,
  },
});

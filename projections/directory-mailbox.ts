/** How events change a mailbox in the directory. */
import type { PastFact } from '../commands/values/event.ts';
import { AUTHORIZATION_REQUIRED, type FolderEntry, type MailboxEntry } from '../commands/ports/directory.ts';
import { afterCredentials, connectionSteps } from '../commands/mailboxes/mailbox.ts';
import type { MailboxEvent } from '../commands/mailboxes/mailbox-events.ts';
import type { AnyEvent } from '../commands/event-catalogue.ts';
import type { Open } from './projection.ts';

type Change = Partial<MailboxEntry>;
type FactOf<Type extends MailboxEvent['type']> = PastFact<Extract<MailboxEvent, { readonly type: Type }>>;
type Steps = {
  readonly [Type in MailboxEvent['type']]: (
    mailbox: MailboxEntry,
    fact: FactOf<Type>,
    open: Open,
  ) => Change | Promise<Change>;
};

const withFolder = ({ folders }: MailboxEntry, number: number, change: Partial<FolderEntry>): Change => ({
  folders: folders.map((folder) => (folder.number === number ? { ...folder, ...change } : folder)),
});

const steps: Steps = {
  ...connectionSteps,
  MailboxAdded: () => ({}),
  MailboxChanged: async (mailbox, { data }, open) => ({
    ...(data.display_name === undefined
      ? {}
      : { displayName: data.display_name === null ? null : await open(data.display_name) }),
    ...(data.auth_type && {
      authType: data.auth_type,
      provider: data.provider ?? mailbox.provider,
      ...afterCredentials(mailbox, data.auth_type === 'oauth2'),
    }),
    imap: data.imap ?? mailbox.imap,
    smtp: data.smtp === undefined ? mailbox.smtp : data.smtp,
    trustedAuthservIds: data.trusted_authserv_ids ?? mailbox.trustedAuthservIds,
  }),
  // The entry stays for its number, which is never reused.
  MailboxErased: () => ({ email: '', displayName: null, folders: [], eraseAt: null }),
  FolderAdded: async ({ folders }, { data }, open) => ({
    folders: [
      ...folders,
      {
        number: data.number,
        path: (await open(data.path)) ?? '',
        availability: data.selectable ? 'selectable' : 'container',
      },
    ],
  }),
  FolderAvailabilityChanged: (mailbox, { data }) =>
    withFolder(mailbox, data.number, { availability: data.availability }),
  FolderRenamed: async (mailbox, { data }, open) =>
    withFolder(mailbox, data.number, { path: (await open(data.path)) ?? '', availability: 'selectable' }),
  FolderRolesDetected: (_, { data }) => ({ detectedRoles: withoutGaps(data.roles) }),
  FolderRolesSet: ({ folderRoles }, { data }) => ({
    folderRoles: { ...folderRoles, ...withoutGaps(data.roles) },
  }),
  GrantGiven: () => ({}),
  GrantChanged: () => ({}),
  GrantRevoked: () => ({}),
};

/** An absent role has no key at all. */
const withoutGaps = <Value>(roles: Readonly<Record<string, Value | undefined>>): Record<string, Value> =>
  Object.fromEntries(
    Object.entries(roles).filter((entry): entry is [string, Value] => entry[1] !== undefined),
  );

const isMailboxFact = (fact: PastFact<AnyEvent>): fact is PastFact<MailboxEvent> => fact.type in steps;

/** The mailbox after the event; undefined for one that was never added. */
export async function changeMailbox(
  id: string,
  before: MailboxEntry | undefined,
  fact: PastFact<AnyEvent>,
  open: Open,
): Promise<MailboxEntry | undefined> {
  if (!isMailboxFact(fact)) return before;
  const mailbox = before ?? (fact.type === 'MailboxAdded' ? await addedMailbox(id, fact, open) : undefined);
  if (!mailbox) return undefined;
  const step = steps[fact.type] as (
    mailbox: MailboxEntry,
    fact: PastFact,
    open: Open,
  ) => Change | Promise<Change>;
  const change = await step(mailbox, fact, open);
  return { ...mailbox, ...change, updatedAt: fact.meta.occurred_at, version: mailbox.version + 1 };
}

const addedMailbox = async (
  id: string,
  { data, meta }: FactOf<'MailboxAdded'>,
  open: Open,
): Promise<MailboxEntry> => ({
  id,
  orgId: meta.org_id ?? '',
  number: data.number,
  email: (await open(data.email)) ?? '',
  displayName: data.display_name === null ? null : await open(data.display_name),
  provider: data.provider,
  authType: data.auth_type,
  imap: data.imap,
  smtp: data.smtp,
  awaitsAuthorization: data.auth_type === 'oauth2',
  state: 'pending',
  stateReason: data.auth_type === 'oauth2' ? AUTHORIZATION_REQUIRED : null,
  capabilities: [],
  folders: [],
  folderRoles: {},
  detectedRoles: {},
  trustedAuthservIds: [],
  createdAt: meta.occurred_at,
  updatedAt: meta.occurred_at,
  eraseAt: null,
  version: 0,
});

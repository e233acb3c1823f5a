/** PATCH /mailboxes/:mailbox_id: settings, pausing, restoring. */
import { z } from 'zod';
import { type Context, defineCapability } from '../kernel/capability.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import { MailboxIdParameter } from '../mail/select.ts';
import { changeMailbox, entryOf } from './change-mailbox.ts';
import { changeMailboxSettings, needsCredentials, sameHost } from './decide-settings.ts';
import { forgetCredentials } from './store-credentials.ts';
import { assertVersion } from './mailbox.ts';
import {
  Auth,
  describeMailbox,
  DisplayName,
  HostSettingsField,
  Mailbox,
  passwordOf,
} from './mailbox-payload.ts';

const Input = z.strictObject({
  mailbox_id: MailboxIdParameter,
  display_name: DisplayName.nullable().optional(),
  imap: HostSettingsField.optional(),
  smtp: HostSettingsField.optional(),
  auth: Auth.optional().describe('Needed when host, port or security change.'),
  paused: z.boolean().optional(),
  restore: z.literal(true).optional().describe('Undoes a removal, until erase_at.'),
  trusted_authserv_ids: z.array(z.string().min(1).max(253)).max(20).optional(),
});
type Input = z.output<typeof Input>;

export const updateMailbox = defineCapability<Input, Mailbox>({
  name: 'update_mailbox',
  title: 'Change a mailbox',
  summary: 'Changes settings of a mailbox, pauses, resumes or restores it.',
  description:
    'Changes the fields that are sent; others stay. A change of host, port or security needs `auth`, because stored ' +
    'credentials only go where they were stored for; a session sends it with a fresh password. `If-Match` guards against ' +
    'changes in between.',
  effect: 'write',
  access: {
    any: ['mailboxes:manage'],
    mailbox: ({ mailbox_id }) => mailbox_id,
    steppedUp: ({ auth, trusted_authserv_ids }) => auth !== undefined || trusted_authserv_ids !== undefined,
  },
  rest: { method: 'patch', path: '/mailboxes/:mailbox_id' },
  tool: null,
  idempotency: {
    kind: 'claim',
    replay: async (_, { mailbox_id }, context, settled) =>
      settled ? await describeMailbox(context.ports, entryOf(context, mailbox_id)) : null,
  },
  input: Input,
  output: Mailbox,
  etag: ({ version }) => String(version),
  ifMatch: true,
  handle: async (input, context) => {
    const { ports, request } = context;
    const entry = entryOf(context, input.mailbox_id);
    const hosts = changedHosts(entry, input);
    // Before the hosts are resolved: missing credentials do not depend on them.
    if (hosts.length > 0 && input.auth === undefined) throw needsCredentials();
    for (const host of hosts) await ports.mail.assertReachable(host);
    const displayName = await sealedName(context, entry, input.display_name);
    const { auth } = input;
    if (auth?.type === 'oauth2') ports.providerAuthorizations.requireRegistered(auth.provider);
    const saveCredentials = auth && (() => replaceCredentials(context, entry, auth));
    const decide = (state: Parameters<typeof changeMailboxSettings>[0]) => {
      assertVersion(state, request.ifMatch);
      return changeMailboxSettings(state, {
        ...displayName,
        imap: input.imap,
        smtp: input.smtp,
        trustedAuthservIds: input.trusted_authserv_ids,
        auth,
        paused: input.paused,
        restore: input.restore,
        now: ports.clock.now(),
      });
    };
    await changeMailbox(context, entry.id, decide, saveCredentials);
    const now = entryOf(context, entry.id);
    if (auth !== undefined || now.state === 'paused') await ports.mail.disconnect(entry.id);
    return await describeMailbox(ports, now);
  },
});

/** Ends the old login with its credentials, also at its provider. */
async function replaceCredentials({ ports }: Context, entry: MailboxEntry, auth: Auth): Promise<void> {
  if (auth.type === 'oauth2' || entry.authType === 'oauth2') await forgetCredentials(ports, entry.id);
  if (auth.type === 'password') await ports.secrets.saveMailCredentials(entry.id, passwordOf(auth));
}

const changedHosts = (entry: MailboxEntry, { imap, smtp }: Input) => [
  ...(imap && !sameHost(entry.imap, imap) ? [imap] : []),
  ...(smtp && !sameHost(entry.smtp, smtp) ? [smtp] : []),
];

/** An unchanged name is no change, although each sealing of it differs. */
async function sealedName({ ports }: Context, entry: MailboxEntry, name: string | null | undefined) {
  if (name === undefined || name === entry.displayName) return {};
  return { displayName: name === null ? null : await ports.personal.seal(entry.id, name) };
}

/** Adds, changes and removes mailboxes. */
import { z } from 'zod';
import { answerWhenKnown, type Context, defineCapability, madeBefore } from '../kernel/capability.ts';
import { decideAndAppend, streamOf } from '../kernel/decide-and-append.ts';
import { GatewayError } from '../values/errors.ts';
import { changeMailbox, entryOf } from './change-mailbox.ts';
import {
  addMailbox,
  changeMailboxSettings,
  needsCredentials,
  removeMailbox,
  sameHost,
} from './decide-settings.ts';
import { assertVersion, mailbox } from './mailbox.ts';
import { reserveMailboxNumber } from './mailbox-number.ts';
import {
  Auth,
  describeMailbox,
  DisplayName,
  EmailField,
  HostSettingsField,
  Mailbox,
  passwordOf,
} from './mailbox-payload.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import { MailboxIdParameter } from '../mail/select.ts';
import { forgetCredentials } from './store-credentials.ts';

const CreateInput = z.strictObject({
  email: EmailField,
  display_name: DisplayName.optional(),
  imap: HostSettingsField,
  smtp: HostSettingsField,
  auth: Auth,
});
type CreateInput = z.output<typeof CreateInput>;

/** POST /mailboxes: adds a mailbox, which is then connected in the background. */
export const createMailbox = defineCapability<CreateInput, Mailbox>({
  name: 'create_mailbox',
  title: 'Add a mailbox',
  summary: 'Adds a mailbox and gives its creator every mailbox scope on it.',
  description:
    'Adds a mailbox with its IMAP and SMTP hosts and credentials. It is connected in the background: watch `state`. One that ' +
    'logs in with a provider waits until it is authorized. The caller gets a grant of every mailbox scope on it.',
  effect: 'write',
  access: { any: ['mailboxes:manage'], steppedUp: true },
  rest: {
    method: 'post',
    path: '/mailboxes',
    status: 201,
    location: ({ id }) => `/mailboxes/${id}`,
  },
  tool: null,
  idempotency: {
    kind: 'claim',
    replay: async (targetId, _, context) => {
      const stream = streamOf(mailbox, targetId);
      const entry = await madeBefore(context, stream, ({ mailboxes }) => mailboxes.get(targetId));
      return entry && (await describeMailbox(context.ports, entry));
    },
  },
  input: CreateInput,
  output: Mailbox,
  etag: ({ version }) => String(version),
  handle: async (input, context) => {
    const { ports, caller } = context;
    if (caller.token.mailboxIds !== null) {
      throw new GatewayError('insufficient_scope', 'A token bound to certain mailboxes cannot add others.', {
        details: { required: ['mailboxes:manage'] },
      });
    }
    if (input.auth.type === 'oauth2') ports.providerAuthorizations.requireRegistered(input.auth.provider);
    await ports.mail.assertReachable(input.imap);
    await ports.mail.assertReachable(input.smtp);
    const mailboxId = await context.claim('mbx');
    await add(context, mailboxId, input);
    return await describeMailbox(ports, entryOf(context, mailboxId));
  },
});

async function add(context: Context, mailboxId: string, input: CreateInput): Promise<void> {
  const { ports, caller, author, writer } = context;
  const number = await reserveMailboxNumber(ports, author, mailboxId);
  const email = await ports.personal.seal(mailboxId, input.email);
  const displayName =
    input.display_name === undefined ? null : await ports.personal.seal(mailboxId, input.display_name);
  const { auth, imap, smtp } = input;
  if (auth.type === 'password') await ports.secrets.saveMailCredentials(mailboxId, passwordOf(auth));
  const creator = { id: caller.principal.id, kind: caller.principal.kind, grantId: ports.ids.newId('grt') };
  const { position } = await decideAndAppend(writer, author, mailbox, {
    id: mailboxId,
    decide: (state) => addMailbox(state, { number, email, displayName, imap, smtp, auth, creator }),
  });
  await answerWhenKnown(context, position);
}

const UpdateInput = z.strictObject({
  mailbox_id: MailboxIdParameter,
  display_name: DisplayName.nullable().optional(),
  imap: HostSettingsField.optional(),
  smtp: HostSettingsField.optional(),
  auth: Auth.optional().describe('Needed when host, port or security change.'),
  paused: z.boolean().optional(),
  restore: z.literal(true).optional().describe('Undoes a removal, until erase_at.'),
  trusted_authserv_ids: z.array(z.string().min(1).max(253)).max(20).optional(),
});
type UpdateInput = z.output<typeof UpdateInput>;

/** PATCH /mailboxes/:mailbox_id: settings, pausing, restoring. */
export const updateMailbox = defineCapability<UpdateInput, Mailbox>({
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
  idempotency: { kind: 'claim', replay: describeSettled },
  input: UpdateInput,
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

async function describeSettled(
  _: string,
  { mailbox_id }: { readonly mailbox_id: string },
  context: Context,
  settled: boolean,
): Promise<Mailbox | null> {
  return settled ? await describeMailbox(context.ports, entryOf(context, mailbox_id)) : null;
}

/** Ends the old login with its credentials, also at its provider. */
async function replaceCredentials({ ports }: Context, entry: MailboxEntry, auth: Auth): Promise<void> {
  if (auth.type === 'oauth2' || entry.authType === 'oauth2') await forgetCredentials(ports, entry.id);
  if (auth.type === 'password') await ports.secrets.saveMailCredentials(entry.id, passwordOf(auth));
}

const changedHosts = (entry: MailboxEntry, { imap, smtp }: UpdateInput) => [
  ...(imap && !sameHost(entry.imap, imap) ? [imap] : []),
  ...(smtp && !sameHost(entry.smtp, smtp) ? [smtp] : []),
];

/** An unchanged name is no change, although each sealing of it differs. */
async function sealedName({ ports }: Context, entry: MailboxEntry, name: string | null | undefined) {
  if (name === undefined || name === entry.displayName) return {};
  return { displayName: name === null ? null : await ports.personal.seal(entry.id, name) };
}

const RemoveInput = z.strictObject({ mailbox_id: MailboxIdParameter });

/** DELETE /mailboxes/:mailbox_id closes its connections at once; the sweeper erases it after seven days. */
export const deleteMailbox = defineCapability<z.output<typeof RemoveInput>, Mailbox>({
  name: 'delete_mailbox',
  title: 'Remove a mailbox',
  summary: 'Removes a mailbox; it can be restored for seven days.',
  description:
    'Ends all use of the mailbox at once. Its credentials are erased at `erase_at`; until then PATCH {"restore": true} ' +
    'undoes the removal. Nothing is deleted on the mail server.',
  effect: 'write',
  access: { any: ['mailboxes:manage'], mailbox: ({ mailbox_id }) => mailbox_id },
  rest: { method: 'delete', path: '/mailboxes/:mailbox_id', status: 202 },
  tool: null,
  idempotency: { kind: 'claim', replay: describeSettled },
  input: RemoveInput,
  output: Mailbox,
  etag: ({ version }) => String(version),
  ifMatch: true,
  handle: async ({ mailbox_id }, context) => {
    const { ports, request } = context;
    await changeMailbox(context, mailbox_id, (state) => {
      assertVersion(state, request.ifMatch);
      return removeMailbox(state, ports.clock.now());
    });
    await ports.mail.disconnect(mailbox_id);
    return await describeMailbox(ports, entryOf(context, mailbox_id));
  },
});
